package dwarf

import (
	"cmp"
	stdelf "debug/elf"
	"math/bits"
	"slices"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// resolveOverlaps makes ranges disjoint, which come in the file's order, as llvm does where they lie over each other: each is cut out of the
// one that is at its start, which goes on after it.
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

// addressMapWeight is what a range takes while ranges are divided, with the two addresses at which code may begin there, in bytes.
const addressMapWeight = 160

// entrySpan is a range of the function, or the inlined call, whose entry is at die.
type entrySpan struct {
	functionSpan
	die int
}

// entriesOf returns the ranges of all functions and calls, in the file's order.
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

// addressMap holds code by the addresses at which it begins. All addresses are known before, and have numbers.
type addressMap struct {
	starts   []uint64       // the addresses, sorted
	spans    []functionSpan // what begins at each; its lo is not used
	occupied [][]uint64     // a bit for each address at which something begins; then one for each word with such a bit, and so on
}

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

func (p *addressMap) set(i int, s functionSpan) {
	p.spans[i] = s
	for _, words := range p.occupied {
		words[i/64] |= 1 << (i % 64)
		i /= 64
	}
}

// before returns the highest number up to i that is in use, or −1.
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

// disjoint returns disjoint ranges: what begins hides what began before it.
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

// overlaps reports whether functions may lie over each other in the unit, as far as that is to be seen. low is set where one begins where
// linkers put what they drop.
func (u *Unit) overlaps(tombstone bool) bool {
	return u.f.rules.Overlaps && (tombstone || u.skeleton().f.elf.Type == stdelf.ET_REL)
}
