package macho

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
)

// Types of entries that debuggers read (<mach-o/stab.h>).
const (
	stabFunction = 0x24 // N_FUN
	stabObject   = 0x66 // N_OSO
	stabSource   = 0x64 // N_SO
)

// Object is an object that a program was linked from. It has the debug information of its functions.
type Object struct {
	// Path is the file of the object, or the static library that it is in, and Member its name there.
	Path, Member string
	// Modified is when it was modified, in seconds since 1970; 0 if the linker did not say.
	Modified int64
}

// DebugMap says in which objects the functions of a program are.
type DebugMap struct {
	objects   []Object
	functions []mapped
	strings   []byte
}

// mapped is a function of the program.
type mapped struct {
	addr, size uint64
	name       uint32
	object     uint32
}

// maxObjects bounds the objects of one program.
const maxObjects = 1 << 17

// ReadDebugMap returns the debug map of a program or a library, nil if it has none: a dSYM takes its place.
func (f *File) ReadDebugMap(limits *budget.File) *DebugMap {
	entries, strs, err := f.table()
	if err != nil {
		return nil
	}
	order, size := f.order(), int(f.nlistSize())
	limits.Spend(len(entries) / size)
	m := &DebugMap{strings: strs}
	inObject := false
	for ; len(entries) >= size; entries = entries[size:] {
		if entries[4]&maskStab == 0 {
			continue
		}
		n := f.entry(order, entries)
		switch n.typ {
		case stabSource:
			inObject = false
		case stabObject:
			path := m.text(n.name)
			if inObject = path != "" && len(m.objects) < maxObjects; inObject {
				const weight = 64
				limits.Hold(weight + len(path))
				m.objects = append(m.objects, newObject(path, int64(n.value)))
			}
		case stabFunction:
			if !inObject {
				continue
			}
			last := len(m.functions) - 1
			if name := m.text(n.name); name == "" { // it has the size of the function before it
				if last >= 0 && m.functions[last].size == 0 {
					m.functions[last].size = n.value
				}
				continue
			}
			const weight = 24
			limits.Hold(weight)
			m.functions = append(m.functions, mapped{addr: n.value, name: n.name, object: uint32(len(m.objects) - 1)})
		}
	}
	if len(m.functions) == 0 {
		return nil
	}
	slices.SortStableFunc(m.functions, func(a, b mapped) int { return cmp.Compare(a.addr, b.addr) })
	return m
}

// newObject returns the object of a path, which may be that of a library with a member: libx.a(y.o).
func newObject(path string, modified int64) Object {
	if open := strings.LastIndexByte(path, '('); open > 0 && strings.HasSuffix(path, ")") {
		return Object{path[:open], path[open+1 : len(path)-1], modified}
	}
	return Object{path, "", modified}
}

// text returns a name of the table.
func (m *DebugMap) text(off uint32) string {
	if uint64(off) >= uint64(len(m.strings)) {
		return ""
	}
	c := bin.Cursor{B: m.strings[:min(uint64(len(m.strings)), uint64(off)+bin.MaxString)], P: int(off)}
	return string(c.CString())
}

// At returns the function at an address: its object, its name without the underscore of C, its start, and its size. It returns false if
// no object has it, or if several functions begin at one address: they were folded, and one debug information is as good as the other.
func (m *DebugMap) At(addr uint64) (o *Object, name string, start, size uint64, ok bool) {
	i := sort.Search(len(m.functions), func(i int) bool { return m.functions[i].addr > addr }) - 1
	if i < 0 {
		return nil, "", 0, 0, false
	}
	fn := &m.functions[i]
	if addr-fn.addr >= fn.size || i > 0 && m.functions[i-1].addr == fn.addr {
		return nil, "", 0, 0, false
	}
	return &m.objects[fn.object], strings.TrimPrefix(m.text(fn.name), "_"), fn.addr, fn.size, true
}
