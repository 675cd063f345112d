package elf

import (
	"errors"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// TestIsTombstone checks the addresses that linkers write for discarded code.
func TestIsTombstone(t *testing.T) {
	is64, is32, rel := Addressing{wide: true}, Addressing{}, Addressing{wide: true, codeAtZero: true}
	for _, c := range []struct {
		h    *Addressing
		addr uint64
		want bool
	}{
		{&is64, 0, true}, {&is64, 1, true}, {&is64, 2, false}, {&is64, 1<<32 - 1, false}, {&is64, 1<<64 - 1, true}, {&is64, 1<<64 - 2, true},
		{&is64, 1<<64 - 3, false}, {&is32, 1<<32 - 1, true}, {&is32, 1<<32 - 2, true}, {&is32, 1<<32 - 3, false}, {&rel, 0, false},
	} {
		if got := c.h.IsTombstone(c.addr); got != c.want {
			t.Errorf("%#x of %+v: %v", c.addr, c.h, got)
		}
	}
}

// TestSectionSizes checks that sections are refused whose uncompressed size is impossible or too large.
func TestSectionSizes(t *testing.T) {
	h := &Format{Is64: true}
	compressed := func(method, size string) []byte {
		return []byte(method + "\x00\x00\x00\x00\x00\x00\x00" + size + "\x01\x00\x00\x00\x00\x00\x00\x00" + "packed")
	}
	for _, c := range []struct {
		name string
		data []byte
		want symsrc.Status
	}{
		{"a bomb", compressed("\x01", "\x00\x00\x00\x40\x00\x00\x00\x00"), symsrc.Corrupted},
		{"more than there is", compressed("\x01", "\xff\xff\xff\xff\xff\xff\xff\xff"), symsrc.Corrupted},
		{"an unknown method", compressed("\x09", "\x00\x01\x00\x00\x00\x00\x00\x00"), symsrc.UnsupportedCompressed},
		{"truncated", []byte("\x01\x00\x00\x00"), symsrc.Corrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Content
			err := s.load(h, &Section{Name: ".debug_info", Flags: 0x800}, c.data, budget.NewFile(1<<30))
			var status *StatusError
			if !errors.As(err, &status) || status.Status != c.want {
				t.Errorf("%v", err)
			}
		})
	}
	var s Content
	if err := s.load(h, &Section{Flags: 0x800}, compressed("\x01", "\x40\x00\x00\x00\x00\x00\x00\x00"), budget.NewFile(1<<30)); err != nil {
		t.Fatal(err)
	}
	if b := s.All(); len(b) != 0 { // no zlib data
		t.Errorf("%x", b)
	}
}
