package elfdwarf

import (
	"debug/elf"
	"slices"
)

// apply makes the linkage what the rules say.
func (f *image) apply(by rules) {
	f.linkage.zeroCode = f.linkage.zeroCode || by.zeroCode
	for i := range f.sections {
		if s := &f.sections[i]; by.unplaced && f.typ == elf.ET_REL && s.addr >= firstPlaced && s.flags&elf.SHF_ALLOC != 0 {
			f.starts = append(f.starts, s.addr)
		}
	}
}

// unplaced counts addresses that were placed in sections from these on.
func (f *linkage) unplaced(s span) span {
	if f.starts == nil || s.lo < firstPlaced {
		return s
	}
	i, found := slices.BinarySearch(f.starts, s.lo)
	if !found {
		i--
	}
	return span{s.lo - f.starts[i], s.hi - f.starts[i]}
}
