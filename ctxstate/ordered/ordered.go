// Package ordered implements a sorted table of values by unique keys, such as mappings by their start addresses. The values are in blocks
// of bounded length, so that an insertion moves few of them; a lookup is a binary search for the block and one in the block.
package ordered

import "slices"

// Table holds values sorted by unique keys. The zero Table is empty and ready for use.
type Table[V any] struct {
	starts []uint64 // the first key of each block
	blocks [][]entry[V]
	n      int
	spare  []entry[V] // memory for the first block
}

// entry has the key in addition to the value, so that a search reads only the block.
type entry[V any] struct {
	key   uint64
	value V
}

// blockLen is the length at which a block is split.
const blockLen = 256

// Place is the position of a value. It is valid until the table changes.
type Place struct{ block, at int }

// Before is the position before the first value.
var Before = Place{0, -1}

// Len returns the number of values.
func (t *Table[V]) Len() int { return t.n }

// Reset removes all values. It keeps the memory of one block.
func (t *Table[V]) Reset() {
	if len(t.blocks) > 0 {
		clear(t.blocks[0])
		t.spare = t.blocks[0][:0]
	}
	clear(t.blocks)
	t.starts, t.blocks, t.n = t.starts[:0], t.blocks[:0], 0
}

// Floor returns the place of the last value whose key is at most key, or Before if there is none.
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

// Get returns the value at a place, or the zero value if there is none.
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

// Next returns the place after p, which may be after the last value.
func (t *Table[V]) Next(p Place) Place {
	if p.block < len(t.blocks) && p.at+1 < len(t.blocks[p.block]) {
		return Place{p.block, p.at + 1}
	}
	return Place{p.block + 1, 0}
}

// Insert inserts a value after a place, which must be the Floor of its key, and returns its place.
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
	if i == blockLen-1 { // for ascending keys, the first block should stay nearly full
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
	t.setBlock(p.block, slices.Delete(t.blocks[p.block], p.at, p.at+1))
}

// setBlock sets the entries of block b after a deletion. It removes the block if there are none, and reports whether there are any.
func (t *Table[V]) setBlock(b int, rest []entry[V]) bool {
	if len(rest) > 0 {
		t.blocks[b], t.starts[b] = rest, rest[0].key
		return true
	}
	t.blocks, t.starts = slices.Delete(t.blocks, b, b+1), slices.Delete(t.starts, b, b+1)
	return false
}

// DeleteFunc removes the values for which del returns true. It calls del for all values with keys from first to last, and for others in
// the same blocks.
func (t *Table[V]) DeleteFunc(first, last uint64, del func(V) bool) {
	b := t.Floor(first).block
	for b < len(t.blocks) && t.starts[b] <= last {
		block := t.blocks[b]
		rest := slices.DeleteFunc(block, func(e entry[V]) bool { return del(e.value) })
		t.n -= len(block) - len(rest)
		if t.setBlock(b, rest) {
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
