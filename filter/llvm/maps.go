package llvm

import "slices"

// maps are mappings by where they start; none starts twice. They lie in blocks of bounded length, so that one that goes in
// anywhere moves few.
type maps struct {
	starts []uint64 // of the first one in each block
	blocks [][]*mapping
	spare  []*mapping // memory for the first block
}

// place is that of a mapping.
type place struct{ block, at int }

// before is the place before all mappings.
var before = place{0, -1}

// mapsBlock is the length at which a block is split.
const mapsBlock = 512

// reset forgets all.
func (t *maps) reset() {
	if len(t.blocks) > 0 {
		t.spare = t.blocks[0][:0]
	}
	clear(t.blocks)
	t.starts, t.blocks = t.starts[:0], t.blocks[:0]
}

// floor returns the place of the last mapping that starts at addr or before.
func (t *maps) floor(addr uint64) place {
	lo, hi := 0, len(t.starts)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); t.starts[mid] <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	b := lo - 1
	if b < 0 {
		return before
	}
	block := t.blocks[b]
	lo, hi = 1, len(block)
	for lo < hi {
		if mid := int(uint(lo+hi) >> 1); block[mid].start <= addr {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return place{b, lo - 1}
}

// get returns the mapping at a place; nil where there is none.
func (t *maps) get(p place) *mapping {
	if p.at < 0 || p.block >= len(t.blocks) {
		return nil
	}
	return t.blocks[p.block][p.at]
}

// previous returns the place before one.
func (t *maps) previous(p place) place {
	if p.at > 0 {
		return place{p.block, p.at - 1}
	}
	if p.block > 0 {
		return place{p.block - 1, len(t.blocks[p.block-1]) - 1}
	}
	return before
}

// next returns the place behind one, which may have no mapping.
func (t *maps) next(p place) place {
	if p.block < len(t.blocks) && p.at+1 < len(t.blocks[p.block]) {
		return place{p.block, p.at + 1}
	}
	return place{p.block + 1, 0}
}

// insert puts a mapping in behind a place, and gives its own.
func (t *maps) insert(behind place, m *mapping) place {
	if len(t.blocks) == 0 {
		t.starts, t.blocks = append(t.starts, m.start), append(t.blocks, append(t.spare, m))
		t.spare = nil
		return place{}
	}
	b, i := behind.block, behind.at+1
	block := append(t.blocks[b], m)
	if i < len(block)-1 {
		copy(block[i+1:], block[i:])
		block[i] = m
	}
	t.blocks[b], t.starts[b] = block, block[0].start
	if len(block) < mapsBlock {
		return place{b, i}
	}
	half := mapsBlock / 2
	if i == mapsBlock-1 { // as when they ascend
		half = i
	}
	second := append(make([]*mapping, 0, mapsBlock), block[half:]...)
	clear(block[half:])
	t.blocks[b] = block[:half]
	t.blocks, t.starts = slices.Insert(t.blocks, b+1, second), slices.Insert(t.starts, b+1, second[0].start)
	if i < half {
		return place{b, i}
	}
	return place{b + 1, i - half}
}
