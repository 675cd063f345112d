#include "textflag.h"

// func vector(p *byte, n int, table *[128]byte, filled *[2048]uint32) int
//
// A byte belongs to the sets lo[low nibble] & hi[high nibble]; four bytes to the sets that hold the first as a first one, the second as a
// second one and so on. Eight sets fit the bits of a byte. A place counts if the bucket of its first three bytes has the
// low five bits of the fourth.
TEXT ·vector(SB), NOSPLIT, $0-40
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ table+16(FP), DX
	MOVQ filled+24(FP), DI
	VBROADCASTI128 (DX), Y8
	VBROADCASTI128 16(DX), Y9
	VBROADCASTI128 32(DX), Y10
	VBROADCASTI128 48(DX), Y11
	VBROADCASTI128 64(DX), Y14
	VBROADCASTI128 80(DX), Y15
	MOVL $0x0f0f0f0f, AX
	VMOVD AX, X12
	VPBROADCASTD X12, Y12
	VBROADCASTI128 96(DX), Y13
	VBROADCASTI128 112(DX), Y7
	XORQ AX, AX
	SUBQ $35, CX

loop:
	CMPQ AX, CX
	JGT  done
	VMOVDQU (SI)(AX*1), Y0
	VMOVDQU 1(SI)(AX*1), Y1
	VPAND   Y12, Y0, Y2
	VPSRLW  $4, Y0, Y0
	VPAND   Y12, Y0, Y0
	VPSHUFB Y2, Y8, Y2
	VPSHUFB Y0, Y9, Y0
	VPAND   Y2, Y0, Y0
	VPAND   Y12, Y1, Y4
	VPSRLW  $4, Y1, Y5
	VPAND   Y12, Y5, Y5
	VPSHUFB Y4, Y10, Y4
	VPSHUFB Y5, Y11, Y5
	VPAND   Y4, Y5, Y4
	VPAND   Y0, Y4, Y0
	VMOVDQU 2(SI)(AX*1), Y2
	VMOVDQU 3(SI)(AX*1), Y1
	VPAND   Y12, Y2, Y4
	VPSRLW  $4, Y2, Y5
	VPAND   Y12, Y5, Y5
	VPSHUFB Y4, Y14, Y4
	VPSHUFB Y5, Y15, Y5
	VPAND   Y4, Y5, Y4
	VPAND   Y0, Y4, Y0
	VPAND   Y12, Y1, Y4
	VPSRLW  $4, Y1, Y5
	VPAND   Y12, Y5, Y5
	VPSHUFB Y4, Y13, Y4
	VPSHUFB Y5, Y7, Y5
	VPAND   Y4, Y5, Y4
	VPAND   Y0, Y4, Y0
	VPXOR   Y6, Y6, Y6
	VPCMPEQB Y6, Y0, Y2
	VPMOVMSKB Y2, BX
	XORL $0xffffffff, BX
	JNZ  found
	ADDQ $32, AX
	JMP  loop

found:
	LEAQ (SI)(AX*1), R8

next:
	BSFL   BX, R9
	MOVL   (R8)(R9*1), R10
	MOVL   R10, R12
	SHRL   $24, R12
	ANDL   $0xffffff, R10
	IMUL3L $0x9e3779b1, R10, R10
	SHRL   $21, R10
	MOVL   (DI)(R10*4), R11
	BTL    R12, R11
	JCS    stands
	LEAL   -1(BX), R11
	ANDL   R11, BX
	JNZ    next
	ADDQ   $32, AX
	JMP    loop

stands:
	ADDQ R9, AX

done:
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET
