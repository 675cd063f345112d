package filter

import "slices"

// llvmMaps are mappings by where they start; none starts twice. They lie in blocks of bounded length, so that one that goes in
// anywhere moves few.
type llvmMaps struct {
	starts []uint64 // of the first one in each block
	blocks [][]*llvmMap
	spare  []*llvmMap // memory for the first block
}

// llvmPlace is that of a mapping.
type llvmPlace struct{ block, at int }

// before is the place before all mappings.
var before = llvmPlace{0, -1}

// llvmMapsBlock is the length at which a block is split.
const llvmMapsBlock = 512

// reset forgets all.
func (t *llvmMaps) reset() {
	if len(t.blocks) > 0 {
		t.spare = t.blocks[0][:0]
	}
	clear(t.blocks)
	t.starts, t.blocks = t.starts[:0], t.blocks[:0]
}

// floor returns the place of the last mapping that starts at addr or before.
func (t *llvmMaps) floor(addr uint64) llvmPlace {
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
	return llvmPlace{b, lo - 1}
}

// get returns the mapping at a place; nil where there is none.
func (t *llvmMaps) get(p llvmPlace) *llvmMap {
	if p.at < 0 || p.block >= len(t.blocks) {
		return nil
	}
	return t.blocks[p.block][p.at]
}

// previous returns the place before one.
func (t *llvmMaps) previous(p llvmPlace) llvmPlace {
	if p.at > 0 {
		return llvmPlace{p.block, p.at - 1}
	}
	if p.block > 0 {
		return llvmPlace{p.block - 1, len(t.blocks[p.block-1]) - 1}
	}
	return before
}

// next returns the place behind one, which may have no mapping.
func (t *llvmMaps) next(p llvmPlace) llvmPlace {
	if p.block < len(t.blocks) && p.at+1 < len(t.blocks[p.block]) {
		return llvmPlace{p.block, p.at + 1}
	}
	return llvmPlace{p.block + 1, 0}
}

// insert puts a mapping in behind a place, and gives its own.
func (t *llvmMaps) insert(behind llvmPlace, m *llvmMap) llvmPlace {
	if len(t.blocks) == 0 {
		t.starts, t.blocks = append(t.starts, m.start), append(t.blocks, append(t.spare, m))
		t.spare = nil
		return llvmPlace{}
	}
	b, i := behind.block, behind.at+1
	block := append(t.blocks[b], m)
	if i < len(block)-1 {
		copy(block[i+1:], block[i:])
		block[i] = m
	}
	t.blocks[b], t.starts[b] = block, block[0].start
	if len(block) < llvmMapsBlock {
		return llvmPlace{b, i}
	}
	half := llvmMapsBlock / 2
	if i == llvmMapsBlock-1 { // as when they ascend
		half = i
	}
	second := append(make([]*llvmMap, 0, llvmMapsBlock), block[half:]...)
	clear(block[half:])
	t.blocks[b] = block[:half]
	t.blocks, t.starts = slices.Insert(t.blocks, b+1, second), slices.Insert(t.starts, b+1, second[0].start)
	if i < half {
		return llvmPlace{b, i}
	}
	return llvmPlace{b + 1, i - half}
}
