// Package ordered keeps values in the order of their keys, such as mappings by where they start. They lie in blocks of bounded length,
// so that an insertion anywhere moves few; a look-up is a search among the blocks and one in a block.
package ordered

import "slices"

// Table holds values by keys, of which none comes twice. The zero Table is empty and ready for use.
type Table[V any] struct {
	starts []uint64 // the first key of each block
	blocks [][]entry[V]
	n      int
	spare  []entry[V] // memory for the first block
}

// entry has the key beside the value, so that a search stays within the block.
type entry[V any] struct {
	key   uint64
	value V
}

// blockLen is the length at which a block is split.
const blockLen = 256

// Place is where a value is. It is good until the table changes.
type Place struct{ block, at int }

// Before is the place before all values.
var Before = Place{0, -1}

// Len returns how many values there are.
func (t *Table[V]) Len() int { return t.n }

// Reset removes all values. Memory is kept for the next ones.
func (t *Table[V]) Reset() {
	if len(t.blocks) > 0 {
		clear(t.blocks[0])
		t.spare = t.blocks[0][:0]
	}
	clear(t.blocks)
	t.starts, t.blocks, t.n = t.starts[:0], t.blocks[:0], 0
}

// Floor returns the place of the last value whose key is at most key, Before if there is none.
func (t *Table[V]) Floor(key uint64) Place {
	lo, hi := 0, len(t.starts)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.starts[mid] <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b := lo - 1
	if b < 0 {
		return Before
	}
	block := t.blocks[b]
	lo, hi = 1, len(block)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); block[mid].key <= key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return Place{b, lo - 1}
}

// Get returns the value at a place, the zero value if there is none.
func (t *Table[V]) Get(p Place) (v V) {
	if p.at < 0 || p.block >= len(t.blocks) {
		return v
	}
	return t.blocks[p.block][p.at].value
}

// Previous returns the place before p.
func (t *Table[V]) Previous(p Place) Place {
	if p.at > 0 {
		return Place{p.block, p.at - 1}
	}
	if p.block > 0 {
		return Place{p.block - 1, len(t.blocks[p.block-1]) - 1}
	}
	return Before
}

// Next returns the place after p, which may hold no value.
func (t *Table[V]) Next(p Place) Place {
	if p.block < len(t.blocks) && p.at+1 < len(t.blocks[p.block]) {
		return Place{p.block, p.at + 1}
	}
	return Place{p.block + 1, 0}
}

// Insert puts a value in after a place, which is the Floor of its key, and returns its own.
func (t *Table[V]) Insert(after Place, key uint64, v V) Place {
	t.n++
	e := entry[V]{key, v}
	if len(t.blocks) == 0 {
		t.starts, t.blocks = append(t.starts, key), append(t.blocks, append(t.spare, e))
		t.spare = nil
		return Place{}
	}
	b, i := after.block, after.at+1
	block := append(t.blocks[b], e)
	if i < len(block)-1 {
		copy(block[i+1:], block[i:])
		block[i] = e
	}
	t.blocks[b], t.starts[b] = block, block[0].key
	if len(block) < blockLen {
		return Place{b, i}
	}
	half := blockLen / 2
	if i == blockLen-1 { // as when keys ascend: then the first block stays nearly full
		half = i
	}
	second := append(make([]entry[V], 0, blockLen), block[half:]...)
	clear(block[half:])
	t.blocks[b] = block[:half]
	t.blocks, t.starts = slices.Insert(t.blocks, b+1, second), slices.Insert(t.starts, b+1, second[0].key)
	if i < half {
		return Place{b, i}
	}
	return Place{b + 1, i - half}
}

// Remove removes the value at a place, which must hold one.
func (t *Table[V]) Remove(p Place) {
	t.n--
	t.settle(p.block, slices.Delete(t.blocks[p.block], p.at, p.at+1))
}

// settle makes a block what is left of it, and reports whether anything is.
func (t *Table[V]) settle(b int, left []entry[V]) bool {
	if len(left) > 0 {
		t.blocks[b], t.starts[b] = left, left[0].key
		return true
	}
	t.blocks, t.starts = slices.Delete(t.blocks, b, b+1), slices.Delete(t.starts, b, b+1)
	return false
}

// DeleteFunc removes the values for which del is true, of those with keys in about first to last: whole blocks are looked at.
func (t *Table[V]) DeleteFunc(first, last uint64, del func(V) bool) {
	b := t.Floor(first).block
	for b < len(t.blocks) && t.starts[b] <= last {
		block := t.blocks[b]
		left := slices.DeleteFunc(block, func(e entry[V]) bool { return del(e.value) })
		t.n -= len(block) - len(left)
		if t.settle(b, left) {
			b++
		}
	}
}

// All returns the values in the order of their keys.
func (t *Table[V]) All() []V {
	out := make([]V, 0, t.n)
	for _, block := range t.blocks {
		for _, e := range block {
			out = append(out, e.value)
		}
	}
	return out
}
