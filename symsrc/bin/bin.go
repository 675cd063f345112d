// Package bin reads numbers, strings and parts of binary files that may be damaged. A position that has left its bytes becomes the
// constant Past: every later read from it fails, and loops over the bytes end.
package bin

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// Past is the position of a reader that has left its bytes. It is so large that every later read fails too, and small
// enough that adding any size read from a file does not overflow.
const Past = math.MaxInt / 2

// ULEB reads an unsigned LEB128 number at p (DWARF 5 §7.6). Bits above 64 are dropped.
func ULEB(b []byte, p int) (uint64, int) {
	var v uint64
	for shift := uint(0); uint(p) < uint(len(b)); shift += 7 {
		c := b[p]
		p++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, p
		}
	}
	return 0, Past
}

// SLEB reads a signed LEB128 number at p.
func SLEB(b []byte, p int) (int64, int) {
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
	return 0, Past
}

// SkipLEB returns the position after the LEB128 number at p.
func SkipLEB(b []byte, p int) int {
	for uint(p) < uint(len(b)) {
		p++
		if b[p-1] < 0x80 {
			return p
		}
	}
	return Past
}

// SkipString returns the position after the NUL that ends the string at p.
func SkipString(b []byte, p int) int {
	if uint(p) < uint(len(b)) {
		if n := bytes.IndexByte(b[p:], 0); n >= 0 {
			return p + n + 1
		}
	}
	return Past
}

// Skip returns the position n bytes after p.
func Skip(b []byte, p int, n uint64) int {
	if uint(p) > uint(len(b)) || n > uint64(len(b)-p) {
		return Past
	}
	return p + int(n)
}

// Uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes at p.
func Uint(b []byte, p, size int, big bool) (uint64, int) {
	if uint(p)+uint(size) > uint(len(b)) {
		return 0, Past
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

// MaxString bounds a name, or any other string: a longer one is damage, and to look for its end takes long.
const MaxString = 1 << 16

// Cursor walks over B from P on: headers, where speed does not matter.
type Cursor struct {
	B   []byte
	P   int  // the position in B, or Past
	Big bool // numbers have their most significant byte first
}

// OK reports whether every read so far stayed within the bytes.
func (c *Cursor) OK() bool { return uint(c.P) <= uint(len(c.B)) }

// Uint reads an unsigned number of 1, 2, 3, 4 or 8 bytes.
func (c *Cursor) Uint(size int) (v uint64) {
	v, c.P = Uint(c.B, c.P, size, c.Big)
	return v
}

// U8 reads a byte.
func (c *Cursor) U8() uint8 { return uint8(c.Uint(1)) }

// U16 reads two bytes.
func (c *Cursor) U16() uint16 { return uint16(c.Uint(2)) }

// U32 reads four bytes.
func (c *Cursor) U32() uint32 { return uint32(c.Uint(4)) }

// ULEB reads an unsigned LEB128 number.
func (c *Cursor) ULEB() (v uint64) {
	v, c.P = ULEB(c.B, c.P)
	return v
}

// Skip passes over n bytes.
func (c *Cursor) Skip(n uint64) { c.P = Skip(c.B, c.P, n) }

// Bytes returns the next n bytes; nil where there are fewer.
func (c *Cursor) Bytes(n uint64) []byte {
	p := c.P
	if c.Skip(n); !c.OK() {
		return nil
	}
	return c.B[p:c.P:c.P]
}

// CString returns the bytes up to the next NUL, which is passed over; nil where there is none.
func (c *Cursor) CString() []byte {
	p := c.P
	if c.P = SkipString(c.B, p); !c.OK() {
		return nil
	}
	return c.B[p : c.P-1 : c.P-1]
}

// Length reads an initial length (DWARF 5 §7.4): the number of bytes that follow, and the size of offsets in them.
func (c *Cursor) Length() (n uint64, offSize int) {
	n, offSize = c.Uint(4), 4
	if n == 0xffffffff {
		n, offSize = c.Uint(8), 8
	} else if n >= 0xfffffff0 {
		c.P = Past
	}
	return n, offSize
}

// Slice returns b[off:off+n], or false where that lies outside of b.
func Slice(b []byte, off, n uint64) ([]byte, bool) {
	if off > uint64(len(b)) || n > uint64(len(b))-off {
		return nil, false
	}
	return b[off : off+n : off+n], true
}

// Unversioned returns the name of a symbol without its version, such as `read` for `read@@GLIBC_2.2.5`. Names may contain the sign without
// a version, as those of Crystal (`*Array(Int32)@Array(T)#push:Int32`) and of Microsoft's compiler do. `read@plt` is a stub, which is another
// function.
func Unversioned(name string) string {
	at := strings.LastIndexByte(name, '@')
	if at <= 0 || name[0] == '?' || at+1 == len(name) || name[at:] == "@plt" {
		return name
	}
	for _, c := range []byte(name[at+1:]) {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case c == '_', c == '.', c == '-', c == '+', c == '~':
		default:
			return name
		}
	}
	if name[at-1] == '@' && at > 1 {
		at-- // the version that the linker takes where none is named
	}
	return name[:at]
}
