package elfdwarf

import (
	"bytes"
	"cmp"
	"debug/elf"
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
		for _, t := range [...]*symbolTable{x.symtab, x.dynsym, x.miniSymbols()} {
			if t != nil {
				t.once.Do(t.sort)
				t.outline(add)
			}
		}
		if r := x.runtime(); r != nil {
			for _, s := range r.code.allStubs() {
				add(s.lo, s.hi)
			}
		}
		for i := range x.sections {
			if s := &x.sections[i]; s.isCode() {
				add(s.addr, s.addr+s.size)
			}
		}
	}
	f.dwarf.outline(add)
	slices.Sort(points)
	return slices.Compact(points)
}

// outline calls add with where the ranges of units begin and end.
func (f *Data) outline(add func(...uint64)) {
	if f.info.size == 0 {
		return
	}
	f.unitFor(0) // reads the tables; the first address is looked for without them
	f.unitFor(0)
	f.roots.settle(f.budget)
	for _, t := range [...]*rangeTable{&f.aranges, &f.roots} {
		for _, r := range t.ranges {
			add(r.lo, r.hi)
		}
	}
}

// outline returns where the symbols begin and end.
func (t *symbolTable) outline(add func(...uint64)) {
	for i, addr := range t.sorted.addrs {
		size := t.size(t.sorted.entries[i])
		if end := addr + size; size > 0 && end > addr {
			add(addr, end)
		} else {
			add(addr)
		}
	}
	add(t.ends...)
}

// inside is where the rows, functions and inlined calls of a unit begin and end, in order.
func (w *walker) inside(u *unit) []uint64 {
	if points, ok := w.points[u]; ok {
		return points
	}
	var points []uint64
	all := u.rowsOf(u.lineTableOf())
	for _, s := range all.sequences {
		for _, r := range all.rows[s.first:s.last] {
			points = append(points, s.lo+uint64(r.rel))
		}
		points = append(points, s.hi)
	}
	body := u.body()
	for kind := range body.functions {
		x := body.indexFunctions(kind)
		for _, s := range x.spans {
			points = append(points, s.lo, s.hi)
		}
		for i := range x.functions {
			t := body.treeOf(&x.functions[i])
			for _, r := range t.ranges {
				points = append(points, t.base+uint64(r.lo), t.base+uint64(r.hi))
			}
		}
	}
	slices.Sort(points)
	points = slices.Compact(points)
	w.points[u] = points
	return points
}

// sharedSymbols are the addresses at which functions of several names begin.
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
	type begin struct {
		addr uint64
		name uint32
	}
	var all []begin
	t.each(&span{0, ^uint64(0)}, func(s *symbol) {
		if _, info := t.entryAddr(t.raw[int(s.index)*t.entrySize():]); elf.SymType(info&15) == elf.STT_FUNC {
			all = append(all, begin{s.addr, s.name})
		}
	}, func(fileSymbol) {})
	slices.SortFunc(all, func(a, b begin) int { return cmp.Compare(a.addr, b.addr) })
	shared := make(map[uint64]bool)
	for i := 1; i < len(all); i++ {
		if all[i].addr == all[i-1].addr && !bytes.Equal(t.str(all[i].name), t.str(all[i-1].name)) {
			shared[all[i].addr] = true
		}
	}
	return shared
}
