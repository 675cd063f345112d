package dwarf

import "qss-filter/symsrc/budget"

// tree holds the calls that were inlined into a function, in the file's order: a call comes before those within it. But
// for the calls' names it does not change. There is a tree for every function that was asked about, so it is compact: its
// slices hold no pointers, and addresses count from base on. Code 4 GiB beyond the function is damage, and not in it.
type tree struct {
	base    uint64
	extents []extent // of the calls, apart from them: most of a search sees nothing else
	calls   []call
	ranges  []shortSpan
}

// shortSpan is a range of addresses that count from a base on.
type shortSpan struct{ lo, hi uint32 }

// extent is what lies around the code of a call and of those within it.
type extent struct {
	shortSpan
	next int32 // the first call behind those within this one
}

// call is a function inlined at a place.
type call struct {
	die       int    // of the inlined function, or of this call where that is unknown
	name      uint32 // its number in the file's table of names, set atomically; 0 until asked for
	parent    int32  // the call that this one is within, or −1
	line      uint32 // where it is called
	first, n  int32  // its ranges
	file, col uint16
}

// maxInlined bounds how deep calls are inlined into each other; a deeper chain is damage.
const maxInlined = 1000

// chain appends the calls that cover the address, the innermost one first, and gives the start of the innermost one's
// range; found is false where no call covers it. It is the last call in the file that counts, and those that it is in.
func (t *tree) chain(addr uint64, out []int32, left *budget.File) (calls []int32, lo uint64, found bool) {
	if addr-t.base > 1<<32-1 {
		return out, 0, false
	}
	at, rel := int32(-1), uint32(addr-t.base)
	extents, steps := t.extents, 0
	for i := 0; i < len(extents); steps++ {
		x := &extents[i]
		if rel-x.lo >= x.hi-x.lo {
			i = int(x.next)
			continue
		}
		c := &t.calls[i]
		steps += int(c.n)
		for _, r := range t.ranges[c.first : c.first+c.n] {
			if rel-r.lo < r.hi-r.lo {
				at, lo = int32(i), t.base+uint64(r.lo)
				break
			}
		}
		i++
	}
	left.Answer(steps)
	n := len(out)
	out = t.around(at, out)
	return out, lo, len(out) > n
}

// around appends a call and those that it is in; nothing where it is −1, or in too many.
func (t *tree) around(at int32, out []int32) []int32 {
	for n := len(out); at >= 0; at = t.calls[at].parent {
		if out = append(out, at); len(out) > maxInlined {
			return out[:n]
		}
	}
	return out
}

// treeOf reads the calls inlined into the function, once.
func (u *Unit) treeOf(f *function) *tree {
	if t := f.tree.Load(); t != nil {
		return t
	}
	t := u.readTree(f, nil)
	if !f.tree.CompareAndSwap(nil, t) {
		return f.tree.Load()
	}
	return t
}

// readTree reads them, and if dies is not nil where the entries of the calls stand.
func (u *Unit) readTree(f *function, dies *[]int) *tree {
	r := treeReaders.Get().(*treeReader)
	defer treeReaders.Put(r)
	*r = treeReader{u: u, b: u.bytes(), dies: dies, kept: budget.Tally{Of: u.f.budget}, calls: r.calls[:0], extents: r.extents[:0], ranges: r.ranges[:0], open: r.open[:0], spans: r.spans[:0]}
	r.read(f.die)
	t := r.tree()
	r.u, r.b, r.dies = nil, nil, nil
	u.f.Touched(mappedAround)
	return t
}

// mappedAround is how much of a file one look into its mapping brings in, about.
const mappedAround = 1 << 15
