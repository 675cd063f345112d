package elfdwarf

import (
	"bytes"
	"encoding/binary"
	"math"
)

// past is the position of a reader that has left its bytes. It is so large that every later read fails too, and small
// enough that adding any size read from a file does not overflow.
const past = math.MaxInt / 2

// uleb reads an unsigned LEB128 number at p (DWARF 5 §7.6). Bits above 64 are dropped.
func uleb(b []byte, p int) (uint64, int) {
	var v uint64
	for shift := uint(0); uint(p) < uint(len(b)); shift += 7 {
		c := b[p]
		p++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, p
		}
	}
	return 0, past
}

// sleb reads a signed LEB128 number at p.
func sleb(b []byte, p int) (int64, int) {
	var v int64
	for shift := uint(0); uint(p) < uint(len(b)); {
		c := b[p]
		p++
		v |= int64(c&0x7f) << shift
		shift += 7
		if c < 0x80 {
			if c&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v, p
		}
	}
	return 0, past
}

// skipLEB is the position after the LEB128 number at p.
func skipLEB(b []byte, p int) int {
	for uint(p) < uint(len(b)) {
		p++
		if b[p-1] < 0x80 {
			return p
		}
	}
	return past
}

// skipString is the position after the NUL that ends the string at p.
func skipString(b []byte, p int) int {
	if uint(p) < uint(len(b)) {
		if n := bytes.IndexByte(b[p:], 0); n >= 0 {
			return p + n + 1
		}
	}
	return past
}

// skipBytes is the position n bytes after p.
func skipBytes(b []byte, p int, n uint64) int {
	if uint(p) > uint(len(b)) || n > uint64(len(b)-p) {
		return past
	}
	return p + int(n)
}

// fixed reads an unsigned number of 1, 2, 3, 4 or 8 bytes at p.
func fixed(b []byte, p, size int, big bool) (uint64, int) {
	if uint(p)+uint(size) > uint(len(b)) {
		return 0, past
	}
	s := b[p : p+size]
	p += size
	switch {
	case size == 1:
		return uint64(s[0]), p
	case size == 4 && !big:
		return uint64(binary.LittleEndian.Uint32(s)), p
	case size == 8 && !big:
		return binary.LittleEndian.Uint64(s), p
	}
	var v uint64
	for i := range s {
		if big {
			v = v<<8 | uint64(s[i])
		} else {
			v |= uint64(s[i]) << (8 * uint(i))
		}
	}
	return v, p
}

// cursor walks over headers, where speed does not matter.
type cursor struct {
	b   []byte
	p   int
	big bool
}

// ok reports whether every read so far stayed within the bytes.
func (c *cursor) ok() bool { return uint(c.p) <= uint(len(c.b)) }

func (c *cursor) uint(size int) (v uint64) {
	v, c.p = fixed(c.b, c.p, size, c.big)
	return v
}

func (c *cursor) u8() uint8   { return uint8(c.uint(1)) }
func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }

func (c *cursor) uleb() (v uint64) {
	v, c.p = uleb(c.b, c.p)
	return v
}

func (c *cursor) skip(n uint64) { c.p = skipBytes(c.b, c.p, n) }

// bytes takes the next n bytes; nil where there are fewer.
func (c *cursor) bytes(n uint64) []byte {
	p := c.p
	if c.skip(n); !c.ok() {
		return nil
	}
	return c.b[p:c.p:c.p]
}

// str takes the bytes up to the next NUL, which is passed over.
func (c *cursor) str() []byte {
	p := c.p
	if c.p = skipString(c.b, p); !c.ok() {
		return nil
	}
	return c.b[p : c.p-1 : c.p-1]
}

// length reads an initial length (DWARF 5 §7.4): the number of bytes that follow, and the size of offsets in them.
func (c *cursor) length() (n uint64, offSize int) {
	n, offSize = c.uint(4), 4
	if n == 0xffffffff {
		n, offSize = c.uint(8), 8
	} else if n >= 0xfffffff0 {
		c.p = past
	}
	return n, offSize
}

// slice is b[off:off+n], or false where that lies outside of b.
func slice(b []byte, off, n uint64) ([]byte, bool) {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil, false
	}
	return b[off : off+n : off+n], true
}
