package ctxstate

import "slices"

// ranges holds mappings that do not overlap, in the order of their addresses. They lie in blocks of bounded length, so that
// an insertion anywhere moves little; a look-up is a search among the blocks and one in a block.
type ranges struct {
	starts []uint64 // the first address of each block
	blocks [][]entry
	n      int
	weight int     // of all mappings
	spare  []entry // memory for the first block
}

// entry repeats the mapping's first address, so that a search stays within the block.
type entry struct {
	start uint64
	*Mapping
}

// blockLen is the length that a block is split at.
const blockLen = 256

func (r *ranges) len() int { return r.n }

// find returns the mapping that covers addr, or nil.
func (r *ranges) find(addr uint64) *Mapping {
	b, i := r.locate(addr)
	if i < 0 || r.blocks[b][i].Last < addr {
		return nil
	}
	return r.blocks[b][i].Mapping
}

// locate returns the place of the last mapping that starts at or before addr; i is -1 where there is none.
func (r *ranges) locate(addr uint64) (b, i int) {
	lo, hi := 0, len(r.starts)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); r.starts[mid] <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b = lo - 1
	if b < 0 {
		return 0, -1
	}
	block := r.blocks[b]
	lo, hi = 1, len(block)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); block[mid].start <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return b, lo - 1
}

// overlaps reports whether any mapping has an address of start…last.
func (r *ranges) overlaps(start, last uint64) bool {
	b, i := r.locate(last)
	return i >= 0 && r.blocks[b][i].Last >= start
}

// addFree puts m in if nothing is said of its addresses yet, and tells whether it did.
func (r *ranges) addFree(m *Mapping) bool {
	b, i := r.locate(m.Start)
	if i >= 0 && r.blocks[b][i].Last >= m.Start {
		return false
	}
	if len(r.blocks) > 0 {
		if block := r.blocks[b]; i+1 < len(block) && block[i+1].start <= m.Last || i+1 == len(block) && b+1 < len(r.starts) && r.starts[b+1] <= m.Last {
			return false
		}
	}
	r.insertAt(m, b, i+1)
	return true
}

// reset forgets all.
func (r *ranges) reset() {
	if len(r.blocks) > 0 {
		r.spare = r.blocks[0][:0]
	}
	clear(r.blocks)
	r.starts, r.blocks, r.n, r.weight = r.starts[:0], r.blocks[:0], 0, 0
}

// add puts m in, in place of what is said of its addresses.
func (r *ranges) add(m *Mapping) {
	r.clear(m.Start, m.Last)
	r.insert(m)
}

// clear takes the addresses start…last out of all mappings. A mapping that reaches beyond them is replaced by what is left
// of it, on one side or on both.
func (r *ranges) clear(start, last uint64) {
	for {
		b, i := r.locate(last)
		if i < 0 || r.blocks[b][i].Last < start {
			return
		}
		old := r.blocks[b][i].Mapping
		r.remove(b, i)
		if old.Last > last {
			right := *old
			right.Start, right.Rel = last+1, old.ModuleAddr(last+1)
			r.insert(&right)
		}
		if old.Start < start {
			left := *old
			left.Last = start - 1
			r.insert(&left)
			return
		}
	}
}

func (r *ranges) insert(m *Mapping) {
	b, i := r.locate(m.Start)
	r.insertAt(m, b, i+1)
}

// insertAt puts m in at its place.
func (r *ranges) insertAt(m *Mapping, b, i int) {
	r.n++
	r.weight += m.Module.weight()
	e := entry{m.Start, m}
	if len(r.blocks) == 0 {
		r.starts, r.blocks = append(r.starts, m.Start), append(r.blocks, append(r.spare, e))
		r.spare = nil
		return
	}
	block := append(r.blocks[b], e)
	if i < len(block)-1 {
		copy(block[i+1:], block[i:])
		block[i] = e
	}
	r.blocks[b], r.starts[b] = block, block[0].start
	if len(block) == blockLen {
		r.split(b, i)
	}
}

// split makes two blocks of a full one in which the entry at was put in last. Where that was at the end, as when addresses
// ascend, the first block stays nearly full.
func (r *ranges) split(b, at int) {
	half := blockLen / 2
	if at == blockLen-1 {
		half = at
	}
	block := r.blocks[b]
	second := append(make([]entry, 0, blockLen), block[half:]...)
	clear(block[half:])
	r.blocks[b] = block[:half]
	r.blocks = slices.Insert(r.blocks, b+1, second)
	r.starts = slices.Insert(r.starts, b+1, second[0].start)
}

func (r *ranges) remove(b, i int) {
	r.n--
	r.weight -= r.blocks[b][i].Module.weight()
	r.blocks[b] = slices.Delete(r.blocks[b], i, i+1)
	if len(r.blocks[b]) > 0 {
		r.starts[b] = r.blocks[b][0].start
		return
	}
	r.blocks = slices.Delete(r.blocks, b, b+1)
	r.starts = slices.Delete(r.starts, b, b+1)
}

// dropListed takes out what is left of a list of mappings, which lies within first…last.
func (r *ranges) dropListed(first, last uint64) {
	b, _ := r.locate(first)
	for b < len(r.blocks) && r.starts[b] <= last {
		for i := len(r.blocks[b]) - 1; i >= 0; i-- {
			if r.blocks[b][i].listed {
				r.n--
				r.weight -= r.blocks[b][i].Module.weight()
			}
		}
		block := slices.DeleteFunc(r.blocks[b], func(e entry) bool { return e.listed })
		if len(block) == 0 {
			r.blocks, r.starts = slices.Delete(r.blocks, b, b+1), slices.Delete(r.starts, b, b+1)
			continue
		}
		r.blocks[b], r.starts[b] = block, block[0].start
		b++
	}
}

// all lists the mappings in order.
func (r *ranges) all() []*Mapping {
	out := make([]*Mapping, 0, r.n)
	for _, block := range r.blocks {
		for _, e := range block {
			out = append(out, e.Mapping)
		}
	}
	return out
}

// forgetOlderHalf keeps the half of the mappings that were added last. Parts of one mapping are of one age.
func (r *ranges) forgetOlderHalf() {
	kept := r.all()
	ages := make([]uint64, len(kept))
	for i, m := range kept {
		ages[i] = m.age
	}
	slices.Sort(ages)
	oldest := ages[len(ages)/2]
	if oldest == ages[0] {
		oldest++ // one mapping cut to pieces is the better half
	}
	*r = ranges{}
	for _, m := range kept {
		if m.age >= oldest {
			r.insert(m)
		}
	}
}
