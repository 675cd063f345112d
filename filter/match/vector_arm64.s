#include "textflag.h"

// func vector(p *byte, n int, table *[128]byte, _ *[2048]uint32) int
//
// A byte belongs to the sets lo[low nibble] & hi[high nibble]; four bytes to the sets that hold the first as a first one, the second as a
// second one and so on. Eight sets fit the bits of a byte.
TEXT ·vector(SB), NOSPLIT, $0-40
	MOVD  p+0(FP), R0
	MOVD  n+8(FP), R1
	MOVD  table+16(FP), R2
	ADD   $64, R2, R5
	VLD1  (R2), [V8.B16, V9.B16, V10.B16, V11.B16]
	VLD1  (R5), [V24.B16, V25.B16, V26.B16, V27.B16]
	VMOVI $0x0f, V12.B16
	MOVD  ZR, R3
	SUB   $35, R1, R1

loop:
	CMP   R1, R3
	BGT   done
	ADD   R0, R3, R4
	ADD   $1, R4, R5
	VLD1  (R4), [V0.B16, V1.B16]
	VLD1  (R5), [V2.B16, V3.B16]
	ADD   $2, R4, R5
	VLD1  (R5), [V4.B16, V5.B16]
	ADD   $3, R4, R5
	VLD1  (R5), [V6.B16, V7.B16]
	VAND  V12.B16, V0.B16, V16.B16
	VAND  V12.B16, V1.B16, V17.B16
	VAND  V12.B16, V2.B16, V18.B16
	VAND  V12.B16, V3.B16, V19.B16
	VAND  V12.B16, V4.B16, V20.B16
	VAND  V12.B16, V5.B16, V21.B16
	VAND  V12.B16, V6.B16, V22.B16
	VAND  V12.B16, V7.B16, V23.B16
	VUSHR $4, V0.B16, V0.B16
	VUSHR $4, V1.B16, V1.B16
	VUSHR $4, V2.B16, V2.B16
	VUSHR $4, V3.B16, V3.B16
	VUSHR $4, V4.B16, V4.B16
	VUSHR $4, V5.B16, V5.B16
	VUSHR $4, V6.B16, V6.B16
	VUSHR $4, V7.B16, V7.B16
	VTBL  V16.B16, [V8.B16], V16.B16
	VTBL  V17.B16, [V8.B16], V17.B16
	VTBL  V18.B16, [V10.B16], V18.B16
	VTBL  V19.B16, [V10.B16], V19.B16
	VTBL  V0.B16, [V9.B16], V0.B16
	VTBL  V1.B16, [V9.B16], V1.B16
	VTBL  V2.B16, [V11.B16], V2.B16
	VTBL  V3.B16, [V11.B16], V3.B16
	VTBL  V20.B16, [V24.B16], V20.B16
	VTBL  V21.B16, [V24.B16], V21.B16
	VTBL  V4.B16, [V25.B16], V4.B16
	VTBL  V5.B16, [V25.B16], V5.B16
	VTBL  V22.B16, [V26.B16], V22.B16
	VTBL  V23.B16, [V26.B16], V23.B16
	VTBL  V6.B16, [V27.B16], V6.B16
	VTBL  V7.B16, [V27.B16], V7.B16
	VAND  V16.B16, V0.B16, V0.B16
	VAND  V17.B16, V1.B16, V1.B16
	VAND  V18.B16, V2.B16, V2.B16
	VAND  V19.B16, V3.B16, V3.B16
	VAND  V20.B16, V4.B16, V4.B16
	VAND  V21.B16, V5.B16, V5.B16
	VAND  V0.B16, V2.B16, V0.B16
	VAND  V1.B16, V3.B16, V1.B16
	VAND  V22.B16, V6.B16, V6.B16
	VAND  V23.B16, V7.B16, V7.B16
	VAND  V0.B16, V4.B16, V0.B16
	VAND  V1.B16, V5.B16, V1.B16
	VAND  V0.B16, V6.B16, V0.B16
	VAND  V1.B16, V7.B16, V1.B16
	VORR  V0.B16, V1.B16, V2.B16
	VMOV  V2.D[0], R6
	VMOV  V2.D[1], R7
	ORR   R6, R7, R8
	CBNZ  R8, found
	ADD   $32, R3, R3
	B     loop

	// The first byte that is not zero lies in the lowest of four words that is not.
found:
	VMOV V0.D[0], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V0.D[1], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V1.D[0], R6
	CBNZ R6, word
	ADD  $8, R3, R3
	VMOV V1.D[1], R6

word:
	RBIT R6, R6
	CLZ  R6, R6
	ADD  R6>>3, R3, R3

done:
	MOVD R3, ret+32(FP)
	RET
