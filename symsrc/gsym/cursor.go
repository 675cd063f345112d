package gsym

import "encoding/binary"

// cursor reads numbers one after the other. What goes beyond the end makes it bad, and all that are read afterwards are 0.
type cursor struct {
	b     []byte
	p     int
	order binary.ByteOrder
	bad   bool
}

// bytes reads n bytes.
func (c *cursor) bytes(n uint64) []byte {
	if c.bad || c.p > len(c.b) || n > uint64(len(c.b)-c.p) {
		c.bad = true
		return nil
	}
	b := c.b[c.p : c.p+int(n)]
	c.p += int(n)
	return b
}

// align skips to the next multiple of size.
func (c *cursor) align(size int) { c.p = (c.p + size - 1) / size * size }

// uint reads a number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	b := c.bytes(uint64(size))
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 4:
		return uint64(c.order.Uint32(b))
	case 8:
		return c.order.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 number.
func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.bytes(1)
		if c.bad || shift > 63 {
			c.bad = true
			return 0
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		b := c.bytes(1)
		if c.bad || shift > 63 {
			c.bad = true
			return 0
		}
		v |= int64(b[0]&0x7f) << shift
		shift += 7
		if b[0] < 0x80 {
			if b[0]&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}
