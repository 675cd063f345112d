package elf

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
)

// Linked converts an offset in the given space to an address of the file's own address space. It returns false if the headers do not
// allow it, as in relocatable files, which are not loaded.
func (h *Header) Linked(off uint64, from symsrc.Space) (addr uint64, ok bool) {
	switch from {
	case symsrc.InFile:
		return h.fromFile(off)
	case symsrc.InImage:
		return h.fromImage(off)
	case symsrc.InText:
		return h.fromText(off)
	case symsrc.Fixed:
		return off, h.Type == elf.ET_EXEC && h.loads(off)
	}
	return 0, false
}

// fromFile converts a file offset, by the segment that contains it. An offset outside of all segments is in the page that two
// segments share, as in lld's layout, and is taken for the padding of one of them. Segments with code have priority.
func (h *Header) fromFile(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for _, slack := range [...]uint64{0, page} {
		for _, code := range [...]bool{true, false} {
			for i := range h.Segments {
				s := &h.Segments[i]
				if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X != 0 != code {
					continue
				}
				if off >= s.Offset&^slack && off < (s.Offset+s.FileSize+slack)&^slack {
					return off - s.Offset + s.Addr, true
				}
			}
		}
	}
	return 0, false
}

// fromImage converts an offset from the start of the lowest mapping.
func (h *Header) fromImage(off uint64) (addr uint64, ok bool) {
	low := ^uint64(0)
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD {
			low, ok = min(low, s.Addr), true
		}
	}
	return low&^(h.pageSize()-1) + off, ok
}

// fromText converts an offset from the start of the executable mapping. It returns false if several are long enough.
func (h *Header) fromText(off uint64) (addr uint64, ok bool) {
	page := h.pageSize() - 1
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.Type != elf.PT_LOAD || s.Flags&elf.PF_X == 0 {
			continue
		}
		at := s.Addr&^page + off
		if at >= (s.Addr+s.Size+page)&^page {
			continue
		}
		if ok {
			return 0, false
		}
		addr, ok = at, true
	}
	return addr, ok
}

// LoadAddress returns the address of the first loadable segment, which is the lowest one (gABI, "Program Header"). It returns false
// if there is none.
func (h *Header) LoadAddress() (addr uint64, ok bool) {
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD {
			return s.Addr, true
		}
	}
	return 0, false
}

// Text returns n bytes of machine code at an address, or fewer if the code ends there. It returns false if there is no code.
func (f *File) Text(addr uint64, n int) ([]byte, bool) {
	if i := f.codeSegment(addr); i >= 0 {
		s := &f.Segments[i]
		return f.slice(s.Offset, s.FileSize, addr-s.Addr, n)
	}
	if f.Type != elf.ET_REL {
		return nil, false
	}
	if s := f.codeSection(addr); s != nil && s.Type != elf.SHT_NOBITS {
		return f.slice(s.Offset, s.Size, addr-s.Addr, n)
	}
	return nil, false
}

// slice returns up to n bytes at offset at in the part of the file that begins at off and has the given size.
func (f *File) slice(off, size, at uint64, n int) ([]byte, bool) {
	b, ok := bin.Slice(f.Data, off, size)
	if !ok || n <= 0 || at >= uint64(len(b)) {
		return nil, false
	}
	b = b[at:]
	n = min(n, len(b))
	return b[:n:n], true
}

// TextBefore returns up to n bytes of machine code that end at an address, or nil.
func (f *File) TextBefore(addr uint64, n int) []byte {
	tries := 0
	for ; n > 0; n-- {
		tries++
		if b, ok := f.Text(addr-uint64(n), n); ok && len(b) == n {
			f.Budget.Answer(tries * len(f.Segments))
			return b
		}
	}
	f.Budget.Answer(tries * len(f.Segments))
	return nil
}

// codeSegment returns the index of the segment with the code at an address, or −1.
func (h *Header) codeSegment(addr uint64) int {
	for i := range h.Segments {
		s := &h.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && addr >= s.Addr && addr-s.Addr < s.FileSize {
			return i
		}
	}
	return -1
}

// codeSection returns the section with the code at an address, or nil.
func (h *Header) codeSection(addr uint64) *Section {
	for i := range h.Sections {
		s := &h.Sections[i]
		if s.IsCode() && addr >= s.Addr && addr-s.Addr < s.Size {
			return s
		}
	}
	return nil
}

// findOverlays finds where sections of code overlap.
func (h *Header) findOverlays() {
	if h.Type == elf.ET_REL {
		return // whose sections have no addresses
	}
	var code []Span
	for i := range h.Sections {
		if s := &h.Sections[i]; s.IsCode() && s.Size > 0 {
			code = append(code, Span{Lo: s.Addr, Hi: s.Addr + s.Size})
		}
	}
	slices.SortFunc(code, func(a, b Span) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := 1; i < len(code); i++ {
		last := &code[i-1]
		if code[i].Lo < last.Hi {
			both := Span{Lo: code[i].Lo, Hi: min(code[i].Hi, last.Hi)}
			if n := len(h.overlays); n > 0 && both.Lo <= h.overlays[n-1].Hi {
				h.overlays[n-1].Hi = max(h.overlays[n-1].Hi, both.Hi)
			} else {
				h.overlays = append(h.overlays, both)
			}
			code[i].Hi = max(code[i].Hi, last.Hi)
		}
	}
}

// Overlaid reports whether more than one section has code for an address, as overlays of small machines do: only one of them is loaded at
// a time.
func (h *Header) Overlaid(addr uint64) bool {
	i, found := slices.BinarySearchFunc(h.overlays, addr, func(s Span, addr uint64) int { return cmp.Compare(s.Lo, addr) })
	return found || i > 0 && h.overlays[i-1].Covers(addr)
}

// IsCode reports whether the section contains code that is loaded.
func (s *Section) IsCode() bool {
	return s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_EXECINSTR != 0
}

// IsText reports whether an address is in an executable segment.
func (f *File) IsText(addr uint64) bool { return f.codeSegment(addr) >= 0 }

// HoldsCode reports whether an address is in a code section or, if the file has no section headers, in an executable segment.
func (h *Header) HoldsCode(addr uint64) bool {
	if len(h.Sections) > 0 {
		return h.codeSection(addr) != nil
	}
	return h.codeSegment(addr) >= 0
}

// addressBits are the sizes of an AArch64 address: the bits from 56 on may hold a tag (top-byte-ignore), and those above the size of
// the address space, which is usually 48 or 39 bits, a pointer authentication code (Arm ARM, D8.9 and D8.10).
var addressBits = [...]uint{56, 48, 39}

// Untagged removes the tag and the pointer authentication code from an AArch64 address, if only the result is an address of the file.
// The removed bits are zeros in programs and ones in the kernel.
func (h *Header) Untagged(addr uint64) uint64 {
	if h.Machine != elf.EM_AARCH64 || addr>>addressBits[2] == 0 || h.loads(addr) {
		return addr
	}
	for _, bits := range addressBits {
		high := ^uint64(0) << bits
		for _, plain := range [...]uint64{addr &^ high, addr | high} {
			if h.loads(plain) {
				return plain
			}
		}
	}
	return addr
}

// loads reports whether an address is in a loadable segment.
func (h *Header) loads(addr uint64) bool {
	for i := range h.Segments {
		if s := &h.Segments[i]; s.Type == elf.PT_LOAD && addr >= s.Addr && addr-s.Addr < s.Size {
			return true
		}
	}
	return false
}

// pageSize returns the page size to which the starts of mappings are rounded down, in bytes. On machines where kernels differ,
// linkers align segments to the largest size, so that the smallest one suffices.
func (f *Format) pageSize() uint64 {
	if f.Machine == elf.EM_PPC64 {
		return 64 << 10
	}
	return 4 << 10
}

// CallDistance returns the distance, in bytes, from a return address back to a byte of the call: to its first byte if all calls have
// the same length. Thumb and RISC-V have calls of two and of four bytes; MIPS and SPARC return after the delay slot.
func (f *Format) CallDistance() uint64 {
	switch f.Machine {
	case elf.EM_AARCH64, elf.EM_PPC, elf.EM_PPC64, elf.EM_LOONGARCH, elf.EM_QDSP6:
		return 4
	case elf.EM_MIPS, elf.EM_SPARC, elf.EM_SPARCV9, elf.EM_SPARC32PLUS:
		return 8
	case elf.EM_XTENSA:
		return 3
	case elf.EM_ARM, elf.EM_RISCV:
		return 2
	}
	return 1
}

// littleCode reports whether instructions are little-endian, which may differ from the byte order of the data.
func (f *Format) littleCode() bool {
	const armBE8 = 0x00800000 // EF_ARM_BE8
	return !f.Big || f.Machine == elf.EM_AARCH64 || f.Machine == elf.EM_RISCV || f.Machine == elf.EM_ARM && f.Flags&armBE8 != 0
}

// CodeOrder returns the byte order of instructions.
func (f *Format) CodeOrder() binary.ByteOrder {
	if f.littleCode() {
		return binary.LittleEndian
	}
	return binary.BigEndian
}

// MachineName returns the name of the machine in Breakpad symbol files, as written by dump_syms.
func (f *Format) MachineName() string {
	switch f.Machine {
	case elf.EM_386:
		return "x86"
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_MIPS:
		if f.Is64 {
			return "mips64"
		}
		return "mips"
	case elf.EM_PPC:
		return "ppc"
	case elf.EM_PPC64:
		return "ppc64"
	case elf.EM_RISCV:
		if f.Is64 {
			return "riscv64"
		}
		return "riscv"
	case elf.EM_S390:
		return "s390"
	case elf.EM_SPARC:
		return "sparc"
	case elf.EM_SPARCV9:
		return "sparcv9"
	}
	return "unknown"
}

// Truncate truncates an address to the size of the file's addresses.
func (f *Format) Truncate(addr uint64) uint64 {
	if !f.Is64 {
		return uint64(uint32(addr))
	}
	return addr
}

// symbolIndex holds the symbols of a table sorted by address, one per address.
type symbolIndex struct {
	addrs   []uint64
	entries []uint32 // indexes in the symbol table
}

// find returns the index of the nearest symbol at or below an address, or −1.
func (x *symbolIndex) find(addr uint64) int {
	i, j := 0, len(x.addrs)
	for i < j {
		if h := int(uint(i+j) >> 1); x.addrs[h] <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	return i - 1
}

// Steps to sort a symbol, and its memory, in bytes.
const stepsPerSymbol, symbolWeight = 16, 24

// sort sorts the symbols for binary search. Of several symbols at one address it keeps the largest one, and of equally large ones
// the last one in the table.
func (t *SymbolTable) sort() {
	n := len(t.raw) / t.entrySize()
	t.table.Budget.Spend(n * stepsPerSymbol)
	t.table.Budget.Hold(n * symbolWeight)
	all := make([]addressedEntry, 0, n)
	t.each(&Span{0, ^uint64(0)}, func(s *symbol) { all = append(all, addressedEntry{s.addr, s.index}) },
		func(f fileSymbol) { t.files = append(t.files, f) })
	all = sortByAddress(all)
	n = 0
	for i := range all {
		if i > 0 && all[i].addr != all[i-1].addr {
			n++
		}
		if i > n && all[n].addr == all[i].addr {
			out := all[i].entry
			if t.size(out) >= t.size(all[n].entry) {
				out, all[n] = all[n].entry, all[i]
			}
			if _, info := t.entryAddr(t.raw[int(out)*t.entrySize():]); isFunction(info) {
				t.more = append(t.more, addressedEntry{all[i].addr, out})
			}
			continue
		}
		all[n] = all[i]
	}
	if len(all) > 0 {
		n++
	}
	n = t.removeLabels(all[:n])
	t.sorted = symbolIndex{make([]uint64, n), make([]uint32, n)}
	for i, s := range all[:n] {
		t.sorted.addrs[i], t.sorted.entries[i] = s.addr, s.entry
	}
	t.found = make([]atomic.Pointer[Match], n)
}

// removeLabels moves the symbols of a sorted table that are no labels within a function to the front, and returns their number: code after
// a label is still that of the function.
func (t *SymbolTable) removeLabels(all []addressedEntry) (n int) {
	var around Span // the last function
	for _, x := range all {
		_, info := t.entryAddr(t.raw[int(x.entry)*t.entrySize():])
		size := t.size(x.entry)
		switch {
		case isFunction(info) && size > 0:
			around = Span{Lo: x.addr, Hi: x.addr + size}
		case !t.unbounded && isLabel(info, size) && around.Covers(x.addr):
			continue
		}
		all[n] = x
		n++
	}
	return n
}

// SameCode returns the names of the functions that begin where a symbol of the table does and have its size, in the order of the table.
func (t *SymbolTable) SameCode(c *Match) (same []string) {
	t.once.Do(t.sort)
	i := t.moreAt(c.Start)
	if i == len(t.more) || t.more[i].addr != c.Start {
		return nil
	}
	entries := []uint32{t.sorted.entries[t.sorted.find(c.Start)]}
	for ; i < len(t.more) && t.more[i].addr == c.Start; i++ {
		entries = append(entries, t.more[i].entry)
	}
	slices.Sort(entries)
	t.table.Budget.Answer(len(entries))
	for _, entry := range entries {
		s := symbol{index: entry}
		if t.entry(t.raw[int(entry)*t.entrySize():], &s); s.size == c.Size {
			same = append(same, t.table.At(t.nameOf(&s)).Linkage)
		}
	}
	return same
}

// moreAt returns where the functions are in t.more that begin at an address or after it.
func (t *SymbolTable) moreAt(addr uint64) (i int) {
	i, _ = slices.BinarySearchFunc(t.more, addr, func(e addressedEntry, addr uint64) int { return cmp.Compare(e.addr, addr) })
	return i
}

// size returns the size of the symbol with an index.
func (t *rawSymbols) size(entry uint32) uint64 {
	var s symbol
	t.entry(t.raw[int(entry)*t.entrySize():], &s)
	return s.size
}

// addressedEntry is the address and the index of a symbol.
type addressedEntry struct {
	addr  uint64
	entry uint32
}

// sortByAddress sorts by address; the sort is stable. It is a radix sort, from the least to the most significant byte of the address,
// which skips the bytes that all addresses have in common. The result may use another array than all.
func sortByAddress(all []addressedEntry) []addressedEntry {
	var counts [8][256]uint32
	for i := range all {
		for k, a := 0, all[i].addr; k < 8; k, a = k+1, a>>8 {
			counts[k][a&0xff]++
		}
	}
	var out []addressedEntry
	for k := range counts {
		next, used := &counts[k], 0
		start := uint32(0)
		for digit, n := range next {
			next[digit] = start
			if start += n; n > 0 {
				used++
			}
		}
		if used < 2 {
			continue
		}
		if out == nil {
			out = make([]addressedEntry, len(all))
		}
		for i := range all {
			digit := byte(all[i].addr >> (8 * k))
			out[next[digit]] = all[i]
			next[digit]++
		}
		all, out = out, all
	}
	return all
}

// Boundaries calls add with the addresses at which symbols begin and end.
func (t *SymbolTable) Boundaries(add func(...uint64)) {
	t.once.Do(t.sort)
	for i, addr := range t.sorted.addrs {
		size := t.size(t.sorted.entries[i])
		if end := addr + size; size > 0 && end > addr {
			add(addr, end)
		} else {
			add(addr)
		}
	}
	add(t.ends...)
}

// SharedStarts returns the addresses at which functions with different names begin.
func (t *rawSymbols) SharedStarts() map[uint64]bool {
	type begin struct {
		addr uint64
		name uint32
	}
	var all []begin
	t.each(&Span{0, ^uint64(0)}, func(s *symbol) {
		if _, info := t.entryAddr(t.raw[int(s.index)*t.entrySize():]); elf.SymType(info&15) == elf.STT_FUNC {
			all = append(all, begin{s.addr, s.name})
		}
	}, func(fileSymbol) {})
	slices.SortFunc(all, func(a, b begin) int { return cmp.Compare(a.addr, b.addr) })
	shared := make(map[uint64]bool)
	for i := 1; i < len(all); i++ {
		if all[i].addr == all[i-1].addr && !bytes.Equal(t.str(all[i].name), t.str(all[i-1].name)) {
			shared[all[i].addr] = true
		}
	}
	return shared
}

// At returns the symbol that covers the address, or nil. Only the nearest symbol at or below the address can cover it. A symbol without a
// size extends to the next symbol or to the end of its section.
func (t *SymbolTable) At(addr uint64) *Match {
	if last := t.last.Load(); last != nil && last.addr == addr {
		return last.match
	}
	if t.scans.Load() < maxScans && t.scans.Add(1) <= maxScans {
		if c, sure := t.scan(addr); sure {
			t.last.Store(&scanned{addr, c})
			return c
		}
	}
	t.once.Do(t.sort)
	i := t.sorted.find(addr)
	if i < 0 {
		return nil
	}
	c := t.found[i].Load()
	if c == nil {
		c = t.match(i)
		t.found[i].Store(c)
	}
	if !t.covers(c.Start, c.Size, c.limit, addr) {
		return nil
	}
	return c
}

// matchWeight is the memory of a Match, in bytes, with the symbol that it has.
const matchWeight = 112

// match returns the symbol with an index in sorted.
func (t *SymbolTable) match(i int) *Match {
	s := symbol{addr: t.sorted.addrs[i], index: t.sorted.entries[i]}
	b := t.raw[int(s.index)*t.entrySize():]
	section := t.entry(b, &s)
	_, info := t.entryAddr(b)
	t.table.Budget.Hold(matchWeight)
	c := &Match{Name: t.table.At(t.nameOf(&s)), Start: s.addr, Size: s.size, Sized: s.size > 0, Function: isFunction(info), limit: t.sectionEnd(section, int(s.index))}
	k := t.moreAt(s.addr)
	c.Several = k < len(t.more) && t.more[k].addr == s.addr
	if elf.SymBind(info>>4) == elf.STB_LOCAL {
		k, _ := slices.BinarySearchFunc(t.files, s.index, func(f fileSymbol, index uint32) int { return cmp.Compare(f.index, index) })
		if k > 0 {
			c.File = string(t.str(t.files[k-1].name))
		}
	}
	return c
}

// maxScans is for how many lookups a table is scanned. Many callers ask for address 0 first, to see whether there is a file.
const maxScans = 2

// scanned is what a scan found for an address.
type scanned struct {
	addr  uint64
	match *Match
}

// scan is At without a sorted table. It is not sure of a label, which may be one within a function.
func (t *SymbolTable) scan(addr uint64) (c *Match, sure bool) {
	var best symbol
	var file, bestFile fileSymbol
	several := false
	window := Span{0, addr}
	t.each(&window, func(s *symbol) {
		if s.addr == best.addr && best.index != 0 {
			several = true
		} else if s.addr <= addr && s.addr > best.addr {
			several = false
		}
		if s.addr <= addr && (best.index == 0 || s.addr > best.addr || s.addr == best.addr && s.size >= best.size) {
			best, bestFile = *s, file
			window.Lo = s.addr
		}
	}, func(f fileSymbol) { file = f })
	if best.index == 0 {
		return nil, true
	}
	_, info := t.entryAddr(t.raw[int(best.index)*t.entrySize():])
	if !t.unbounded && isLabel(info, best.size) {
		return nil, false
	}
	if !t.covers(best.addr, best.size, best.limit, addr) {
		return nil, true
	}
	c = &Match{Name: t.table.At(t.nameOf(&best)), Start: best.addr, Size: best.size, Sized: best.size > 0, Several: several}
	c.Function = isFunction(info)
	if best.local && bestFile.index != 0 {
		c.File = string(t.str(bestFile.name))
	}
	return c, true
}

// covers reports whether a symbol at or below the address extends to it. limit is the end of its section.
func (t *rawSymbols) covers(start, size, limit, addr uint64) bool {
	if size == 0 {
		return (addr < limit || t.unbounded) && !t.opd.unreadable()
	}
	return addr-start < size
}

func (t *SymbolTable) nameOf(s *symbol) uint32 { return t.table.Find(t.str(s.name)) }

// Match is the symbol that covers an address. Queries share it, so nothing but Folded is set later.
type Match struct {
	Name  *names.Name
	Start uint64 // start of the symbol
	Size  uint64 // its size; 0 if it has none
	Sized bool   // the symbol has a size; otherwise it is a guess that it covers the address
	File  string // name of the source file of a local symbol; "" if it is unknown
	// Function is set if the symbol has the type of a function. Other symbols may be labels in code or data.
	Function bool
	// Several is set if other symbols begin at Start, too.
	Several bool
	// Folded has the names of the functions whose code was folded into that of the symbol, one a line. It is nil until they are looked for.
	Folded atomic.Pointer[string]
	limit  uint64 // end address of its section
}

// isLabel reports whether a symbol with the given st_info and size may be a label within a function, as assemblers make them.
func isLabel(info byte, size uint64) bool {
	return elf.SymType(info&15) == elf.STT_NOTYPE && size == 0
}

// isFunction reports whether a symbol with the given st_info is a function.
func isFunction(info byte) bool {
	typ := elf.SymType(info & 15)
	return typ == elf.STT_FUNC || typ == elf.STT_GNU_IFUNC
}
