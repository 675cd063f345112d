package ctxstate

import (
	"testing"

	"qss-filter/markup"
)

func TestResolveCut(t *testing.T) {
	p := New().Process("")
	for id, name := range []string{"a", "b", "c"} {
		p.AddModule(markup.ModuleFields{ID: uint64(id), Name: name, BuildID: "x"})
	}
	p.CutTo32()
	for _, m := range []markup.MMapFields{
		{Start: 0x1000, Size: 0x1000, ModuleID: 0, Mode: "rx", Rel: 0x100},
		{Start: 0x1800, Size: 0x1000, ModuleID: 1, Mode: "rw", Rel: 0x200}, // seems to overlap a's code
		{Start: 0x5000, Size: 0x1000, ModuleID: 0, Mode: "rx", Rel: 0x5000},
		{Start: 0x5800, Size: 0x1000, ModuleID: 1, Mode: "rx", Rel: 0x6000}, // overlaps code with code
		{Start: 0xfffff000, Size: 0x1800, ModuleID: 2, Mode: "rx", Rel: 0},  // crosses the window's end
	} {
		if _, err := p.AddMMap(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		addr uint64
		code bool
		name string
		rel  uint64

		several bool
	}{
		{0x1100, true, "a", 0x200, false},
		{0x1900, true, "a", 0xa00, false},  // the newer mapping is not executable
		{0x1900, false, "", 0, true},       // data may be in either mapping
		{0x2500, false, "b", 0xf00, false}, // only one mapping covers it
		{0x2500, true, "", 0, false},
		{0x5900, true, "", 0, true}, // code of two modules
		{0x5100, true, "a", 0x5100, false},
		{0xfffff800, true, "c", 0x800, false},
		{0x0400, true, "c", 0x1400, false}, // after the end of the window
		{0x9000, true, "", 0, false},
	} {
		at, full, several := p.ResolveCut(tc.addr, tc.code)
		if (at != nil) != (tc.name != "") || several != tc.several {
			t.Errorf("%#x, code %v: found %v, several %v", tc.addr, tc.code, at, several)
			continue
		}
		if at != nil && (at.Module.Name != tc.name || at.ModuleAddr(full) != tc.rel) {
			t.Errorf("%#x, code %v: %s+%#x, want %s+%#x", tc.addr, tc.code, at.Module.Name, at.ModuleAddr(full), tc.name, tc.rel)
		}
	}
	p.Reset()
	if p.Cut() {
		t.Error("Cut is still set after a reset")
	}
}
