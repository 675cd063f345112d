package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sync/atomic"

	"qss-filter/symsrc/names"
)

// symbolIndex holds the symbols of a table by address, one for each: what else is known of them is read in the table.
type symbolIndex struct {
	addrs   []uint64
	entries []uint32 // their numbers in the table
}

// at returns the place of the nearest symbol at or below an address, or −1.
func (x *symbolIndex) at(addr uint64) int {
	i, j := 0, len(x.addrs)
	for i < j {
		if h := int(uint(i+j) >> 1); x.addrs[h] <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	return i - 1
}

// What a symbol takes to be sorted, in steps, and in memory, in bytes.
const stepsPerSymbol, symbolWeight = 16, 24

// sort orders the symbols for binary search. Of several at one address the largest is kept, then the last in the table.
func (t *SymbolTable) sort() {
	n := len(t.raw) / t.entrySize()
	t.table.Budget.Spend(n * stepsPerSymbol)
	t.table.Budget.Hold(n * symbolWeight)
	all := make([]addressed, 0, n)
	t.each(&Span{0, ^uint64(0)}, func(s *symbol) { all = append(all, addressed{s.addr, s.index}) },
		func(f fileSymbol) { t.files = append(t.files, f) })
	all = byAddress(all)
	n = 0
	for i := range all {
		if i > 0 && all[i].addr != all[i-1].addr {
			n++
		}
		if i == 0 || all[n].addr != all[i].addr || t.size(all[i].entry) >= t.size(all[n].entry) {
			all[n] = all[i]
		}
	}
	if len(all) > 0 {
		n++
	}
	t.sorted = symbolIndex{make([]uint64, n), make([]uint32, n)}
	for i, s := range all[:n] {
		t.sorted.addrs[i], t.sorted.entries[i] = s.addr, s.entry
	}
	t.cache = make([]uint32, n)
}

// size returns that of the symbol of a number.
func (t *rawSymbols) size(entry uint32) uint64 {
	var s symbol
	t.entry(t.raw[int(entry)*t.entrySize():], &s)
	return s.size
}

// addressed is a symbol to be sorted.
type addressed struct {
	addr  uint64
	entry uint32
}

// byAddress sorts by address, and leaves those with the same one in their order. It sorts by one byte of the address after
// the other, the lowest one first; those bytes that all have in common cost nothing.
func byAddress(all []addressed) []addressed {
	var counts [8][256]uint32
	for i := range all {
		for k, a := 0, all[i].addr; k < 8; k, a = k+1, a>>8 {
			counts[k][a&0xff]++
		}
	}
	var out []addressed
	for k := range counts {
		next, used := &counts[k], 0
		start := uint32(0)
		for digit, n := range next {
			next[digit] = start
			if start += n; n > 0 {
				used++
			}
		}
		if used < 2 {
			continue
		}
		if out == nil {
			out = make([]addressed, len(all))
		}
		for i := range all {
			digit := byte(all[i].addr >> (8 * k))
			out[next[digit]] = all[i]
			next[digit]++
		}
		all, out = out, all
	}
	return all
}

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

// At finds the symbol that covers the address: the nearest one at or below it. One without a size goes on to the next
// or to the end of its section; one that ends before the address leaves it without a name.
func (t *SymbolTable) At(addr uint64) (c Match, ok bool) {
	if !t.touched.Load() && t.touched.CompareAndSwap(false, true) {
		return t.scan(addr)
	}
	t.once.Do(t.sort)
	i := t.sorted.at(addr)
	if i < 0 {
		return c, false
	}
	s := symbol{addr: t.sorted.addrs[i], index: t.sorted.entries[i]}
	b := t.raw[int(s.index)*t.entrySize():]
	s.limit = t.sectionEnd(t.entry(b, &s), int(s.index))
	if !t.covers(&s, addr) {
		return c, false
	}
	c.Start, c.Sized = s.addr, s.size > 0
	number := atomic.LoadUint32(&t.cache[i])
	if number == 0 {
		number = t.nameOf(&s)
		atomic.StoreUint32(&t.cache[i], number)
	}
	c.Name = t.table.At(number)
	if _, info := t.entryAddr(b); elf.SymBind(info>>4) == elf.STB_LOCAL {
		k, _ := slices.BinarySearchFunc(t.files, s.index, func(f fileSymbol, index uint32) int { return cmp.Compare(f.index, index) })
		if k > 0 {
			c.File = t.str(t.files[k-1].name)
		}
	}
	return c, true
}

// scan does at's work without a sorted table.
func (t *SymbolTable) scan(addr uint64) (c Match, ok bool) {
	var best symbol
	var file, bestFile fileSymbol
	window := Span{0, addr}
	t.each(&window, func(s *symbol) {
		if s.addr <= addr && (best.index == 0 || s.addr > best.addr || s.addr == best.addr && s.size >= best.size) {
			best, bestFile = *s, file
			window.Lo = s.addr
		}
	}, func(f fileSymbol) { file = f })
	if best.index == 0 || !t.covers(&best, addr) {
		return c, false
	}
	c = Match{Name: t.table.At(t.nameOf(&best)), Start: best.addr, Sized: best.size > 0}
	if best.local && bestFile.index != 0 {
		c.File = t.str(bestFile.name)
	}
	return c, true
}

// covers reports whether a symbol at or below the address reaches it.
func (t *rawSymbols) covers(s *symbol, addr uint64) bool {
	if s.size == 0 {
		return (addr < s.limit || t.endless) && !t.opd.lost()
	}
	return addr-s.addr < s.size
}

func (t *SymbolTable) nameOf(s *symbol) uint32 { return t.table.Find(t.str(s.name)) }

// Match is what a symbol says of an address.
type Match struct {
	Name  *names.Name
	Start uint64 // of the symbol
	Sized bool   // the symbol has a size, so that it is known to reach the address
	File  []byte // of a local symbol
}
