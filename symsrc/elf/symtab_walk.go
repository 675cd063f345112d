package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
)

// Outline calls add with where the symbols begin and end.
func (t *SymbolTable) Outline(add func(...uint64)) {
	t.once.Do(t.sort)
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

// Shared returns the addresses at which functions of several names begin.
func (t *rawSymbols) Shared() map[uint64]bool {
	type begin struct {
		addr uint64
		name uint32
	}
	var all []begin
	t.each(&Span{0, ^uint64(0)}, func(s *symbol) {
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
