package inflate

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"
)

// bitWriter writes bits, the lowest one first.
type bitWriter struct {
	out []byte
	n   uint
}

func (w *bitWriter) bits(value, n uint) {
	for i := range n {
		if w.n%8 == 0 {
			w.out = append(w.out, 0)
		}
		w.out[w.n/8] |= byte(value>>i&1) << (w.n % 8)
		w.n++
	}
}

// codeCase is one dynamic block: the lengths of its codes and the bits of its data.
type codeCase struct {
	what      string
	lit, dist []uint8 // lit is padded with zeros to at least 257 lengths
	data      string  // the characters 0 and 1
	want      string
	err       error
}

// stream returns the case as DEFLATE data.
func (c codeCase) stream() []byte {
	var w bitWriter
	lit := append(slices.Clone(c.lit), make([]uint8, max(257-len(c.lit), 0))...)
	w.bits(1, 1)
	w.bits(2, 2)
	w.bits(uint(len(lit)-257), 5)
	w.bits(uint(len(c.dist)-1), 5)
	w.bits(numLens-4, 4)
	for _, symbol := range lensOrder { // 16 codes of 4 bits for the lengths 0 to 15, none for repetitions
		if symbol < 16 {
			w.bits(4, 3)
		} else {
			w.bits(0, 3)
		}
	}
	for _, l := range slices.Concat(lit, c.dist) {
		for i := 3; i >= 0; i-- {
			w.bits(uint(l>>i&1), 1)
		}
	}
	for _, bit := range c.data {
		w.bits(uint(bit-'0'), 1)
	}
	return w.out
}

// lengths returns a slice with the lengths of the given symbols, and 0 for the others.
func lengths(of map[int]uint8) []uint8 {
	out := make([]uint8, 257)
	for symbol, l := range of {
		for len(out) <= symbol {
			out = append(out, 0)
		}
		out[symbol] = l
	}
	return out
}

// chain returns the lengths of a complete code with the lengths 1 to 15, and 15 again for the end: the code of a is 0, of b 10, and so
// on.
func chain() []uint8 {
	of := map[int]uint8{256: 15}
	for i := range 15 {
		of['a'+i] = uint8(i + 1)
	}
	return lengths(of)
}

var codeCases = []codeCase{
	{"complete", lengths(map[int]uint8{'a': 1, 'b': 2, 256: 2}), []uint8{0}, "0010" + "011", "aaba", nil},
	{"longest codes", chain(), []uint8{0}, "0" + "10" + "11111111110" + "111111111110" + "111111111111110" + "111111111111111", "abklo", nil},
	{"end only", lengths(map[int]uint8{256: 1}), []uint8{0}, "0", "", nil},
	{"end only, unused code in the data", lengths(map[int]uint8{256: 1}), []uint8{0}, "1", "", ErrCorrupt},
	{"no code at all", lengths(nil), []uint8{0}, "00000000", "", ErrCorrupt},
	{"no end", lengths(map[int]uint8{'a': 1, 'b': 1}), []uint8{0}, "0101", "ababaaaa", io.ErrUnexpectedEOF},
	{"incomplete", lengths(map[int]uint8{'a': 2, 'b': 2, 256: 2}), []uint8{0}, "000111", "", ErrCorrupt},
	{"one code of two bits", lengths(map[int]uint8{256: 2}), []uint8{0}, "00", "", ErrCorrupt},
	{"too many codes", lengths(map[int]uint8{'a': 1, 'b': 1, 256: 1}), []uint8{0}, "00", "", ErrCorrupt},
	{"too many long codes", lengths(map[int]uint8{'a': 1, 'b': 2, 'c': 3, 'd': 3, 256: 3}), []uint8{0}, "00", "", ErrCorrupt},
	{"one distance", lengths(map[int]uint8{'a': 1, 256: 2, 257: 2}), []uint8{1}, "0" + "110" + "10", "aaaa", nil},
	{"one distance, unused code in the data", lengths(map[int]uint8{'a': 1, 256: 2, 257: 2}), []uint8{1}, "0" + "111" + "10", "", ErrCorrupt},
	{"no distance", lengths(map[int]uint8{'a': 1, 256: 2, 257: 2}), []uint8{0}, "0" + "110" + "10", "", ErrCorrupt},
	{"incomplete distances", lengths(map[int]uint8{'a': 1, 256: 2, 257: 2}), []uint8{2, 2, 2}, "010", "", ErrCorrupt},
	{"too far", lengths(map[int]uint8{'a': 1, 256: 2, 257: 2}), []uint8{1, 1}, "0" + "111" + "10", "", ErrCorrupt},
	{"longest length", lengths(map[int]uint8{'a': 1, 256: 2, 285: 2}), []uint8{1}, "0" + "110" + "10",
		string(bytes.Repeat([]byte("a"), 259)), nil},
	{"length 258 with extra bits", lengths(map[int]uint8{'a': 1, 256: 2, 284: 2}), []uint8{1}, "0" + "11" + "11111" + "0" + "10",
		string(bytes.Repeat([]byte("a"), 259)), nil},
	{"31 distances", lengths(map[int]uint8{'a': 1, 256: 1}), append(make([]uint8, 29), 1, 1), "01", "", ErrCorrupt},
	{"287 symbols", append(make([]uint8, 286), 1), []uint8{0}, "01", "", ErrCorrupt},
}

func TestCodes(t *testing.T) {
	for _, c := range codeCases {
		in := c.stream()
		out, err := decode(in, len(c.want))
		if c.err == nil && (err != nil || string(out) != c.want) {
			t.Errorf("%s: %q, %v, want %q", c.what, out, err, c.want)
		}
		if c.err != nil && err == nil {
			t.Errorf("%s: no error, want %v", c.what, c.err)
		}
		// At the end of the input, an invalid code could also be the beginning of a truncated one.
		if _, err := decode(append(in, make([]byte, 8)...), 20); c.err == ErrCorrupt && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", c.what, err, c.err)
		}
		compare(t, c.what, in)
		// The fast loop needs more input.
		compare(t, c.what+", in the fast loop", append(in, make([]byte, 500)...))
	}
}

// TestFixed decodes all symbols of the fixed codes, including those without a meaning.
func TestFixed(t *testing.T) {
	for code := range uint(1 << 9) {
		for _, distance := range []uint{0, 1, 3, 29, 30, 31} {
			var w bitWriter
			w.bits(1, 1)
			w.bits(1, 2)
			for range 20 {
				for _, bit := range "10010001" { // 'a'
					w.bits(uint(bit-'0'), 1)
				}
			}
			w.bits(code, 9)
			for i := 4; i >= 0; i-- {
				w.bits(distance>>i&1, 1)
			}
			w.bits(0, 64)
			compare(t, "fixed", w.out)
		}
	}
}

// TestBuild compares the tables with a computation of every code, for codes of different shapes.
func TestBuild(t *testing.T) {
	for _, lens := range [][]uint8{
		chain(), lengths(map[int]uint8{'a': 1, 'b': 2, 256: 2}), slices.Repeat([]uint8{8}, 256), slices.Repeat([]uint8{15, 1, 2}, 1),
	} {
		var table [sizeLit]entry
		ok := build(table[:], mainLit, lens, litEntries[:])
		sum := 0
		for _, l := range lens {
			if l > 0 {
				sum += 1 << (maxCodeBits - l)
			}
		}
		if want := sum == 1<<maxCodeBits; ok != want {
			t.Errorf("build of a code of %d/%d: %v", sum, 1<<maxCodeBits, ok)
		}
		if !ok {
			continue
		}
		code, symbols := 0, 0
		for l := range uint8(maxCodeBits + 1) {
			code <<= 1
			for symbol, sl := range lens {
				if l == 0 || sl != l {
					continue
				}
				var w bitWriter
				for i := int(l) - 1; i >= 0; i-- {
					w.bits(uint(code>>i&1), 1)
				}
				bits := entry(0)
				for i, b := range w.out {
					bits |= entry(b) << (8 * i)
				}
				e, used := table[bits&(1<<mainLit-1)], entry(0)
				if e&isLiteral == 0 && e&isSub != 0 {
					used = e & 0xff
					e = table[e>>16&0x3fff+bits>>used&(1<<(e>>8&15)-1)]
				}
				if symbol < 256 && e != litEntries[symbol]+entry(l)-used {
					t.Errorf("the code %0*b is decoded as %08x, want symbol %d", l, code, e, symbol)
				}
				code++
				symbols++
			}
		}
	}
}
