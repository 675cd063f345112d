package dwarf

import (
	"crypto/md5"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// fileEntry is one file of a line table, or one directory.
type fileEntry struct {
	name []byte
	dir  uint64
	md5  []byte // 16 bytes, or nil: version 5 may have it
}

// nameList is where a list of directories or files is in a header. Most of its entries are never asked for.
type nameList struct {
	p       int         // its first entry, in .debug_line
	n       uint64      // how many there are; before version 5 they end with an empty name
	first   uint64      // the number of the first one
	fields  []nameField // of an entry, in version 5
	empty   bool        // all of them are in the header: entries take no bytes, and say nothing
	numbers int         // after a name, before that

	walked atomic.Bool               // over, from its start
	index  atomic.Pointer[nameIndex] // see indexed
}

// nameIndex is where the entries of a list are, every nameStep-th, from the list's start on, and how many there are.
type nameIndex struct {
	at []uint32
	n  uint64
}

// nameStep entries of a list are passed over for another one without looking for a shorter way.
const nameStep = 16

// fieldWeight is what a field of an entry takes in memory, in bytes.
const fieldWeight = 24

type nameField struct {
	content, form uint64
	kind          opKind
	size          uint32
}

// read reads how the entries of a list are laid out, and their number (DWARF 5 §6.2.4).
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

// pass goes over the list.
func (l *nameList) pass(c *bin.Cursor, at layout, left *budget.File) {
	if l.empty {
		return
	}
	t := budget.Tally{Of: left}
	for n := l.n; n > 0 && c.P < len(c.B); n-- {
		c.P = l.passEntry(c.B, c.P, at)
		t.Add(len(l.fields), 0)
	}
	t.Flush()
}

func (l *nameList) passEntry(b []byte, p int, at layout) int {
	for i := range l.fields {
		f := &l.fields[i]
		p = skipForm(b, p, f.kind, f.size, at)
	}
	return p
}

// entry returns entry i of a list: nothing where there is none. Before version 5 directory 0 is the compilation directory,
// and there is no file 0.
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
		if l.walked.Load() || !l.walked.CompareAndSwap(false, true) {
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
		p = l.passEntry(b, p, t.layout)
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

// indexed returns the index of a list, made when it is first wanted.
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
			c.P = l.passEntry(b, at, t.layout)
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

// oldEntry returns the i-th entry of a list at p that ends with an empty name; after each name come numbers, of which the
// first is the directory.
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

// declared returns how many files the header has, with those that no number leads to.
func (t *lineTable) declared() uint64 {
	if t.version >= 5 {
		return t.files.n
	}
	return t.files.first + t.indexed(&t.files).n
}

// sourceFile is the path of a source file: compilation directory, directory and name joined.
type sourceFile struct {
	path    string
	compDir int // how many bytes at its start are the compilation directory
	md5     string
}

// noSource is a file that there is not.
var noSource sourceFile

// sourceFile returns the file of a number.
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
		if n := t.declared(); i >= n {
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

// remember notes the file of a number. The unit is locked.
func (t *lineTable) remember(i uint64, s *sourceFile, left *budget.File) {
	paths := t.paths.Load()
	if paths == nil || i >= uint64(len(*paths)) {
		longer := make([]atomic.Pointer[sourceFile], max(i+8, 8))
		if paths != nil {
			longer = make([]atomic.Pointer[sourceFile], max(i+8, 2*uint64(len(*paths))))
			for k := range *paths {
				longer[k].Store((*paths)[k].Load())
			}
		}
		left.Hold(len(longer) * 8)
		paths = &longer
		t.paths.Store(paths)
	}
	(*paths)[i].Store(s)
}

// sourceTable holds the paths of a file: many units have the same ones.
type sourceTable struct {
	left *budget.File // of the file
	mu   sync.Mutex
	m    map[string]*sourceFile
}

// sourceWeight is what a path takes in memory beside its bytes, and what leads to it.
const sourceWeight = 128

func (t *sourceTable) find(path []byte, compDir int, sum []byte) *sourceFile {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.m[string(path)]
	if s == nil || s.compDir != compDir || s.md5 != string(sum) {
		t.left.Spend(len(path))
		t.left.Hold(len(path) + sourceWeight)
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

// maxPath bounds a path's parts; more is damage.
const maxPath = 1 << 14

// joinPath appends compilation directory, directory and name to path, and returns how many bytes at its start are the
// compilation directory. An absolute name has none, nor has one in an absolute directory, unless that is the one of
// version 5 that is for the compilation directory.
func (t *lineTable) joinPath(path []byte, f fileEntry) ([]byte, int) {
	if absolute(f.name) {
		return append(path, f.name[:min(len(f.name), maxPath)]...), 0
	}
	dir := t.entry(&t.dirs, f.dir).name
	if len(dir)+len(f.name) > maxPath {
		return path, 0
	}
	own := t.version >= 5 && f.dir == 0
	if !own && !absolute(dir) {
		path = append(path, t.u.compDirectory()...)
	}
	path = appendPath(appendPath(path, dir), f.name)
	if !own && absolute(dir) {
		return path, 0
	}
	var memory [256]byte
	relative := memory[:0]
	if !own {
		relative = appendPath(relative, dir)
	}
	return path, max(0, len(path)-len(appendPath(relative, f.name)))
}

// absolute reports whether a path needs no directory before it, on Unix or on Windows.
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
