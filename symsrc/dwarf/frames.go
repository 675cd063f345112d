package dwarf

import (
	"slices"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/names"
)

// Frames returns what the unit's debug information says of an address; the physical function's name only if outerName is
// set. Short names are not kept: few ask for them.
func (u *Unit) Frames(addr uint64, outerName, short bool) []symsrc.Frame {
	first := !u.touched.Load() && u.touched.CompareAndSwap(false, true)
	var memory [64]int32
	calls := memory[:0]
	body := u.body()
	fn, in := body.functionAt(addr, first && u.f.index.asked.CompareAndSwap(false, true))
	scope := in.Lo
	lines := u.lineTable()
	var t *tree
	if fn != nil {
		t = body.treeOf(fn)
		if in.call != 0 {
			calls = t.around(in.call-1, calls)
		} else if inner, lo, found := t.chain(addr, calls, u.f.budget); found {
			calls, scope = inner, lo
		}
	}
	at, located := lines.positionAt(u.f.lineAddr(addr), scope, first)
	if fn == nil && !located {
		return nil
	}
	frames := make([]symsrc.Frame, len(calls)+1)
	for i := range frames {
		frame := &frames[i]
		if located {
			if file := lines.sourceFile(uint64(at.file)); file != nil {
				frame.File, frame.CompDir, frame.MD5 = file.path, file.compDir, file.md5
			}
			if frame.File != "" || i > 0 {
				frame.Line, frame.Column, frame.Approx = int(at.line), int(at.col), at.approx
			}
		}
		var n *names.Name
		die := -1
		if i < len(calls) {
			c := &t.calls[calls[i]]
			n, die = body.nameOfCall(c, short), c.die
			at, located = position{file: c.file, line: c.line, col: c.col}, true
		} else if fn != nil {
			if die = fn.die; outerName || short {
				n = body.nameOfFunction(fn, short)
			}
		}
		if n != nil {
			frame.Func, frame.Linkage = n.Demangled, n.Linkage
		}
		if u.f.rules.Entries && frame.File == "" && frame.Line == 0 && frame.Column == 0 {
			frame.Entry = body.entryOf(die)
		}
	}
	return frames
}

// nameOfCall returns the name of the function that is inlined.
func (u *Unit) nameOfCall(c *call, short bool) *names.Name {
	if short {
		return u.f.names.At(u.readName(c.die, true))
	}
	number := atomic.LoadUint32(&c.name)
	if number == 0 {
		number = u.nameOf(c.die)
		atomic.StoreUint32(&c.name, number)
	}
	return u.f.names.At(number)
}

// nameOfFunction returns the name of a physical function by the debug information.
func (u *Unit) nameOfFunction(f *function, short bool) *names.Name {
	if short {
		return u.f.names.At(u.readName(f.die, true))
	}
	n := f.name.Load()
	if n == nil {
		n = u.f.names.At(u.nameOf(f.die))
		f.name.Store(n)
	}
	return n
}

// InlinedCall is a function inlined into another one.
type InlinedCall struct {
	// ID distinguishes the calls of one function. Those within a call come after it.
	ID int
	// Func is the demangled name of the inlined function.
	Func string
	// File and Line are where it is called.
	File string
	Line int
}

// Place is an address of a unit in the source.
type Place struct {
	Function *function // nil where it is in none
	Start    uint64    // of that function
	Name     string    // of the function, demangled; "" where it is not known
	File     string    // of the innermost function
	Line     int
	Calls    []InlinedCall // the outermost one first
	memory   []int32
}

// Describe sets p to the place of an address. calls is memory for the calls.
func (u *Unit) Describe(addr uint64, p *Place, calls []InlinedCall) {
	body, lines := u.body(), u.lineTable()
	fn, in := body.functionAt(addr, false)
	*p = Place{Function: fn, Calls: calls[:0], memory: p.memory[:0]}
	scope := in.Lo
	var t *tree
	if fn != nil {
		p.Start = scope
		if n := body.nameOfFunction(fn, false); n != nil {
			p.Name = n.Demangled
		}
		t = body.treeOf(fn)
		if around, lo, found := t.chain(addr, p.memory, u.f.budget); found {
			p.memory, scope = around, lo
		}
	}
	if at, located := lines.positionAt(addr, scope, false); located {
		if p.File = lines.pathOf(at.file); p.File != "" && !at.approx {
			p.Line = int(at.line)
		}
	}
	for _, i := range slices.Backward(p.memory) {
		c := &t.calls[i]
		call := InlinedCall{ID: int(i), File: lines.pathOf(c.file), Line: int(c.line)}
		if n := body.nameOfCall(c, false); n != nil {
			call.Func = n.Demangled
		}
		p.Calls = append(p.Calls, call)
	}
}

// pathOf returns the path of a file; "" where there is none.
func (t *lineTable) pathOf(file uint16) string {
	if s := t.sourceFile(uint64(file)); s != nil {
		return s.path
	}
	return ""
}

// Outline returns where the rows, functions and inlined calls of a unit begin and end, in order.
func (u *Unit) Outline() (points []uint64) {
	all := u.lineTable().allRows()
	for _, s := range all.sequences {
		for _, r := range all.rows[s.first:s.last] {
			points = append(points, s.Lo+uint64(r.rel))
		}
		points = append(points, s.Hi)
	}
	body := u.body()
	for kind := range body.functions {
		x := body.indexFunctions(kind)
		for _, s := range x.spans {
			points = append(points, s.Lo, s.Hi)
		}
		for i := range x.functions {
			t := body.treeOf(&x.functions[i])
			for _, r := range t.ranges {
				points = append(points, t.base+uint64(r.lo), t.base+uint64(r.hi))
			}
		}
	}
	slices.Sort(points)
	return slices.Compact(points)
}
