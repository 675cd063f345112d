// Package gopclntab reads the function table of Go programs, .gopclntab, which stays when a program is stripped: the table of Go 1.12
// and later, and the runtime's description of the program, which says where code and inline trees begin.
package gopclntab

import (
	"bytes"
	stdelf "debug/elf"
	"sort"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/elf"
)

// Layouts of the table, by what its first four bytes say (Go's debug/gosym and internal/abi).
const (
	go12  = 0xfffffffb
	go116 = 0xfffffffa // the parts have offsets of their own
	go118 = 0xfffffff0 // addresses are relative to the start of the code
	go120 = 0xfffffff1 // functions have the line that they begin at
)

// Table is the section .gopclntab, from which Go programs print their own stack traces. It stays when all other names
// are stripped. Offsets in it are bounded where they are used.
type Table struct {
	f       *elf.File
	addr    uint64
	layout  uint32
	quantum uint64 // the smallest instruction, in bytes
	ptr     int    // bytes of an address
	n       int    // functions

	names, units, files, values, functions []byte

	text   uint64 // what addresses are relative to
	inline uint64 // what inline trees are relative to; 0 unknown
}

// Read reads the table of a file; nil where there is none that can be read.
func Read(f *elf.File) *Table {
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Name != ".gopclntab" && s.Name != ".data.rel.ro.gopclntab" {
			continue
		}
		if b, ok := f.Contents(s); ok {
			t := &Table{f: f, addr: s.Addr}
			if t.readHeader(b) && t.readModule() {
				return t
			}
		}
		return nil
	}
	return nil
}

// readHeader reads the header and finds the parts.
func (t *Table) readHeader(b []byte) bool {
	c := &bin.Cursor{B: b, Big: t.f.Big}
	t.layout = c.U32()
	zero := c.U16()
	t.quantum, t.ptr = uint64(c.U8()), int(c.U8())
	if zero != 0 || t.quantum == 0 || t.quantum > 4 || t.ptr != t.f.WordSize() {
		return false
	}
	n := c.Uint(t.ptr)
	part := func() []byte {
		off := c.Uint(t.ptr)
		return b[min(off, uint64(len(b))):]
	}
	switch t.layout {
	case go12:
		t.functions, t.names, t.values = b[min(c.P, len(b)):], b, b
		n = min(n, uint64(len(b))) // so that the product does not overflow
		off, _ := bin.Uint(b, c.P+(2*int(n)+1)*t.ptr, 4, t.f.Big)
		t.files = b[min(off, uint64(len(b))):]
	case go116, go118, go120:
		c.Skip(uint64(t.ptr)) // number of files
		if t.layout != go116 {
			t.text = c.Uint(t.ptr)
		}
		t.names, t.units, t.files, t.values, t.functions = part(), part(), part(), part(), part()
	default:
		return false
	}
	if !c.OK() || n == 0 || n > uint64(len(t.functions)/(2*t.entry())) {
		return false
	}
	t.n = int(n)
	return true
}

// entry returns the size of either half of a row in the table of functions.
func (t *Table) entry() int {
	if t.layout == go118 || t.layout == go120 {
		return 4
	}
	return t.ptr
}

// pc returns the address at which the function of that index begins; after the last one, where it ends.
func (t *Table) pc(i int) uint64 {
	v, _ := bin.Uint(t.functions, 2*i*t.entry(), t.entry(), t.f.Big)
	return t.text + v
}

// goFunction is a function of the table.
type goFunction struct {
	entry            uint64
	name, file, line uint32 // offsets
	unit             uint32

	inlineIndex, inlineTable uint32 // offsets; the table may be 0xffffffff for none
}

// find looks up the function at an address.
func (t *Table) find(addr uint64) (fn goFunction, ok bool) {
	i := sort.Search(t.n+1, func(i int) bool { return t.pc(i) > addr }) - 1
	if i < 0 || i >= t.n {
		return fn, false
	}
	off, _ := bin.Uint(t.functions, (2*i+1)*t.entry(), t.entry(), t.f.Big)
	base := t.functions
	if t.layout == go12 {
		base = t.names // the whole section
	}
	if off > uint64(len(base)) {
		return fn, false
	}
	c := &bin.Cursor{B: base[off:], Big: t.f.Big}
	fn.entry = t.text + c.Uint(t.entry())
	fn.name = c.U32()
	c.Skip(12) // arguments, frame or deferred return, stack pointer
	fn.file, fn.line = c.U32(), c.U32()
	npcdata := c.U32()
	if t.layout != go12 {
		fn.unit = c.U32()
	}
	if t.layout == go120 {
		c.Skip(4) // first line
	}
	c.Skip(3) // function ID, flags
	nfuncdata := c.U8()
	fn.inlineTable = ^uint32(0)
	const inlineIndex, inlineTree = 2, 3 // PCDATA_InlTreeIndex since Go 1.12, FUNCDATA_InlTree since Go 1.18
	pcdata := c.Bytes(uint64(npcdata) * 4)
	if npcdata > inlineIndex {
		v, _ := bin.Uint(pcdata, 4*inlineIndex, 4, t.f.Big)
		fn.inlineIndex = uint32(v)
	}
	if (t.layout == go118 || t.layout == go120) && nfuncdata > inlineTree {
		v, _ := bin.Uint(c.Bytes(uint64(nfuncdata)*4), 4*inlineTree, 4, t.f.Big)
		fn.inlineTable = uint32(v)
	}
	return fn, c.OK() && fn.entry == t.pc(i)
}

// Start returns where the function at an address begins.
func (t *Table) Start(addr uint64) (start uint64, ok bool) {
	fn, ok := t.find(addr)
	return fn.entry, ok
}

// maxGoInlined bounds how deep calls are inlined into each other; a deeper chain is damage.
const maxGoInlined = 1000

// maxGoSteps bounds the rows of value tables that one query reads.
const maxGoSteps = 1 << 22

// value reads the table at off, which runs along with the function's code: of each row the difference of the value and
// that of the address; -1 where there is none.
func (t *Table) value(off uint32, entry, addr uint64, steps *int) int {
	if off == 0 || uint64(off) >= uint64(len(t.values)) {
		return -1
	}
	p, value, pc := int(off), int32(-1), entry
	for first := true; *steps > 0; first = false {
		*steps--
		var v, d uint64
		if v, p = bin.ULEB(t.values, p); v == 0 && !first || p == bin.Past {
			break
		}
		if d, p = bin.ULEB(t.values, p); p == bin.Past {
			break
		}
		value += int32(uint32(v)>>1) ^ -int32(uint32(v)&1)
		if pc += d * t.quantum; addr < pc {
			return int(value)
		}
	}
	return -1
}

// Frames returns the functions at an address, of which the inlined ones are in the compiler's inline tree. Where that cannot be
// read a position within an inlined function is left out, since it is not one of the function that is named.
func (t *Table) Frames(addr uint64) []symsrc.Frame {
	fn, ok := t.find(addr)
	outer := cstring(t.names, uint64(fn.name))
	if !ok || outer == "" {
		return nil
	}
	var tree []byte
	if t.inline != 0 && fn.inlineTable != ^uint32(0) {
		tree = t.loaded(t.inline + uint64(fn.inlineTable))
	}
	// funcID, 3 bytes of padding, offset of the name, of the call, first line.
	size, nameBack, callBack := 16, 12, 8
	if t.layout == go118 { // parent, funcID, file and line of the call, offset of the name, of the call
		size, nameBack, callBack = 20, 8, 4
	}
	steps := maxGoSteps
	defer func() { t.f.Budget.Answer(maxGoSteps - steps) }()
	if t.value(fn.line, fn.entry, addr, &steps) < 0 {
		return nil // padding after the function
	}
	var frames []symsrc.Frame
	for pc := addr; len(frames) <= maxGoInlined && steps > 0; {
		i := t.value(fn.inlineIndex, fn.entry, pc, &steps)
		if i < 0 {
			return append(frames, t.frame(outer, &fn, pc, &steps))
		}
		if i >= len(tree)/size {
			break
		}
		name, _ := bin.Uint(tree, (i+1)*size-nameBack, 4, t.f.Big)
		call, _ := bin.Uint(tree, (i+1)*size-callBack, 4, t.f.Big)
		inlined := cstring(t.names, name)
		if inlined == "" {
			break
		}
		frames = append(frames, t.frame(inlined, &fn, pc, &steps))
		pc = fn.entry + call
	}
	return []symsrc.Frame{{Func: outer, Linkage: outer}}
}

// frame returns a function with the position of an address.
func (t *Table) frame(name string, fn *goFunction, addr uint64, steps *int) symsrc.Frame {
	fr := symsrc.Frame{Func: name, Linkage: name}
	file := t.value(fn.file, fn.entry, addr, steps)
	if file < 0 {
		return fr
	}
	if t.layout == go12 {
		if file > 0 && file < len(t.files)/4 { // the first number is how many there are
			off, _ := bin.Uint(t.files, 4*file, 4, t.f.Big)
			fr.File = cstring(t.names, off)
		}
	} else if i := uint64(fn.unit) + uint64(file); i < uint64(len(t.units)/4) {
		if off, _ := bin.Uint(t.units, int(4*i), 4, t.f.Big); off != 1<<32-1 {
			fr.File = cstring(t.files, off)
		}
	}
	if line := t.value(fn.line, fn.entry, addr, steps); line > 0 && fr.File != "" {
		fr.Line = line
	}
	return fr
}

// cstring returns the string at an offset; "" where it lies outside, has no end or is longer than a name may be.
func cstring(b []byte, off uint64) string {
	if off >= uint64(len(b)) {
		return ""
	}
	b = b[off:min(uint64(len(b)), off+bin.MaxString)]
	n := bytes.IndexByte(b, 0)
	return string(b[:max(n, 0)])
}

// Words of the runtime's description of a program (runtime.moduledata), which begins with the address of the table's
// header.
const (
	moduleMinPC     = 20
	moduleMaxPC     = 21
	moduleText      = 22
	moduleInline118 = 38 // gofunc of Go 1.18 and 1.19
	moduleInline    = 40 // gofunc since Go 1.20
	moduleWords     = 41
)

// maxGoModules bounds the places that are taken for the description; all but one are not.
const maxGoModules = 16

// relativeRelocations make a word the address that they hold.
var relativeRelocations = map[stdelf.Machine]uint32{
	stdelf.EM_X86_64:  uint32(stdelf.R_X86_64_RELATIVE),
	stdelf.EM_AARCH64: uint32(stdelf.R_AARCH64_RELATIVE),
	stdelf.EM_PPC64:   uint32(stdelf.R_PPC64_RELATIVE),
	stdelf.EM_S390:    uint32(stdelf.R_390_RELATIVE),
	stdelf.EM_RISCV:   3, // R_RISCV_RELATIVE
}

// readModule finds where code and inline trees begin. The header of a position-independent program does not say, nor does
// any since Go 1.26; the runtime's description has it. It is false where the code's begin stays unknown.
func (t *Table) readModule() bool {
	if t.layout == go12 || t.layout == go116 {
		return true // addresses are whole
	}
	first, _ := bin.Uint(t.functions, 0, 4, t.f.Big)
	last, _ := bin.Uint(t.functions, 8*t.n, 4, t.f.Big)
	for _, at := range t.modules() {
		m := t.module(at)
		if text := m[moduleText]; m[0] == t.addr && text != 0 && m[moduleMinPC] == text+first && m[moduleMaxPC] == text+last {
			t.text = text
			if t.inline = m[moduleInline]; t.layout == go118 {
				t.inline = m[moduleInline118]
			}
			return true
		}
	}
	return t.text != 0
}

// modules returns the addresses of data that point at the table.
func (t *Table) modules() (found []uint64) {
	f, read := t.f, 0
	const written = stdelf.SHF_ALLOC | stdelf.SHF_WRITE
	for i := range f.Sections {
		s := &f.Sections[i]
		b, ok := f.Contents(s)
		if read += len(b); !ok || read > 2*len(f.Data) {
			continue
		}
		if s.Type == stdelf.SHT_PROGBITS && s.Flags&written == written {
			for p := 0; p+t.ptr <= len(b) && len(found) < maxGoModules; p += t.ptr {
				if v, _ := bin.Uint(b, p, t.ptr, f.Big); v == t.addr {
					found = append(found, s.Addr+uint64(p))
				}
			}
		}
		t.relative(s, b, func(at, v uint64) {
			if v == t.addr && len(found) < maxGoModules {
				found = append(found, at)
			}
		})
	}
	return found
}

// module reads the description at an address.
func (t *Table) module(at uint64) (words [moduleWords]uint64) {
	t.f.Budget.Spend(len(t.f.Data) / 8)
	b := t.loaded(at)
	for i := range words {
		words[i], _ = bin.Uint(b, i*t.ptr, t.ptr, t.f.Big)
	}
	read := 0
	for i := range t.f.Sections {
		s := &t.f.Sections[i]
		b, ok := t.f.Contents(s)
		if read += len(b); !ok || read > 2*len(t.f.Data) {
			continue
		}
		t.relative(s, b, func(where, v uint64) {
			if i := (where - at) / uint64(t.ptr); where >= at && i < moduleWords {
				words[i] = v
			}
		})
	}
	return words
}

// relative calls found with the place and the address of all relocations in a section that make a word an address.
func (t *Table) relative(s *elf.Section, b []byte, found func(at, v uint64)) {
	f := t.f
	typ := relativeRelocations[f.Machine]
	if s.Type != stdelf.SHT_RELA || s.Flags&stdelf.SHF_ALLOC == 0 || !f.Is64 || typ == 0 {
		return
	}
	for ; len(b) >= 24; b = b[24:] {
		if info, _ := bin.Uint(b, 8, 8, f.Big); uint32(info) == typ {
			at, _ := bin.Uint(b, 0, 8, f.Big)
			v, _ := bin.Uint(b, 16, 8, f.Big)
			found(at, v)
		}
	}
}

// loaded returns the bytes from an address on to the end of its section.
func (t *Table) loaded(addr uint64) []byte {
	f := t.f
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Type == stdelf.SHT_NOBITS || addr < s.Addr || addr-s.Addr >= s.Size {
			continue
		}
		f.Budget.Answer(i)
		if b, ok := f.Contents(s); ok {
			return b[addr-s.Addr:]
		}
	}
	return nil
}
