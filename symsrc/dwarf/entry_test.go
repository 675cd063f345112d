package dwarf

import (
	"math"
	"testing"

	"qss-filter/symsrc/bin"
)

// TestSkipForm skips and reads a value of each form, complete and truncated.
func TestSkipForm(t *testing.T) {
	l := layout{version: 5, addrSize: 8, offSize: 4}
	for _, c := range []struct {
		form  uint64
		bytes string
	}{
		{0x01, "12345678"}, {0x0b, "1"}, {0x05, "12"}, {0x06, "1234"}, {0x07, "12345678"}, {0x1e, "1234567812345678"},
		{0x08, "abc\x00"}, {0x0a, "\x02ab"}, {0x03, "\x02\x00ab"}, {0x04, "\x02\x00\x00\x00ab"}, {0x09, "\x02ab"}, {0x18, "\x01a"},
		{0x0d, "\xff\x7f"}, {0x0f, "\xff\x01"}, {0x10, "1234"}, {0x0e, "1234"}, {0x1f, "1234"}, {0x17, "1234"}, {0x1a, "\x01"},
		{0x1b, "\x81\x01"}, {0x20, "12345678"}, {0x22, "\x01"}, {0x23, "\x01"}, {0x25, "1"}, {0x26, "12"}, {0x27, "123"},
		{0x28, "1234"}, {0x16, "\x05ab"}, {0x16, "\x08ab\x00"}, {0x1d, "1234"}, {0x1f20, "1234"}, {0x1f21, "1234"}, {0x1f01, "\x01"},
	} {
		b := []byte(c.bytes)
		kind, n := formOp(c.form, l)
		if p := skipForm(b, 0, kind, n, l); p != len(b) {
			t.Errorf("form %#x: skipped to %d of %d", c.form, p, len(b))
		}
		if _, _, p := readForm(b, 0, c.form, l); p != len(b) {
			t.Errorf("form %#x: read to %d of %d", c.form, p, len(b))
		}
		if _, _, p := readForm(b[:len(b)-1], 0, c.form, l); p <= len(b)-1 {
			t.Errorf("form %#x, truncated: read to %d", c.form, p)
		}
	}
	for _, form := range []uint64{0, 0x02, 0x21, 0x7f, 0x1f03, math.MaxUint64} {
		if _, _, p := readForm(make([]byte, 99), 0, form, l); p != bin.Past {
			t.Errorf("form %#x: read to %d", form, p)
		}
	}
	if _, _, p := readForm([]byte{formIndirect, formIndirect, 0x0b, 1}, 0, formIndirect, l); p != bin.Past {
		t.Errorf("indirect form of an indirect form: read to %d", p)
	}
}
