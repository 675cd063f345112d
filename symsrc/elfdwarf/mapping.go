package elfdwarf

import (
	"cmp"
	"debug/elf"
	"qss-filter/symsrc/bin"
	"slices"
	"sync"
)

// mappings tell where code of one instruction set, or data, begins: the symbols $a, $t and $d (ELF for the Arm
// Architecture, "Mapping symbols"). They are read when first asked for.
type mappings struct {
	once   sync.Once
	sorted []mapping
}

// mapping says what is at an address, up to the next mapping: 'a' for ARM code, 't' for Thumb code, 'd' for data.
type mapping struct {
	addr uint64
	kind byte
}

// instructionSet is the kind of what is at an address of an ARM file; 0 where the file does not tell.
func (f *code) instructionSet(addr uint64) byte {
	f.modes.once.Do(func() {
		if t := f.symtab(); t != nil {
			f.modes.sorted = t.mappings()
		}
	})
	i, found := slices.BinarySearchFunc(f.modes.sorted, addr, func(m mapping, addr uint64) int { return cmp.Compare(m.addr, addr) })
	if !found {
		i--
	}
	if i < 0 {
		return 0
	}
	return f.modes.sorted[i].kind
}

// mappings lists the mapping symbols. Several at one address say the same.
func (t *symbolTable) mappings() (all []mapping) {
	size := t.entrySize()
	for b := t.raw; len(b) >= size; b = b[size:] {
		addr, info := t.entryAddr(b)
		if elf.SymType(info&15) != elf.STT_NOTYPE || elf.SymBind(info>>4) != elf.STB_LOCAL {
			continue
		}
		name, _ := bin.Uint(b, 0, 4, t.big)
		if name+1 >= uint64(len(t.names)) || t.names[name] != '$' {
			continue
		}
		switch kind := t.names[name+1]; kind {
		case 'a', 't', 'd':
			all = append(all, mapping{addr, kind})
		}
	}
	slices.SortFunc(all, func(a, b mapping) int { return cmp.Or(cmp.Compare(a.addr, b.addr), cmp.Compare(a.kind, b.kind)) })
	return slices.CompactFunc(all, func(a, b mapping) bool { return a.addr == b.addr })
}
