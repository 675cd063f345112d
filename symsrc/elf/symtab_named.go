package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// Function looks for a function. unique is false where there are several at different addresses. The first one is looked for in
// the table as it is, the second one makes an index.
func (t *SymbolTable) Function(name string, size uint64) (addr uint64, unique, found bool) {
	n := namedFunction{t: t, want: append([]byte(name), 0), size: size}
	step := t.entrySize()
	if !t.byName.touched.Load() && t.byName.touched.CompareAndSwap(false, true) {
		for b := t.raw; len(b) >= step && n.take(b); b = b[step:] {
		}
		return n.addr, n.unique, n.found
	}
	t.byName.once.Do(func() { t.byName.entries = t.hashNames() })
	hash := hashName([]byte(name))
	all := t.byName.entries
	first, _ := slices.BinarySearchFunc(all, hash, func(e hashedName, hash uint32) int { return cmp.Compare(e.hash, hash) })
	last := first
	for last < len(all) && all[last].hash == hash && n.take(t.raw[int(all[last].entry)*step:]) {
		last++
	}
	t.table.Budget.Answer(last - first)
	return n.addr, n.unique, n.found
}

// namedFunction is a search for a function by its name.
type namedFunction struct {
	t             *SymbolTable
	want          []byte // with a NUL
	size          uint64
	addr          uint64
	unique, found bool
}

// take looks at an entry of the table. It is false where the search is over.
func (n *namedFunction) take(b []byte) bool {
	t := n.t
	var s symbol
	section := t.entry(b, &s)
	if section == 0 || uint64(s.name) >= uint64(len(t.names)) || !bytes.HasPrefix(t.names[s.name:], n.want) {
		return true
	}
	at, info := t.entryAddr(b)
	switch elf.SymType(info & 15) {
	case elf.STT_FUNC, elf.STT_NOTYPE, elf.STT_GNU_IFUNC:
	default:
		return true
	}
	if n.size != 0 && s.size != n.size {
		return true
	}
	if t.opd != nil {
		at = t.opd.code(at)
	}
	if t.Machine == elf.EM_ARM {
		at &^= 1
	}
	if n.found && at != n.addr {
		n.unique = false
		return false
	}
	n.addr, n.unique, n.found = at, true, true
	return true
}

// nameHashes finds the entries of a symbol table by their names.
type nameHashes struct {
	touched atomic.Bool
	once    sync.Once
	entries []hashedName // by hash, then in the table's order
}

// hashedName is an entry of a symbol table, with the hash of its name.
type hashedName struct{ hash, entry uint32 }

// hashedBytes are those of a name that its hash is of.
const hashedBytes = 256

// hashName is the FNV-1a hash of a name.
func hashName(name []byte) uint32 {
	hash := uint32(2166136261)
	for _, c := range name[:min(len(name), hashedBytes)] {
		hash = (hash ^ uint32(c)) * 16777619
	}
	return hash
}

func (t *SymbolTable) hashNames() []hashedName {
	n := len(t.raw) / t.entrySize()
	t.table.Budget.Hold(n * 8)
	kept := budget.Tally{Of: t.table.Budget}
	all := make([]hashedName, n)
	for i := range all {
		off, _ := bin.Uint(t.raw, i*t.entrySize(), 4, t.Big)
		b := t.names[min(off, uint64(len(t.names))):]
		b = b[:min(len(b), hashedBytes)]
		if end := bytes.IndexByte(b, 0); end >= 0 {
			b = b[:end]
		}
		all[i] = hashedName{hashName(b), uint32(i)}
		kept.Add(1+len(b), 0)
	}
	kept.Flush()
	slices.SortFunc(all, func(a, b hashedName) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.entry, b.entry)) })
	return all
}
