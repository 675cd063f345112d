package codeprobe

import "encoding/binary"

// x86Instruction is one of x86-64 (Intel SDM 2, appendix A).
type x86Instruction struct {
	size int
	// opcode has 0x0f00 added if it is one of the second table, and is 0 if it is one of another.
	opcode int
	// modRM is the byte of that name, 0 if there is none, and reg its field.
	modRM, reg byte
	// notrack is set if that prefix is before it.
	notrack bool
}

// opcodes is a set of opcodes.
type opcodes [4]uint64

func (s *opcodes) has(op byte) bool { return s[op>>6]>>(op&63)&1 != 0 }

// ranges returns the set of the opcodes in pairs of the first and the last one.
func ranges(pairs ...byte) (s opcodes) {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		for op := int(pairs[0]); op <= int(pairs[1]); op++ {
			s[op>>6] |= 1 << (op & 63)
		}
	}
	return s
}

// Opcodes of the first table and the second one.
var (
	x86ModRM = ranges(0x00, 0x03, 0x08, 0x0b, 0x10, 0x13, 0x18, 0x1b, 0x20, 0x23, 0x28, 0x2b, 0x30, 0x33, 0x38, 0x3b, 0x63, 0x63, 0x69, 0x69, 0x6b, 0x6b,
		0x80, 0x81, 0x83, 0x8f, 0xc0, 0xc1, 0xc6, 0xc7, 0xd0, 0xd3, 0xd8, 0xdf, 0xf6, 0xf7, 0xfe, 0xff)
	x86Byte = ranges(0x04, 0x04, 0x0c, 0x0c, 0x14, 0x14, 0x1c, 0x1c, 0x24, 0x24, 0x2c, 0x2c, 0x34, 0x34, 0x3c, 0x3c, 0x6a, 0x6b, 0x70, 0x80, 0x83, 0x83,
		0xa8, 0xa8, 0xb0, 0xb7, 0xc0, 0xc1, 0xc6, 0xc6, 0xcd, 0xcd, 0xe0, 0xe7, 0xeb, 0xeb)
	x86Word = ranges(0x05, 0x05, 0x0d, 0x0d, 0x15, 0x15, 0x1d, 0x1d, 0x25, 0x25, 0x2d, 0x2d, 0x35, 0x35, 0x3d, 0x3d, 0x68, 0x69, 0x81, 0x81, 0xa9, 0xa9,
		0xb8, 0xbf, 0xc7, 0xc7)
	x86Invalid = ranges(0x06, 0x07, 0x0e, 0x0e, 0x16, 0x17, 0x1e, 0x1f, 0x27, 0x27, 0x2f, 0x2f, 0x37, 0x37, 0x3f, 0x3f, 0x60, 0x61, 0x82, 0x82, 0x9a, 0x9a,
		0xce, 0xce, 0xd4, 0xd6, 0xea, 0xea)
	x86NoModRM2 = ranges(0x05, 0x09, 0x0b, 0x0b, 0x0e, 0x0e, 0x30, 0x37, 0x77, 0x77, 0x80, 0x8f, 0xa0, 0xa2, 0xa8, 0xaa, 0xc8, 0xcf)
	x86Byte2    = ranges(0x0f, 0x0f, 0x70, 0x73, 0xa4, 0xa4, 0xac, 0xac, 0xba, 0xba, 0xc2, 0xc2, 0xc4, 0xc6)
)

// decodeX86 reads the instruction at the beginning of b. ok is false if there is none.
func decodeX86(b []byte) (in x86Instruction, ok bool) {
	const longest = 15
	b = b[:min(len(b), longest)]
	at, short, wide, address := 0, false, false, false
prefixes:
	for ; at < len(b); at++ {
		switch b[at] {
		case 0x66:
			short = true
		case 0x67:
			address = true
		case 0x3e:
			in.notrack = true
		case 0x26, 0x2e, 0x36, 0x64, 0x65, 0xf0, 0xf2, 0xf3:
		default:
			break prefixes
		}
	}
	if at < len(b) && b[at]&0xf0 == 0x40 { // REX
		wide = b[at]&8 != 0
		at++
	}
	table, vector := byte(0), 0
	if at+1 >= len(b) && (at >= len(b) || b[at] == 0x0f) {
		return in, false
	}
	switch b[at] {
	case 0x0f:
		table, at = 1, at+1
		switch b[at] {
		case 0x38:
			table, at = 2, at+1
		case 0x3a:
			table, at = 3, at+1
		}
	case 0xc5: // VEX of two bytes
		table, vector = 1, 2
	case 0xc4: // VEX of three
		vector = 3
	case 0x62: // EVEX
		vector = 4
	}
	if vector > 2 && at+1 < len(b) {
		table = b[at+1] & 7
	}
	if at += vector; at >= len(b) || vector > 0 && table == 0 {
		return in, false
	}
	op := b[at]
	at++
	modRM, immediate := true, 0
	switch table {
	case 0:
		if x86Invalid.has(op) {
			return in, false
		}
		in.opcode, modRM = int(op), x86ModRM.has(op)
		immediate = immediateX86(op, short, wide, address)
	case 1:
		in.opcode, modRM = 0x0f00|int(op), !x86NoModRM2.has(op) || vector == 4
		switch {
		case x86Byte2.has(op):
			immediate = 1
		case op&0xf0 == 0x80 && vector == 0: // jcc
			immediate = 4
		}
	case 3:
		immediate = 1
	}
	if vector > 0 {
		in.opcode = 0
	}
	if modRM {
		if at >= len(b) {
			return in, false
		}
		in.modRM, in.reg = b[at], b[at]>>3&7
		if (op == 0xf6 || op == 0xf7) && table == 0 && in.reg < 2 { // test
			immediate = 4
			if op == 0xf6 {
				immediate = 1
			} else if short {
				immediate = 2
			}
		}
		at += modRMLength(b[at:])
	}
	in.size = at + immediate
	return in, in.size <= len(b)
}

// immediateX86 returns how many bytes follow the operand of an instruction of the first table.
func immediateX86(op byte, short, wide, address bool) int {
	switch {
	case op == 0xe8, op == 0xe9:
		return 4
	case op >= 0xa0 && op <= 0xa3:
		if address {
			return 4
		}
		return 8
	case op == 0xc2, op == 0xca:
		return 2
	case op == 0xc8:
		return 3
	case x86Byte.has(op):
		return 1
	case !x86Word.has(op):
		return 0
	case op >= 0xb8 && op <= 0xbf && wide:
		return 8
	case short && !wide:
		return 2
	}
	return 4
}

// leadsTo returns where the instruction at the beginning of b, which has that address, jumps to or what it calls. ok is false if it does
// neither, or goes by way of a pointer.
func (in *x86Instruction) leadsTo(b []byte, addr uint64) (to uint64, ok bool) {
	after := addr + uint64(in.size)
	switch op := in.opcode; {
	case op == 0xe8, op == 0xe9, op&0xfff0 == 0x0f80: // call rel32, jmp rel32, jcc rel32
		return after + uint64(int64(int32(binary.LittleEndian.Uint32(b[in.size-4:])))), true
	case op == 0xeb, op&0xfff0 == 0x70, op >= 0xe0 && op <= 0xe3: // jmp rel8, jcc rel8, loop, jrcxz
		return after + uint64(int64(int8(b[in.size-1]))), true
	}
	return 0, false
}
