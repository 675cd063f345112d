package dwarf

import (
	"cmp"
	stdelf "debug/elf"
	"math/bits"
	"slices"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// resolveOverlaps makes ranges disjoint as llvm does (DWARFUnit::updateAddressDieMap). The ranges are in file order. Each one is cut
// out of the range that covers its start, which continues after it.
func resolveOverlaps(all []entrySpan, limits *budget.File) []functionSpan {
	limits.Hold(len(all) * addressMapWeight)
	limits.Spend(len(all) * stepsPerOverlap)
	var p addressMap
	for _, e := range all {
		p.starts = append(p.starts, e.Lo, e.Hi)
	}
	slices.Sort(p.starts)
	p.starts = slices.Compact(p.starts)
	p.spans = make([]functionSpan, len(p.starts))
	for n := len(p.starts); len(p.occupied) == 0 || n > 1; {
		n = n/64 + 1
		p.occupied = append(p.occupied, make([]uint64, n))
	}
	for _, e := range all {
		p.add(e.functionSpan)
	}
	return p.disjoint()
}

// addressMapWeight is the memory, in bytes, of a range while overlaps are resolved, including its two start addresses.
const addressMapWeight = 160

// entrySpan is a range of the function or the inlined call whose entry is at die.
type entrySpan struct {
	functionSpan
	die int
}

// entriesOf returns the ranges of all functions and inlined calls, in file order.
func (u *Unit) entriesOf(x *functionIndex) (all []entrySpan) {
	kept := budget.Tally{Of: u.f.budget}
	for _, s := range x.spans {
		s.call = -1
		all = append(all, entrySpan{s, x.functions[s.function].die})
	}
	for i := range x.functions {
		var dies []int
		t := u.readTree(&x.functions[i], &dies)
		for k, c := range t.calls {
			for _, r := range t.ranges[c.first : c.first+c.n] {
				if r.lo < r.hi {
					kept.Add(1, spanWeight)
					in := elf.Span{Lo: t.base + uint64(r.lo), Hi: t.base + uint64(r.hi)}
					all = append(all, entrySpan{functionSpan{in, int32(i), int32(k + 1)}, dies[k]})
				}
			}
		}
	}
	kept.Flush()
	slices.SortStableFunc(all, func(a, b entrySpan) int { return cmp.Compare(a.die, b.die) })
	return all
}

// addressMap maps start addresses to ranges. All possible start addresses are known in advance; maps and bits are indexed by their
// position in starts.
type addressMap struct {
	starts   []uint64       // sorted
	spans    []functionSpan // the range at each start; its Lo is not used
	occupied [][]uint64     // level 0 has a bit for each start with a range, each further level one for each nonzero word of the level before
}

// add adds a range, which cuts the range that covers its start.
func (p *addressMap) add(s functionSpan) {
	i, _ := slices.BinarySearch(p.starts, s.Lo)
	if k := p.before(i); k >= 0 && s.Lo < p.spans[k].Hi {
		if around := p.spans[k]; s.Hi < around.Hi {
			end, _ := slices.BinarySearch(p.starts, s.Hi)
			p.set(end, around)
		}
		if k < i {
			p.spans[k].Hi = s.Lo
		}
	}
	p.set(i, s)
}

// set sets the range at start i.
func (p *addressMap) set(i int, s functionSpan) {
	p.spans[i] = s
	for _, words := range p.occupied {
		words[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

// before returns the largest index up to i that has a range, or −1.
func (p *addressMap) before(i int) int {
	for level := 0; level < len(p.occupied) && i >= 0; level++ {
		word := p.occupied[level][i/64] << (63 - i%64)
		if word == 0 {
			i = i/64 - 1
			continue
		}
		for i -= bits.LeadingZeros64(word); level > 0; level-- {
			i = i*64 + 63 - bits.LeadingZeros64(p.occupied[level-1][i])
		}
		return i
	}
	return -1
}

// disjoint returns the ranges, sorted. Each one ends at the latest where the next one begins.
func (p *addressMap) disjoint() (out []functionSpan) {
	for i := range p.starts {
		if p.occupied[0][i/64]>>(i%64)&1 == 0 {
			continue
		}
		s := p.spans[i]
		s.Lo = p.starts[i]
		if n := len(out) - 1; n >= 0 {
			out[n].Hi = min(out[n].Hi, s.Lo)
		}
		out = append(out, s)
	}
	return out
}

// overlaps reports whether overlaps in the unit are to be resolved. tombstone is set if a range begins where linkers move discarded
// code: such ranges overlap, as the sections of a relocatable file do.
func (u *Unit) overlaps(tombstone bool) bool {
	return u.f.rules.Overlaps && (tombstone || u.skeleton().f.elf.Type == stdelf.ET_REL)
}

// withoutDiscarded cuts the ranges that begin where linkers move discarded code, in a file that has code there. Code that is really
// there ends before any other range begins. If several owners have such a range, nothing says whose code it is, and it removes all of
// them. of returns the range and the owner of an item.
func withoutDiscarded[T any](in *elf.Addressing, all []T, of func(*T) (*elf.Span, int)) []T {
	if !in.IsDoubtful(0) {
		return all
	}
	next, owner, owners := ^uint64(0), 0, 0
	for i := range all {
		switch s, own := of(&all[i]); {
		case !in.IsDoubtful(s.Lo):
			next = min(next, s.Lo)
		case owners == 0 || own != owner:
			owner = own
			owners++
		}
	}
	if owners == 0 {
		return all
	}
	n := 0
	for i := range all {
		if s, _ := of(&all[i]); in.IsDoubtful(s.Lo) {
			if owners > 1 {
				continue
			}
			s.Hi = min(s.Hi, next)
		}
		all[n] = all[i]
		n++
	}
	return all[:n]
}
