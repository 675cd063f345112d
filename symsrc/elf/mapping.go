package elf

import (
	"cmp"
	"debug/elf"
	"qss-filter/symsrc/bin"
	"slices"
)

// Mapping says what is at an address, up to the next mapping: 'a' for ARM code, 't' for Thumb code, 'd' for data.
type Mapping struct {
	Addr uint64
	Kind byte
}

// Mappings lists the mapping symbols. Several at one address say the same.
func (t *rawSymbols) Mappings() (all []Mapping) {
	size := t.entrySize()
	for b := t.raw; len(b) >= size; b = b[size:] {
		addr, info := t.entryAddr(b)
		if elf.SymType(info&15) != elf.STT_NOTYPE || elf.SymBind(info>>4) != elf.STB_LOCAL {
			continue
		}
		name, _ := bin.Uint(b, 0, 4, t.Big)
		if name+1 >= uint64(len(t.names)) || t.names[name] != '$' {
			continue
		}
		switch kind := t.names[name+1]; kind {
		case 'a', 't', 'd':
			all = append(all, Mapping{addr, kind})
		}
	}
	slices.SortFunc(all, func(a, b Mapping) int { return cmp.Or(cmp.Compare(a.Addr, b.Addr), cmp.Compare(a.Kind, b.Kind)) })
	return slices.CompactFunc(all, func(a, b Mapping) bool { return a.Addr == b.Addr })
}
