#include "textflag.h"

// func pairVector(p *byte, n int, table *[64]byte) int
//
// A byte belongs to the sets lo[low nibble] & hi[high nibble]; a pair to the sets that hold its first byte as a first
// one and its second byte as a second one. Eight sets fit the bits of a byte.
TEXT ·pairVector(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ table+16(FP), DX
	VBROADCASTI128 (DX), Y8
	VBROADCASTI128 16(DX), Y9
	VBROADCASTI128 32(DX), Y10
	VBROADCASTI128 48(DX), Y11
	MOVL $0x0f0f0f0f, AX
	MOVL AX, X12
	VPBROADCASTD X12, Y12
	VPXOR Y13, Y13, Y13
	XORQ AX, AX
	SUBQ $33, CX

loop:
	CMPQ AX, CX
	JGT  done
	VMOVDQU (SI)(AX*1), Y0
	VMOVDQU 1(SI)(AX*1), Y1
	VPAND   Y12, Y0, Y2
	VPSRLW  $4, Y0, Y3
	VPAND   Y12, Y3, Y3
	VPSHUFB Y2, Y8, Y2
	VPSHUFB Y3, Y9, Y3
	VPAND   Y12, Y1, Y4
	VPSRLW  $4, Y1, Y5
	VPAND   Y12, Y5, Y5
	VPSHUFB Y4, Y10, Y4
	VPSHUFB Y5, Y11, Y5
	VPAND   Y2, Y3, Y2
	VPAND   Y4, Y5, Y4
	VPAND   Y2, Y4, Y2
	VPCMPEQB Y13, Y2, Y2
	VPMOVMSKB Y2, BX
	XORL $0xffffffff, BX
	JNZ  found
	ADDQ $32, AX
	JMP  loop

found:
	BSFL BX, BX
	ADDQ BX, AX

done:
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
