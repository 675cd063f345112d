package object

import (
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
	"slices"
)

// outline is where symbols and the ranges of units begin and end, in order.
func (w *walker) outline() (points []uint64) {
	f := w.f
	add := func(at ...uint64) { points = append(points, at...) }
	for _, x := range [...]*File{f, f.other} {
		if x == nil {
			continue
		}
		for _, t := range [...]*elf.SymbolTable{x.symtab, x.dynsym, x.miniSymbols()} {
			if t != nil {
				t.Outline(add)
			}
		}
		if r := x.runtime(); r != nil {
			for _, s := range r.code.Stubs() {
				add(s.Lo, s.Hi)
			}
		}
		for i := range x.elf.Sections {
			if s := &x.elf.Sections[i]; s.IsCode() {
				add(s.Addr, s.Addr+s.Size)
			}
		}
	}
	f.dwarf.Outline(add)
	slices.Sort(points)
	return slices.Compact(points)
}

// inside returns where the answers of a unit may change.
func (w *walker) inside(u *dwarf.Unit) []uint64 {
	points, ok := w.points[u]
	if !ok {
		points = u.Outline()
		w.points[u] = points
	}
	return points
}

// sharedSymbols returns the addresses at which functions of several names begin.
func (f *File) sharedSymbols() map[uint64]bool {
	t := f.symtab
	for _, other := range [...]*File{f.other, f} {
		if t == nil && other != nil {
			t = other.symtab
		}
	}
	if t == nil {
		t = f.dynsym
	}
	if t == nil {
		return nil
	}
	return t.Shared()
}
