package macho

import (
	"cmp"
	stdelf "debug/elf"
	"encoding/binary"
	"slices"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// Fields of n_type (<mach-o/nlist.h>).
const (
	maskStab   = 0xe0
	maskType   = 0x0e
	external   = 0x01
	private    = 0x10 // external in the object only
	inSection  = 0x0e
	thumbDef   = 0x08 // in n_desc
	noSection  = 0
	maxSection = 255
)

// nlist is an entry of the symbol table.
type nlist struct {
	name  uint32 // offset in the strings
	typ   byte
	sect  byte
	desc  uint16
	value uint64
}

// table returns the symbol table and its strings.
func (f *File) table() (entries, strings []byte, err error) {
	t := f.symtab
	if t.count == 0 {
		return nil, nil, nil
	}
	entries, ok := bin.Slice(f.data, uint64(t.offset), uint64(t.count)*f.nlistSize())
	if !ok {
		return nil, nil, elf.Corrupted("the symbol table lies outside of the file")
	}
	strings, ok = bin.Slice(f.data, uint64(t.strings), uint64(t.stringsSize))
	if !ok {
		return nil, nil, elf.Corrupted("the strings of the symbol table lie outside of the file")
	}
	return entries, strings, nil
}

// order returns the byte order of the file.
func (f *File) order() binary.ByteOrder {
	if f.big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

// entry reads the entry at the start of b.
func (f *File) entry(order binary.ByteOrder, b []byte) nlist {
	if f.is64 && !f.big { // nearly all files
		return nlist{binary.LittleEndian.Uint32(b), b[4], b[5], binary.LittleEndian.Uint16(b[6:]), binary.LittleEndian.Uint64(b[8:])}
	}
	n := nlist{name: order.Uint32(b), typ: b[4], sect: b[5], desc: order.Uint16(b[6:])}
	if f.is64 {
		n.value = order.Uint64(b[8:])
	} else {
		n.value = uint64(order.Uint32(b[8:]))
	}
	return n
}

// symbolValue returns the value of the symbol with an index.
func (f *File) symbolValue(index uint32) (uint64, bool) {
	entries, _, err := f.table()
	size := f.nlistSize()
	if err != nil || uint64(index) >= uint64(len(entries))/size {
		return 0, false
	}
	n := f.entry(f.order(), entries[uint64(index)*size:])
	return n.value, n.typ&maskStab == 0 && n.typ&maskType == inSection
}

// functionStarts returns the sorted addresses at which functions begin: a list of differences, the first one from the start of __TEXT.
func (f *File) functionStarts(limits *budget.File) (starts []uint64) {
	b, ok := bin.Slice(f.data, uint64(f.starts.offset), uint64(f.starts.size))
	if !ok || len(b) == 0 {
		return nil
	}
	addr := f.textStart()
	limits.Hold(8 * len(b))
	starts = make([]uint64, 0, len(b))
	for p := 0; p < len(b); {
		var d uint64
		if d, p = bin.ULEB(b, p); d == 0 || p == bin.Past {
			break
		}
		if addr += d; addr < d {
			break
		}
		starts = append(starts, addr&^1) // the lowest bit marks Thumb code
	}
	return starts
}

// Starts returns the sorted addresses at which functions are known to start.
func (f *File) Starts() []uint64 { return f.functions }

// StartsWithin reports whether a function is known to start after an address, up to and including another one.
func (f *File) StartsWithin(after, last uint64) bool {
	i, _ := slices.BinarySearch(f.functions, after+1)
	return i < len(f.functions) && f.functions[i] <= last
}

// appendSymbols appends the symbol tables as those of an ELF file: the names lose the underscore that compilers of Apple put before
// all names of C, and have sizes. A symbol extends to the next one, to the next start of a function, or to the end of its section.
func (f *File) appendSymbols(sections []elf.Section, limits *budget.File) ([]elf.Section, error) {
	entries, strings, err := f.table()
	if err != nil {
		return nil, err
	}
	if f.functions = f.functionStarts(limits); len(f.functions) > 0 {
		f.isListed = true
	} else {
		u := f.unwinding(limits)
		f.functions, f.ends = u.starts, u.ends
	}
	isEmpty := true
	if len(entries) > 0 {
		raw, count := f.translate(entries, strings, limits)
		at := uint32(len(sections))
		isEmpty = count == 0
		sections = append(sections,
			elf.Section{Name: ".symtab", Type: stdelf.SHT_SYMTAB, Size: uint64(len(raw)), Bytes: raw, Link: at + 1},
			elf.Section{Name: ".strtab", Type: stdelf.SHT_STRTAB, Offset: uint64(f.symtab.strings), Size: uint64(len(strings))})
	}
	if !isEmpty || f.DebugOnly {
		return sections, nil
	}
	if raw, names := f.exports(limits); len(raw) > 0 {
		at := uint32(len(sections))
		sections = append(sections,
			elf.Section{Name: ".dynsym", Type: stdelf.SHT_DYNSYM, Size: uint64(len(raw)), Bytes: raw, Link: at + 1},
			elf.Section{Name: ".dynstr", Type: stdelf.SHT_STRTAB, Size: uint64(len(names)), Bytes: names})
	}
	return sections, nil
}

// named is a symbol to be written. A static one was local in its object already. One that is unsure may end anywhere before the next.
type named struct {
	value                 uint64
	name                  uint32
	sect                  byte
	local, static, unsure bool
}

// translate returns the entries of a symbol table as those of ELF, and how many these are.
func (f *File) translate(entries, strings []byte, limits *budget.File) (raw []byte, count int) {
	const weight = 64 // of an entry and its copies
	size := int(f.nlistSize())
	limits.Spend(16 * (len(entries)/size + len(f.functions)))
	limits.Hold(weight * (len(entries) / size))
	order := f.order()
	list := make([]named, 0, len(entries)/size)
	plain := f.hasPlainNames(entries, strings)
	for ; len(entries) >= size; entries = entries[size:] {
		typ, sect := entries[4], entries[5]
		if typ&maskStab != 0 || typ&maskType != inSection || sect == noSection || int(sect) > len(f.sections) {
			continue
		}
		n := f.entry(order, entries)
		x := &f.sections[sect-1]
		if n.value < x.addr || n.value-x.addr >= x.size && x.size > 0 || uint64(n.name)+1 >= uint64(len(strings)) {
			continue
		}
		switch c := strings[n.name]; {
		case c == 0:
			continue
		case c == '_' && !plain:
			if n.name++; strings[n.name] == 0 {
				continue
			}
		case c == 'l' && f.typ == typeObject && isLabel(strings[n.name:]):
			continue
		}
		list = append(list, named{value: n.value, name: n.name, sect: sect, local: typ&external == 0, static: typ&(external|private) == 0})
	}
	limits.Hold(20 * len(list)) // for their order
	return f.write(list, plain), len(list)
}

// isLabel reports whether a name is one of those that the assembler makes up at the starts of sections: ltmp0.
func isLabel(name []byte) bool {
	return len(name) > 4 && string(name[:4]) == "ltmp" && name[4]-'0' <= 9
}

// hasPlainNames reports whether the names of a file have no underscore before them: the linker of Go writes them so.
func (f *File) hasPlainNames(entries, strings []byte) bool {
	if !slices.ContainsFunc(f.sections, func(x section) bool { return x.name == "__gopclntab" }) {
		return false
	}
	size := int(f.nlistSize())
	order := f.order()
	for ; len(entries) >= size; entries = entries[size:] {
		n := f.entry(order, entries)
		rest := strings[min(uint64(n.name), uint64(len(strings))):]
		if len(rest) >= 12 && string(rest[:12]) == "runtime.text" {
			return true
		}
	}
	return false
}

// write returns symbols as the entries of an ELF file. The first entry is empty. With complete set, no symbol was removed.
func (f *File) write(list []named, complete bool) []byte {
	byAddress := byValue(list)
	bounds := f.bounds(list, byAddress)
	order := f.order()
	size := stdelf.Sym32Size
	if f.is64 {
		size = stdelf.Sym64Size
	}
	out := make([]byte, size*(len(list)+1))
	isCode := make([]bool, len(f.sections))
	for i := range isCode {
		isCode[i] = f.sections[i].isCode()
	}
	if !complete && !f.isListed && f.typ != typeObject {
		f.doubt(list, slices.DeleteFunc(byAddress, func(i uint32) bool { return !isCode[list[i].sect-1] }))
	}
	// Most tables are sorted by address, in a few runs: the next bound is near the last one.
	at := 0
	for i, n := range list {
		b := out[size*(i+1):]
		if at >= len(bounds) || bounds[at] > n.value || at+8 < len(bounds) && bounds[at+8] <= n.value {
			at, _ = slices.BinarySearch(bounds, n.value)
		}
		for at < len(bounds) && bounds[at] <= n.value {
			at++
		}
		x := &f.sections[n.sect-1]
		end := x.addr + x.size
		if at < len(bounds) {
			end = min(end, bounds[at])
		}
		if last, ok := f.ends[n.value]; ok && last > n.value {
			end = min(end, last)
		}
		isCode := isCode[n.sect-1]
		info := byte(stdelf.STT_OBJECT)
		if isCode {
			info = byte(stdelf.STT_FUNC)
		}
		if !n.local {
			info |= byte(stdelf.STB_GLOBAL) << 4
		}
		length := end - n.value
		if n.unsure {
			length = min(length, 1)
		}
		if f.is64 && !f.big {
			binary.LittleEndian.PutUint32(b, n.name)
			b[4], b[6] = info, n.sect
			binary.LittleEndian.PutUint64(b[8:], n.value)
			binary.LittleEndian.PutUint64(b[16:], length)
			continue
		}
		order.PutUint32(b, n.name)
		if f.is64 {
			b[4] = info
			order.PutUint16(b[6:], uint16(n.sect))
			order.PutUint64(b[8:], n.value)
			order.PutUint64(b[16:], length)
		} else {
			order.PutUint32(b[4:], uint32(n.value))
			order.PutUint32(b[8:], uint32(length))
			b[12] = info
			order.PutUint16(b[14:], uint16(n.sect))
		}
	}
	return out
}

// bounds returns the sorted addresses of symbols, whose numbers in order of these are byAddress, and of functions.
func (f *File) bounds(list []named, byAddress []uint32) []uint64 {
	out := make([]uint64, 0, len(list)+len(f.functions))
	rest := f.functions
	for _, i := range byAddress {
		value := list[i].value
		for len(rest) > 0 && rest[0] <= value {
			out, rest = append(out, rest[0]), rest[1:]
		}
		out = append(out, value)
	}
	return slices.Compact(append(out, rest...))
}

// doubt sets unsure for functions that others without symbols may follow, where no list says where functions start. code has the numbers of
// the symbols of code, in order of their addresses. Symbols are removed from
// whole objects, local ones first, and prebuilt libraries often have none: so a function is sure to end at the next symbol if it is a local
// one, or if there are such before and after it.
func (f *File) doubt(list []named, code []uint32) {
	// same returns where the symbols at another address begin, and whether one at this address is static.
	same := func(i int) (next int, static bool) {
		for next = i; next < len(code) && list[code[next]].value == list[code[i]].value; next++ {
			static = static || list[code[next]].static
		}
		return next, static
	}
	before := false
	for i := 0; i < len(code); {
		next, static := same(i)
		_, after := same(next)
		if _, isKnown := f.ends[list[code[i]].value]; !isKnown && !static && !(before && after) {
			for _, k := range code[i:next] {
				list[k].unsure = true
			}
		}
		before, i = static, next
	}
}

// byValue returns the numbers of symbols in order of the values of these, and of equal ones in order of the table. It is a radix sort of the
// distances from the lowest value, with the numbers in the low halves.
func byValue(list []named) []uint32 {
	order := make([]uint32, len(list))
	low, high := ^uint64(0), uint64(0)
	isSorted := true
	for i := range list {
		order[i] = uint32(i)
		isSorted = isSorted && list[i].value >= high
		low, high = min(low, list[i].value), max(high, list[i].value)
	}
	const half, digit = 32, 11
	switch {
	case isSorted:
		return order
	case (high-low)>>half != 0: // no linker writes such files
		slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(list[a].value, list[b].value) })
		return order
	}
	keys, sorted := make([]uint64, len(list)), make([]uint64, len(list))
	for i := range list {
		keys[i] = (list[i].value-low)<<half | uint64(i)
	}
	for shift := half; (high-low)<<half>>shift != 0; shift += digit {
		var next [1 << digit]uint32
		for _, k := range keys {
			next[k>>shift&(1<<digit-1)]++
		}
		at := uint32(0)
		for d, n := range next {
			next[d], at = at, at+n
		}
		for _, k := range keys {
			d := k >> shift & (1<<digit - 1)
			sorted[next[d]] = k
			next[d]++
		}
		keys, sorted = sorted, keys
	}
	for i, k := range keys {
		order[i] = uint32(k)
	}
	return order
}

// Bounds on the trie of exports: its nodes refer to each other, and hostile ones in circles.
const (
	maxNodes     = 1 << 20
	maxTrieDepth = 1 << 9
)

// exports returns the symbols in the trie of exports, which stay when all others are removed, as a table and its strings.
func (f *File) exports(limits *budget.File) (raw, names []byte) {
	b, ok := bin.Slice(f.data, uint64(f.trie.offset), uint64(f.trie.size))
	if !ok || len(b) == 0 {
		return nil, nil
	}
	t := trie{f: f, b: b, base: f.textStart(), seen: make(map[uint64]bool), names: []byte{0}, limits: limits}
	t.node(0, nil, 0)
	if len(t.list) == 0 {
		return nil, nil
	}
	return f.write(t.list, false), t.names
}

// trie is a walk over the trie of exports.
type trie struct {
	f      *File
	b      []byte
	base   uint64
	seen   map[uint64]bool
	names  []byte
	list   []named
	limits *budget.File
}

// node reads the node at an offset, whose name so far is prefix.
func (t *trie) node(at uint64, prefix []byte, depth int) {
	if t.seen[at] || depth > maxTrieDepth || len(t.seen) >= maxNodes || at >= uint64(len(t.b)) || len(prefix) > bin.MaxString {
		return
	}
	t.seen[at] = true
	c := &bin.Cursor{B: t.b, P: int(at)}
	size := c.ULEB()
	if size > 0 {
		info := bin.Cursor{B: t.b, P: c.P}
		flags := info.ULEB()
		const reexport, kind = 8, 3
		if addr := info.ULEB(); info.OK() && flags&(reexport|kind) == 0 {
			t.export(t.base+addr, prefix)
		}
	}
	c.Skip(size)
	for n := c.U8(); n > 0 && c.OK(); n-- {
		label, child := c.CString(), c.ULEB()
		t.limits.Spend(8 + len(label) + len(prefix))
		if c.OK() {
			t.node(child, append(prefix[:len(prefix):len(prefix)], label...), depth+1)
		}
	}
}

// export adds a symbol.
func (t *trie) export(addr uint64, name []byte) {
	if len(name) > 1 && name[0] == '_' {
		name = name[1:]
	}
	for i := range t.f.sections {
		x := &t.f.sections[i]
		if addr < x.addr || addr-x.addr >= x.size || i >= maxSection || x.isDebug() {
			continue
		}
		const weight = 128
		t.limits.Hold(weight + len(name))
		t.list = append(t.list, named{value: addr, name: uint32(len(t.names)), sect: byte(i + 1)})
		t.names = append(append(t.names, name...), 0)
		return
	}
}
