package elfdwarf

// lineTable is the line number information of one unit (DWARF 5 §6.2).
type lineTable struct {
	layout
	minInst, maxOps   uint8
	lineBase          int8
	lineRange, opBase uint8
	operands          []byte // of the standard opcodes
	program, end      int    // of the program, in .debug_line

	dirs     [][]byte
	files    []fileEntry
	declared int      // the files of the header; behind them are those that the program defines
	paths    []string // joined, by file, as far as asked for

	steps     *lineSteps
	rows      []row
	sequences []sequence
	overlap   bool // sequences cover an address twice; then they stay in the file's order
	stored    bool // rows and sequences are there
}

// fileEntry is one file of a line table.
type fileEntry struct {
	name []byte
	dir  uint64
}

// Content types of DWARF 5 §6.2.4.1.
const (
	lnctPath           = 1
	lnctDirectoryIndex = 2
)

// lineTableOf is the unit's line table; nil where it has none that can be read. The unit is locked.
func (u *unit) lineTableOf() *lineTable {
	if u.lines == nil {
		u.lines = &lineTable{stored: true} // an empty one, so that this is tried once
		if u.root.has(attrStmtList) {
			if t := u.readLineHeader(u.root.v[attrStmtList]); t != nil {
				u.lines = t
			}
		}
	}
	return u.lines
}

// readLineHeader reads the header of the line table at off (DWARF 5 §6.2.4); nil where it is damaged.
func (u *unit) readLineHeader(off uint64) *lineTable {
	s := &u.f.line
	if off >= uint64(s.size) {
		return nil
	}
	c := &cursor{b: s.upTo(int(off) + 16), p: int(off), big: u.big}
	n, offSize := c.length()
	if !c.ok() || n > uint64(s.size-c.p) {
		return nil
	}
	t := &lineTable{layout: u.layout, end: c.p + int(n)}
	t.offSize = uint8(offSize)
	c.b = s.upTo(t.end)
	t.version = c.u16()
	if t.version < 2 || t.version > 5 {
		return nil
	}
	if t.version >= 5 {
		t.addrSize = c.u8()
		c.skip(1) // the size of a segment selector
	}
	headerLength := c.uint(offSize)
	start := c.p
	t.minInst, t.maxOps = c.u8(), 1
	if t.version >= 4 {
		t.maxOps = c.u8()
	}
	c.skip(1) // default_is_stmt
	t.lineBase, t.lineRange, t.opBase = int8(c.u8()), c.u8(), c.u8()
	if !c.ok() || t.lineRange == 0 || t.opBase == 0 || headerLength > uint64(t.end-start) {
		return nil
	}
	if t.operands = c.bytes(uint64(t.opBase) - 1); !c.ok() {
		return nil
	}
	t.program = start + int(headerLength)
	if t.program > len(c.b) {
		return nil
	}
	c.b = c.b[:t.program]
	if t.version >= 5 {
		u.readEntries(c, t, func(name []byte, _ uint64) { t.dirs = append(t.dirs, name) })
		u.readEntries(c, t, func(name []byte, dir uint64) { t.files = append(t.files, fileEntry{name, dir}) })
	} else {
		t.readNames(c)
	}
	t.declared = len(t.files)
	t.steps = u.f.lineStepsFor(t)
	return t
}

// readNames reads the lists of versions 2 to 4, where both count from 1: directory 0 is the compilation directory, and
// there is no file 0.
func (t *lineTable) readNames(c *cursor) {
	t.dirs = append(t.dirs, nil)
	for name := c.str(); len(name) > 0; name = c.str() {
		t.dirs = append(t.dirs, name)
	}
	t.files = append(t.files, fileEntry{})
	for name := c.str(); len(name) > 0; name = c.str() {
		t.files = append(t.files, fileEntry{name, c.uleb()})
		c.uleb() // time of last modification
		c.uleb() // length
	}
}

// readEntries reads a list of version 5: how its entries are laid out, their number, and the entries.
func (u *unit) readEntries(c *cursor, t *lineTable, add func(name []byte, dir uint64)) {
	type field struct{ content, form uint64 }
	fields := make([]field, c.u8())
	for i := range fields {
		fields[i] = field{c.uleb(), c.uleb()}
	}
	n := c.uleb()
	if len(fields) == 0 {
		return
	}
	for ; n > 0 && c.ok() && c.p < len(c.b); n-- {
		var name []byte
		var dir uint64
		for _, f := range fields {
			v, form, p := readForm(c.b, c.p, f.form, t.layout)
			switch {
			case p == past:
			case f.content == lnctDirectoryIndex:
				dir = v
			case f.content == lnctPath && form == formString:
				name = c.b[c.p : p-1]
			case f.content == lnctPath:
				name = u.string(form, v)
			}
			c.p = p
		}
		if c.ok() {
			add(name, dir)
		}
	}
}

// path is the name of file i: compilation directory, directory and name joined; "" where there is no such file. The
// unit is locked.
func (u *unit) path(i uint64) string {
	t := u.lineTableOf()
	if i >= min(uint64(len(t.files)), unknownFile) || i == 0 && t.version < 5 {
		return ""
	}
	if len(t.paths) < len(t.files) {
		t.paths = append(t.paths, make([]string, len(t.files)-len(t.paths))...)
	}
	if t.paths[i] == "" {
		t.paths[i] = u.joinPath(t, &t.files[i])
	}
	return t.paths[i]
}

// compDirLength is how many bytes at the start of file i's path are the compilation directory. An absolute name has none,
// nor has one in an absolute directory, unless that is the one of version 5 that stands for the compilation directory.
func (u *unit) compDirLength(i uint64, path string) int {
	t := u.lineTableOf()
	if i >= uint64(len(t.files)) || absolute(t.files[i].name) {
		return 0
	}
	f := &t.files[i]
	var memory [256]byte
	relative := memory[:0]
	if t.version < 5 || f.dir != 0 {
		if f.dir < uint64(len(t.dirs)) {
			relative = appendPath(relative, t.dirs[f.dir])
		}
		if absolute(relative) {
			return 0
		}
	}
	return max(0, len(path)-len(appendPath(relative, f.name)))
}

// maxPath bounds a path's parts; more is damage.
const maxPath = 1 << 14

func (u *unit) joinPath(t *lineTable, f *fileEntry) string {
	if absolute(f.name) {
		return string(f.name[:min(len(f.name), maxPath)])
	}
	var dir []byte
	if f.dir < uint64(len(t.dirs)) {
		dir = t.dirs[f.dir]
	}
	if len(dir)+len(f.name) > maxPath {
		return ""
	}
	var path []byte
	if (t.version < 5 || f.dir != 0) && !absolute(dir) {
		path = append(path, u.compDirectory()...)
	}
	path = appendPath(path, dir)
	return string(appendPath(path, f.name))
}

// absolute tells whether a path needs no directory before it, on Unix or on Windows.
func absolute(path []byte) bool {
	if len(path) > 0 && (path[0] == '/' || path[0] == '\\') {
		return true
	}
	return len(path) > 2 && path[1] == ':' && (path[2] == '/' || path[2] == '\\')
}

// appendPath joins a component with one slash.
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
