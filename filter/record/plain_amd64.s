#include "textflag.h"

// func plainVector(p *byte, n int, high uint8) int
//
// A byte stops the search if it is below the blank, which an unsigned minimum tells, or one of the three that a string
// escapes; or if its high bit is set and that of high, too.
TEXT ·plainVector(SB), NOSPLIT, $0-32
	MOVQ p+0(FP), SI
	MOVQ n+8(FP), CX
	MOVBLZX high+16(FP), DX
	VMOVD DX, X15
	VPBROADCASTB X15, Y15
	MOVL $0x1f, AX
	VMOVD AX, X14
	VPBROADCASTB X14, Y14
	MOVL $0x22, AX
	VMOVD AX, X13
	VPBROADCASTB X13, Y13
	MOVL $0x5c, AX
	VMOVD AX, X12
	VPBROADCASTB X12, Y12
	MOVL $0x7f, AX
	VMOVD AX, X11
	VPBROADCASTB X11, Y11
	XORQ AX, AX
	SUBQ $32, CX

loop:
	CMPQ AX, CX
	JGT  done
	VMOVDQU (SI)(AX*1), Y0
	VPMINUB  Y14, Y0, Y1
	VPCMPEQB Y0, Y1, Y1
	VPCMPEQB Y13, Y0, Y2
	VPCMPEQB Y12, Y0, Y3
	VPCMPEQB Y11, Y0, Y4
	VPAND    Y15, Y0, Y5
	VPOR     Y1, Y2, Y1
	VPOR     Y3, Y4, Y3
	VPOR     Y1, Y3, Y1
	VPOR     Y1, Y5, Y1
	VPMOVMSKB Y1, BX
	TESTL BX, BX
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
