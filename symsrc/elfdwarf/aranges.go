package elfdwarf

import (
	"cmp"
	"container/heap"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"slices"
	"sync"
	"sync/atomic"
)

// arange says that a unit covers some addresses.
type arange struct {
	span
	unit int // its position in .debug_info
}

// What a range takes in memory, and one that lies over others while they are made disjoint, in bytes.
const arangeWeight, overlapWeight = 40, 120

// rangeTable finds the unit of an address among ranges that are read once. The first address is looked for as they are;
// the second one sorts them.
type rangeTable struct {
	read, settled sync.Once
	touched       atomic.Bool
	ready         atomic.Bool // they are settled
	mu            sync.Mutex  // held while the ranges are sorted, or searched as they are
	ranges        []arange
	units         []atomic.Pointer[unit] // of ranges, as far as asked for
}

// alone is the only unit that covers the address; false where there is none, or more of them.
func (t *rangeTable) alone(addr uint64) (unit int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.ranges {
		if a := &t.ranges[i]; a.covers(addr) {
			if ok && a.unit != unit {
				return 0, false
			}
			unit, ok = a.unit, true
		}
	}
	return unit, ok
}

// settle sorts the ranges.
func (t *rangeTable) settle(left *budget.File) {
	t.settled.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.ranges = settle(t.ranges, left)
		t.units = make([]atomic.Pointer[unit], len(t.ranges))
		t.ready.Store(true)
	})
}

// unitOf is the unit that covers the address, which is nil where it cannot be read; false where none covers it.
func (t *rangeTable) unitOf(f *Data, addr uint64) (*unit, bool) {
	t.settle(f.budget)
	i := t.search(addr)
	if i < 0 {
		return nil, false
	}
	u := t.units[i].Load()
	if u == nil {
		u = f.unitAt(t.ranges[i].unit)
		t.units[i].Store(u)
	}
	return u, true
}

// unitFor is the unit that covers the address; nil where none does. The first address of a file is looked for without
// building a table.
func (f *Data) unitFor(addr uint64) *unit {
	if f.info.size == 0 {
		return nil
	}
	if !f.aranges.touched.Load() && f.aranges.touched.CompareAndSwap(false, true) {
		found, n := 0, 0
		f.readAranges(func(a arange) {
			if a.covers(addr) && (n == 0 || a.unit != found) {
				found = a.unit
				n++
			}
		}, nil)
		if n == 1 {
			return f.unitAt(found)
		}
	}
	f.ahead()
	f.aranges.read.Do(func() {
		f.aranges.ranges = make([]arange, 0, f.arangeSets.size/16)
		kept := budget.Tally{Of: f.budget}
		f.readAranges(func(a arange) {
			f.aranges.ranges = append(f.aranges.ranges, a)
			kept.Add(1, arangeWeight)
		}, nil)
		kept.Flush()
	})
	if u, ok := f.aranges.unitOf(f, addr); ok {
		return u
	}
	// .debug_aranges may be missing or cover only some of the units.
	roots := &f.roots
	roots.read.Do(func() { roots.ranges = f.readRoots() })
	if !roots.touched.Load() && roots.touched.CompareAndSwap(false, true) {
		if off, ok := roots.alone(addr); ok {
			return f.unitAt(off)
		}
	}
	u, _ := roots.unitOf(f, addr)
	return u
}

// search is the number of the settled range that covers the address, or −1.
func (t *rangeTable) search(addr uint64) int {
	i, j := 0, len(t.ranges)
	for i < j {
		if h := int(uint(i+j) >> 1); t.ranges[h].lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 || addr >= t.ranges[i-1].hi {
		return -1
	}
	return i - 1
}

// readAranges walks over .debug_aranges (DWARF 5 §6.1.2). It calls each with every range, and unit, where it is given,
// with every unit that has a set.
func (f *Data) readAranges(each func(arange), unit func(int)) {
	b := f.arangeSets.all()
	for off := 0; off < len(b); {
		c := &bin.Cursor{B: b, P: off, Big: f.elf.big}
		n, offSize := c.Length()
		if !c.OK() || n > uint64(len(b)-c.P) {
			return
		}
		end := c.P + int(n)
		c.B = b[:end]
		version := c.U16()
		at := c.Uint(offSize)
		size, segment := int(c.U8()), int(c.U8())
		if !c.OK() || version != 2 || (size != 4 && size != 8) || segment != 0 || at >= uint64(f.info.size) {
			off = end
			continue
		}
		if unit != nil {
			unit(int(at))
		}
		p := off + (c.P-off+2*size-1)/(2*size)*(2*size) // tuples are aligned to their size, from the set's start on
		for p+2*size <= end {
			var lo, length uint64
			lo, p = bin.Uint(b, p, size, f.elf.big)
			length, p = bin.Uint(b, p, size, f.elf.big)
			if lo < lo+length && !f.dead(lo) {
				each(arange{f.unplaced(span{lo, lo + length}), int(at)})
			}
		}
		off = end
	}
}

// settle sorts ranges and makes them disjoint. Where several units cover an address, the one of the range just below
// goes on as long as it can, else the first in the file is taken: llvm's choice.
func settle(all []arange, left *budget.File) []arange {
	slices.SortFunc(all, func(a, b arange) int {
		if a.lo != b.lo {
			return cmp.Compare(a.lo, b.lo)
		}
		return cmp.Compare(a.unit, b.unit)
	})
	var end uint64
	for _, a := range all {
		if a.lo < end {
			left.Hold(len(all) * overlapWeight)
			left.Spend(len(all) * stepsPerOverlap)
			return sweep(all)
		}
		end = a.hi
	}
	return all
}

// stepsPerOverlap are those that it takes to make one of many ranges disjoint.
const stepsPerOverlap = 64

// sweep does settle's work for ranges, sorted by lo, that overlap.
func sweep(all []arange) (out []arange) {
	ends := slices.Clone(all)
	slices.SortFunc(ends, func(a, b arange) int { return cmp.Compare(a.hi, b.hi) })
	active := make(map[int]int) // ranges open at this point, by unit
	var first lowest            // the units of active, and some that are closed
	prev := uint64(0)
	for i, j := 0, 0; j < len(ends); {
		at := ends[j].hi
		if i < len(all) {
			at = min(at, all[i].lo)
		}
		if len(active) > 0 && prev < at {
			n := len(out)
			if n > 0 && out[n-1].hi == prev && active[out[n-1].unit] > 0 {
				out[n-1].hi = at
			} else {
				for active[first[0]] == 0 {
					heap.Pop(&first)
				}
				out = append(out, arange{span{prev, at}, first[0]})
			}
		}
		for ; i < len(all) && all[i].lo == at; i++ {
			if active[all[i].unit]++; active[all[i].unit] == 1 {
				heap.Push(&first, all[i].unit)
			}
		}
		for ; j < len(ends) && ends[j].hi == at; j++ {
			if active[ends[j].unit]--; active[ends[j].unit] == 0 {
				delete(active, ends[j].unit)
			}
		}
		prev = at
	}
	return out
}

// lowest is a heap with the lowest number on top.
type lowest []int

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)        { *h = append(*h, x.(int)) }
func (h *lowest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
