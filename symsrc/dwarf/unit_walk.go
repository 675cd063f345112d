package dwarf

import "slices"

// InlinedCall is a function inlined into another one.
type InlinedCall struct {
	// ID tells the calls of one function apart. Those within a call come after it.
	ID int
	// Func is the demangled name of the inlined function.
	Func string
	// File and Line are where it is called.
	File string
	Line int
}

// Place is what the debug information says of an address of a unit.
type Place struct {
	Function   *function // nil where it is in none
	Start      uint64    // of that function
	Name, File string
	Line       int
	Calls      []InlinedCall
	memory     []int32
}

// Describe sets p to what a unit says of an address, as frames does. calls is memory for the calls.
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
