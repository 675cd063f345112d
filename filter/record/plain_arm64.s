#include "textflag.h"

// func plainVector(p *byte, n int, high uint8) int
//
// A byte stops the search if it is below the space, which an unsigned minimum shows, or one of the three that a string
// escapes; or if its high bit is set and that of high, too.
TEXT ·plainVector(SB), NOSPLIT, $0-32
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R1
	MOVBU high+16(FP), R2
	VDUP  R2, V12.B16
	VMOVI $0x1f, V8.B16
	VMOVI $0x22, V9.B16
	VMOVI $0x5c, V10.B16
	VMOVI $0x7f, V11.B16
	MOVD  ZR, R3
	SUB   $32, R1, R1

loop:
	CMP   R1, R3
	BGT   done
	ADD   R0, R3, R4
	VLD1  (R4), [V0.B16, V1.B16]
	VUMIN V8.B16, V0.B16, V2.B16
	VUMIN V8.B16, V1.B16, V3.B16
	VCMEQ V0.B16, V2.B16, V2.B16
	VCMEQ V1.B16, V3.B16, V3.B16
	VCMEQ V9.B16, V0.B16, V4.B16
	VCMEQ V9.B16, V1.B16, V5.B16
	VORR  V4.B16, V2.B16, V2.B16
	VORR  V5.B16, V3.B16, V3.B16
	VCMEQ V10.B16, V0.B16, V4.B16
	VCMEQ V10.B16, V1.B16, V5.B16
	VORR  V4.B16, V2.B16, V2.B16
	VORR  V5.B16, V3.B16, V3.B16
	VCMEQ V11.B16, V0.B16, V4.B16
	VCMEQ V11.B16, V1.B16, V5.B16
	VORR  V4.B16, V2.B16, V2.B16
	VORR  V5.B16, V3.B16, V3.B16
	VAND  V12.B16, V0.B16, V4.B16
	VAND  V12.B16, V1.B16, V5.B16
	VORR  V4.B16, V2.B16, V2.B16
	VORR  V5.B16, V3.B16, V3.B16
	VORR  V2.B16, V3.B16, V4.B16
	VMOV  V4.D[0], R6
	VMOV  V4.D[1], R7
	ORR   R6, R7, R8
	CBNZ  R8, found
	ADD   $32, R3, R3
	B     loop

	// The first byte that is not zero lies in the lowest of four words that is not.
found:
	VMOV V2.D[0], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V2.D[1], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V3.D[0], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V3.D[1], R6

word:
	RBIT R6, R6
	CLZ  R6, R6
	ADD  R6>>3, R3, R3

done:
	MOVD R3, ret+24(FP)
	RET
