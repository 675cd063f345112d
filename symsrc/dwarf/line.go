package dwarf

import (
	"crypto/md5"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// lineTable is the line number information of one unit (DWARF 5 §6.2). The header does not change. The rest is built lazily while
// the unit is locked, and read without the lock.
type lineTable struct {
	lineHeader
	u       *Unit
	special *specialOpcodes

	rows  atomic.Pointer[lineRows]
	paths atomic.Pointer[[]atomic.Pointer[sourceFile]] // by file number, each set by its first use

	defined atomic.Pointer[[]definedFile] // the files that the program defines
}

// lineHeader is the header of a line table.
type lineHeader struct {
	layout
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	operands          []byte // of the standard opcodes
	program, end      int    // offsets of the start and the end of the program in .debug_line
	dirs, files       nameList
}

// Content types of DWARF 5 §6.2.4.1.
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
	lnctMD5            = 5
)

// lineTable returns the unit's line table, or an empty one if there is none or it cannot be read.
func (u *Unit) lineTable() *lineTable {
	if t := u.lines.Load(); t != nil {
		return t
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t := u.lines.Load()
	if t == nil && u.root.has(attrStmtList) {
		t = u.readLineHeader(u.root.v[attrStmtList])
	}
	if t == nil {
		t = &lineTable{u: u}
		t.rows.Store(&lineRows{})
	}
	u.lines.Store(t)
	return t
}

// readLineHeader returns the line table at off with its header (DWARF 5 §6.2.4), or nil if it is damaged.
func (u *Unit) readLineHeader(off uint64) *lineTable {
	s := &u.f.line
	if off >= uint64(s.Size) {
		return nil
	}
	c := &bin.Cursor{B: s.UpTo(int(off) + 16), P: int(off), Big: u.big}
	n, offSize := c.Length()
	if !c.OK() || n > uint64(s.Size-c.P) {
		return nil
	}
	t := &lineTable{u: u}
	t.layout, t.end = u.layout, c.P+int(n)
	t.offSize = uint8(offSize)
	c.B = s.UpTo(t.end)
	t.version = c.U16()
	if t.version < 2 || t.version > 5 {
		return nil
	}
	if t.version >= 5 {
		t.addrSize = c.U8()
		c.Skip(1) // the size of a segment selector
	}
	headerLength := c.Uint(offSize)
	start := c.P
	t.minInst, t.maxOps = c.U8(), 1
	if t.version >= 4 {
		t.maxOps = c.U8()
	}
	c.Skip(1) // default_is_stmt
	t.lineBase, t.lineRange, t.opBase = int8(c.U8()), c.U8(), c.U8()
	if !c.OK() || t.lineRange == 0 || t.opBase == 0 || headerLength > uint64(t.end-start) {
		return nil
	}
	if t.operands = c.Bytes(uint64(t.opBase) - 1); !c.OK() {
		return nil
	}
	t.program = start + int(headerLength)
	if t.program > len(c.B) {
		return nil
	}
	c.B = c.B[:t.program]
	if t.version >= 5 {
		t.dirs.read(c, t.layout)
		t.dirs.skipAll(c, t.layout, u.f.budget)
		t.files.read(c, t.layout)
		u.f.budget.Hold((len(t.dirs.fields) + len(t.files.fields)) * fieldWeight)
	} else {
		t.dirs.p, t.dirs.first = c.P, 1
		for len(c.CString()) > 0 {
		}
		u.f.budget.Spend(min(c.P, len(c.B)) - t.dirs.p)
		t.files.p, t.files.first, t.files.numbers = c.P, 1, 3
	}
	t.special = u.f.lastUsed.specialOpcodes(t, u.f.budget)
	return t
}

// row is one row of a line table. It is compact, because there are millions. Numbers that do not fit are stored as unknown: file
// 0xffff, column 0.
type row struct {
	rel       uint32 // address relative to the start of the sequence
	line      uint32
	file, col uint16
}

const unknownFile = 0xffff

// sequence is a sequence of a line table: the rows with the indexes [first, last), whose addresses increase.
type sequence struct {
	elf.Span
	first, last int32
}

// lineRows holds the rows of a line table. It does not change.
type lineRows struct {
	rows      []row
	sequences []sequence
	pieces    []functionSpan // see firstSequences; nil if sequences do not overlap or byEnd is set
	byEnd     bool           // sequences are sorted by their ends: llvm looks only at the first one that ends after an address
}

// Opcodes of DWARF 5 §7.22.
const (
	lnsExtended       = 0
	lnsCopy           = 1
	lnsAdvancePC      = 2
	lnsAdvanceLine    = 3
	lnsSetFile        = 4
	lnsSetColumn      = 5
	lnsNegateStmt     = 6
	lnsSetBasicBlock  = 7
	lnsConstAddPC     = 8
	lnsFixedAdvancePC = 9
	lnsSetISA         = 12
	lneEndSequence    = 1
	lneSetAddress     = 2
	lneDefineFile     = 3
)

// specialOpcodes holds the address and line advances of the special opcodes (DWARF 5 §6.2.5.1). Nearly all units of a file share
// them.
type specialOpcodes struct {
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	addr              [256]uint64
	line              [256]uint32
}

// specialOpcodesWeight is the memory of a specialOpcodes, in bytes.
const specialOpcodesWeight = 256 * 12

// specialOpcodes returns the advances for a line table.
func (r *lastUsed) specialOpcodes(t *lineTable, limits *budget.File) *specialOpcodes {
	if s := r.opcodes.Load(); s != nil && s.minInst == t.minInst && s.maxOps == t.maxOps &&
		s.lineBase == t.lineBase && s.lineRange == t.lineRange && s.opBase == t.opBase {
		return s
	}
	s := &specialOpcodes{minInst: t.minInst, maxOps: t.maxOps, lineBase: t.lineBase, lineRange: t.lineRange, opBase: t.opBase}
	for o := int(t.opBase); o < 256; o++ {
		n := o - int(t.opBase)
		s.addr[o] = uint64(n/int(t.lineRange)) * uint64(t.minInst)
		s.line[o] = uint32(int(t.lineBase) + n%int(t.lineRange))
	}
	limits.Hold(specialOpcodesWeight)
	r.opcodes.Store(s)
	return s
}

// registers are the registers of the line number state machine (DWARF 5 §6.2.2) that are used.
type registers struct {
	addr, opIndex uint64
	line          uint32
	file, col     uint16
	end           bool
}

// advance advances the address by n operations. A VLIW instruction contains several (DWARF 5 §6.2.5.1).
func (r *registers) advance(n uint64, t *lineTable) {
	if t.maxOps <= 1 {
		r.addr += n * uint64(t.minInst)
		return
	}
	n += r.opIndex
	r.addr += n / uint64(t.maxOps) * uint64(t.minInst)
	r.opIndex = n % uint64(t.maxOps)
}

// run executes the line number program of t. The registers that change most often are local variables.
func (t *lineTable) run(b []byte, s *rowSink) {
	initial := registers{file: 1, line: 1}
	r := initial
	addr, line, file, col := r.addr, r.line, r.file, r.col
	p, opBase, special, plain := t.program, t.opBase, t.special, t.maxOps <= 1
	for uint(p) < uint(len(b)) {
		o := b[p]
		p++
		var v uint64
		switch {
		case o >= opBase:
			line += special.line[o]
			if addr += special.addr[o]; !plain {
				r.addr = addr - special.addr[o]
				r.advance(uint64((o-opBase)/t.lineRange), t)
				addr = r.addr
			}
			if s.addSpecial(addr, line, file, col) {
				continue
			}
		case o == lnsCopy:
		case o == lnsSetColumn:
			v, p = bin.ULEB(b, p)
			if col = uint16(v); v > 0xffff {
				col = 0
			}
			continue
		case o == lnsAdvanceLine:
			var n int64
			n, p = bin.SLEB(b, p)
			line += uint32(n)
			continue
		case o == lnsNegateStmt:
			continue
		case o == lnsSetFile:
			v, p = bin.ULEB(b, p)
			file = uint16(min(v, unknownFile))
			continue
		default:
			r.addr = addr
			p = t.rareOpcode(o, b, p, &r, s)
			if addr = r.addr; !r.end {
				continue
			}
		}
		r.addr, r.line, r.file, r.col = addr, line, file, col
		if !s.add(&r) {
			return
		}
		if r.end {
			r = initial
			addr, line, file, col = r.addr, r.line, r.file, r.col
		}
	}
}

// rareOpcode executes the less frequent opcodes, which only advance the address or end the sequence. It returns the position after
// the opcode.
func (t *lineTable) rareOpcode(o byte, b []byte, p int, r *registers, s *rowSink) int {
	var v uint64
	switch o {
	case lnsAdvancePC:
		v, p = bin.ULEB(b, p)
		r.advance(v, t)
	case lnsConstAddPC:
		r.advance(uint64((255-t.opBase)/t.lineRange), t)
	case lnsFixedAdvancePC:
		v, p = bin.Uint(b, p, 2, t.big)
		r.addr, r.opIndex = r.addr+v, 0
	case lnsExtended:
		p = t.extendedOpcode(b, p, r, s)
	case lnsSetBasicBlock, lnsSetISA - 1, lnsSetISA - 2: // prologue end, epilogue begin
	default:
		for n := t.operands[o-1]; n > 0; n-- {
			p = bin.SkipLEB(b, p)
		}
	}
	return p
}

// extendedOpcode executes the extended opcode whose length is at p. It returns the position after it.
func (t *lineTable) extendedOpcode(b []byte, p int, r *registers, s *rowSink) int {
	n, p := bin.ULEB(b, p)
	next := bin.Skip(b, p, n)
	if next == bin.Past || n == 0 {
		return next
	}
	operand := p + 1
	switch b[p] {
	case lneEndSequence:
		r.end = true
	case lneSetAddress:
		if size := int(n) - 1; size == 2 || size == 4 || size == 8 {
			r.addr, _ = bin.Uint(b, operand, size, t.big)
			r.opIndex = 0
		}
	case lneDefineFile:
		s.define(operand, next)
	}
	return next
}

// fileEntry is one file or one directory of a line table.
type fileEntry struct {
	name []byte
	dir  uint64
	md5  []byte // 16 bytes, or nil; only in version 5
}

// nameList is a list of directories or files in a line table header. It is read lazily, because most entries are never used.
type nameList struct {
	p       int         // offset of the first entry in .debug_line
	n       uint64      // number of entries, in version 5; in earlier versions an empty name ends the list
	first   uint64      // number of the first entry
	fields  []nameField // entry format, in version 5
	empty   bool        // entries take no bytes, because all their forms have size 0
	numbers int         // number of LEB128 numbers after a name, before version 5

	searched atomic.Bool               // an entry was searched from the start of the list
	index    atomic.Pointer[nameIndex] // see indexed
}

// nameIndex is an index of a list.
type nameIndex struct {
	at []uint32 // offset of every nameStep-th entry from the start of the list
	n  uint64   // number of entries
}

// nameStep is the number of entries that are skipped without an index.
const nameStep = 16

// fieldWeight is the memory of a field of the entry format, in bytes.
const fieldWeight = 24

// nameField is one field of the entry format (DWARF 5 §6.2.4.1). kind and size come from formOp.
type nameField struct {
	content, form uint64
	kind          opKind
	size          uint32
}

// read reads the entry format of a list and the number of its entries (DWARF 5 §6.2.4).
func (l *nameList) read(c *bin.Cursor, at layout) {
	l.fields, l.empty = make([]nameField, c.U8()), true
	for i := range l.fields {
		f := nameField{content: c.ULEB(), form: c.ULEB()}
		f.kind, f.size = formOp(f.form, at)
		l.fields[i] = f
		l.empty = l.empty && f.kind == opFixed && f.size == 0
	}
	if l.n, l.p = c.ULEB(), c.P; len(l.fields) == 0 || !c.OK() {
		l.n = 0
	}
}

// skipAll moves c after the list.
func (l *nameList) skipAll(c *bin.Cursor, at layout, limits *budget.File) {
	if l.empty {
		return
	}
	t := budget.Tally{Of: limits}
	for n := l.n; n > 0 && c.P < len(c.B); n-- {
		c.P = l.skipEntry(c.B, c.P, at)
		t.Add(len(l.fields), 0)
	}
	t.Flush()
}

// skipEntry returns the position after the entry at p.
func (l *nameList) skipEntry(b []byte, p int, at layout) int {
	for i := range l.fields {
		f := &l.fields[i]
		p = skipForm(b, p, f.kind, f.size, at)
	}
	return p
}

// entry returns the entry of a list with number i, or a zero fileEntry. Before version 5, directory 0 is the compilation directory,
// which is not in the list, and there is no file 0.
func (t *lineTable) entry(l *nameList, i uint64) (e fileEntry) {
	u := t.u
	b := u.f.line.UpTo(t.program)
	p := l.p
	if i < l.first {
		return e
	}
	if i -= l.first; t.version >= 5 && (i >= l.n || l.empty) {
		return e
	}
	if i >= nameStep {
		if l.searched.Load() || !l.searched.CompareAndSwap(false, true) {
			index := t.indexed(l)
			if i >= index.n {
				return e
			}
			p += int(index.at[i/nameStep])
			i %= nameStep
		} else {
			u.f.budget.Spend(int(min(i, uint64(len(b)))) * (1 + len(l.fields)))
		}
	}
	if t.version < 5 {
		return l.oldEntry(b, p, i)
	}
	for ; i > 0 && p < len(b); i-- {
		p = l.skipEntry(b, p, t.layout)
	}
	for k := range l.fields {
		f := &l.fields[k]
		v, form, next := readForm(b, p, f.form, t.layout)
		switch {
		case next == bin.Past || next > len(b):
			return fileEntry{}
		case f.content == lnctDirectoryIndex:
			e.dir = v
		case f.content == lnctMD5 && next-p == md5.Size:
			e.md5 = b[p:next]
		case f.content == lnctPath && form == formString:
			e.name = b[p : next-1]
		case f.content == lnctPath:
			e.name = u.string(form, v)
		}
		p = next
	}
	return e
}

// indexed returns the index of a list. The first call builds it.
func (t *lineTable) indexed(l *nameList) *nameIndex {
	if x := l.index.Load(); x != nil {
		return x
	}
	x := &nameIndex{}
	b, kept := t.u.f.line.UpTo(t.program), budget.Tally{Of: t.u.f.budget}
	c := &bin.Cursor{B: b, P: l.p}
	for ; t.version < 5 || x.n < l.n; x.n++ {
		at := c.P
		if at >= len(b) || uint64(at-l.p) > 1<<32-1 {
			break
		}
		if t.version >= 5 {
			c.P = l.skipEntry(b, at, t.layout)
		} else {
			if len(c.CString()) == 0 {
				break
			}
			for range l.numbers {
				c.ULEB()
			}
		}
		if kept.Add(1+len(l.fields), 0); x.n%nameStep == 0 {
			x.at = append(x.at, uint32(at-l.p))
			kept.Add(0, 2*4)
		}
	}
	kept.Flush()
	l.index.Store(x)
	return x
}

// oldEntry returns the i-th entry from p on in a list before version 5: an empty name ends the list, and numbers follow each name,
// of which the first one is the directory.
func (l *nameList) oldEntry(b []byte, p int, i uint64) (e fileEntry) {
	c := &bin.Cursor{B: b, P: p}
	for ; ; i-- {
		name := c.CString()
		if len(name) == 0 {
			return fileEntry{}
		}
		e = fileEntry{name: name}
		for k := range l.numbers {
			if v := c.ULEB(); k == 0 {
				e.dir = v
			}
		}
		if i == 0 {
			break
		}
	}
	if !c.OK() {
		return fileEntry{}
	}
	return e
}

// headerFiles returns the number of file numbers that the header uses: before version 5 with file 0, which does not exist.
func (t *lineTable) headerFiles() uint64 {
	if t.version >= 5 {
		return t.files.n
	}
	return t.files.first + t.indexed(&t.files).n
}

// sourceFile is a source file.
type sourceFile struct {
	path    string // compilation directory, directory and name joined
	compDir int    // length of the compilation directory at the start of path, in bytes
	md5     string // 16 bytes, or ""
}

// noSource is the source file of an invalid number.
var noSource sourceFile

// sourceFile returns the file with number i, or noSource.
func (t *lineTable) sourceFile(i uint64) *sourceFile {
	u := t.u
	if paths := t.paths.Load(); paths != nil && i < uint64(len(*paths)) {
		if s := (*paths)[i].Load(); s != nil {
			return s
		}
	}
	if i >= unknownFile {
		return &noSource
	}
	entry := t.entry(&t.files, i)
	if entry.name == nil {
		if n := t.headerFiles(); i >= n {
			entry = t.definedFile(i - n)
		}
	}
	s := &noSource
	if entry.name != nil {
		var memory [256]byte
		path, compDir := t.joinPath(memory[:0], entry)
		s = u.f.sources.find(path, compDir, entry.md5)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	t.remember(i, s, u.f.budget)
	return s
}

// remember stores the file with number i. The unit is locked.
func (t *lineTable) remember(i uint64, s *sourceFile, limits *budget.File) {
	paths := t.paths.Load()
	if paths == nil || i >= uint64(len(*paths)) {
		longer := make([]atomic.Pointer[sourceFile], max(i+8, 8))
		if paths != nil {
			longer = make([]atomic.Pointer[sourceFile], max(i+8, 2*uint64(len(*paths))))
			for k := range *paths {
				longer[k].Store((*paths)[k].Load())
			}
		}
		limits.Hold(len(longer) * 8)
		paths = &longer
		t.paths.Store(paths)
	}
	(*paths)[i].Store(s)
}

// sourceTable holds the source files of all units of a file, by path. Many units have the same ones.
type sourceTable struct {
	limits *budget.File
	mu     sync.Mutex
	m      map[string]*sourceFile
}

// sourceWeight is the memory of a source file without the bytes of its path, in bytes.
const sourceWeight = 128

// find returns the source file with a path, a length of the compilation directory, and a checksum.
func (t *sourceTable) find(path []byte, compDir int, sum []byte) *sourceFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.m[string(path)]
	if s == nil || s.compDir != compDir || s.md5 != string(sum) {
		t.limits.Spend(len(path))
		t.limits.Hold(len(path) + sourceWeight)
	}
	if s == nil {
		s = &sourceFile{string(path), compDir, string(sum)}
		if t.m == nil {
			t.m = make(map[string]*sourceFile)
		}
		t.m[s.path] = s
	} else if s.compDir != compDir || s.md5 != string(sum) {
		s = &sourceFile{s.path, compDir, string(sum)}
	}
	return s
}

// maxPath bounds the parts of a path, in bytes; only damaged files have longer ones.
const maxPath = 1 << 14

// joinPath appends the compilation directory, the directory and the name of a file to path. It returns the path and the length of the
// compilation directory at its start: 0 if the name or the directory is absolute, except for directory 0 of version 5, which is the
// compilation directory.
func (t *lineTable) joinPath(path []byte, f fileEntry) ([]byte, int) {
	if absolute(f.name) {
		return append(path, f.name[:min(len(f.name), maxPath)]...), 0
	}
	dir := t.entry(&t.dirs, f.dir).name
	if len(dir)+len(f.name) > maxPath {
		return path, 0
	}
	isCompDir := t.version >= 5 && f.dir == 0
	if !isCompDir && !absolute(dir) {
		path = append(path, t.u.compDirectory()...)
	}
	path = appendPath(appendPath(path, dir), f.name)
	if !isCompDir && absolute(dir) {
		return path, 0
	}
	var memory [256]byte
	relative := memory[:0]
	if !isCompDir {
		relative = appendPath(relative, dir)
	}
	return path, max(0, len(path)-len(appendPath(relative, f.name)))
}

// absolute reports whether a path is absolute, on Unix or on Windows.
func absolute(path []byte) bool {
	if len(path) > 0 && (path[0] == '/' || path[0] == '\\') {
		return true
	}
	return len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\')
}

// appendPath appends a component to path, separated by one slash.
func appendPath(path, component []byte) []byte {
	if len(component) == 0 {
		return path
	}
	if n := len(path); n > 0 {
		if path[n-1] == '/' {
			for len(component) > 0 && component[0] == '/' {
				component = component[1:]
			}
		} else if component[0] != '/' {
			path = append(path, '/')
		}
	}
	return append(path, component...)
}
