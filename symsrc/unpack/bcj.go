package unpack

import (
	numbers "encoding/binary"
	"io"
)

// x86Reader undoes the filter of .xz files for code of x86 (the .xz file format §5.3.2): compressors write the targets of calls and jumps
// as absolute addresses, which repeat. An operand counts as a target if its highest byte is 0 or 0xff, and the bytes before it
// do not look like another instruction's.
type x86Reader struct {
	in   io.Reader
	b    []byte // read, not yet returned
	done int    // how many of them are final
	pos  uint32 // the offset of b in the content
	err  error

	seen uint32 // which of the last four bytes were the opcode of a call or a jump: bit 0 is the last; bit 4 and up: with a plausible operand
	last uint32 // the offset of the last one
}

// x86Ahead is how many bytes an instruction has: the last ones before the end stay as they are.
const x86Ahead = 5

func newX86Reader(in io.Reader) *x86Reader {
	return &x86Reader{in: in, b: make([]byte, 0, 64<<10), last: ^uint32(x86Ahead - 1)}
}

// Read implements io.Reader.
func (x *x86Reader) Read(p []byte) (int, error) {
	for x.done == 0 {
		if x.err != nil && len(x.b) == 0 {
			return 0, x.err
		}
		if x.err != nil {
			x.done = len(x.b)
			break
		}
		var n int
		n, x.err = x.in.Read(x.b[len(x.b):cap(x.b)])
		x.b = x.b[:len(x.b)+n]
		x.decode()
	}
	n := copy(p, x.b[:x.done])
	x.b = append(x.b[:0], x.b[n:]...)
	x.done -= n
	x.pos += uint32(n)
	return n, nil
}

// plausible reports whether a byte may be the highest one of an operand.
func plausible(b byte) bool { return b == 0 || b == 0xff }

// decode makes as much final as it can.
func (x *x86Reader) decode() {
	i := x.done
	for i+x86Ahead <= len(x.b) {
		if x.b[i]&0xfe != 0xe8 { // call and jmp
			i++
			continue
		}
		at := x.pos + uint32(i)
		if since := at - x.last; since > x86Ahead {
			x.seen = 0
		} else {
			for range since {
				x.seen = x.seen & 0x77 << 1
			}
		}
		x.last = at
		if high := x.b[i+4]; !plausible(high) || !x.free() {
			if i++; plausible(high) {
				x.seen |= 0x10
			}
			x.seen |= 1
			continue
		}
		operand := x.b[i+1 : i+x86Ahead]
		target := x.relative(numbers.LittleEndian.Uint32(operand), at+x86Ahead)
		numbers.LittleEndian.PutUint32(operand, target<<7>>7) // the highest byte repeats the lowest bit of its own
		operand[3] = -(operand[3] & 1)
		i += x86Ahead
		x.seen = 0
	}
	x.done = i
}

// free reports whether the opcodes that were seen before leave the operand to this one.
func (x *x86Reader) free() bool {
	switch before := x.seen >> 1; before {
	case 0, 1, 2, 4, 8, 9, 10, 12:
		return true
	default:
		return false
	}
}

// relative returns the operand of an instruction that ends at end.
func (x *x86Reader) relative(absolute, end uint32) uint32 {
	for {
		target := absolute - end
		if x.seen == 0 {
			return target
		}
		shift := 8 * [8]uint32{0, 1, 2, 2, 3, 3, 3, 3}[x.seen>>1&7]
		if !plausible(byte(target >> (24 - shift))) {
			return target
		}
		absolute = target ^ (1<<(32-shift) - 1)
	}
}
