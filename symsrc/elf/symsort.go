package elf

// symbolIndex holds the symbols of a table by address, one for each: what else is known of them is read in the table.
type symbolIndex struct {
	addrs   []uint64
	entries []uint32 // their numbers in the table
}

// at is the place of the nearest symbol at or below an address, or −1.
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

// size is that of the symbol of a number.
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
