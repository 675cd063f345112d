package dwarf

import (
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// tree holds the calls that were inlined into a function, in file order: a call precedes the calls nested in it. It does not
// change, except for the lazy names of the calls. Every function that was looked up has a tree, so it is compact: its slices hold
// no pointers, and addresses are relative to base. Code more than 4 GiB after base, which only damaged files have, is not in it.
type tree struct {
	base    uint64
	extents []extent // of the calls, in a slice of their own because most of a search reads nothing else
	calls   []call
	ranges  []relativeSpan
}

// relativeSpan is a range of addresses relative to the base of a tree.
type relativeSpan struct{ lo, hi uint32 }

// extent is the smallest range that contains the code of a call and of the calls nested in it.
type extent struct {
	relativeSpan
	next int32 // index of the first call after the nested ones
}

// call is an inlined call.
type call struct {
	die       int    // offset of the entry of the inlined function, or of this call if that is unknown
	name      uint32 // number of its name in the file's table of names, set atomically; 0 until it is first used
	parent    int32  // index of the call that contains this one, or −1
	line      uint32 // position of the call
	first, n  int32  // its ranges in tree.ranges
	file, col uint16
}

// maxInlined bounds the depth of inlined calls; only damaged files have deeper ones.
const maxInlined = 1000

// chain appends the calls that cover the address, the innermost one first, and returns the start of the range of the innermost
// one. It returns false if no call covers the address. The innermost call is the last one in the file that covers it.
func (t *tree) chain(addr uint64, out []int32, limits *budget.File) (calls []int32, lo uint64, found bool) {
	if addr-t.base > 1<<32-1 {
		return out, 0, false
	}
	at, rel := int32(-1), uint32(addr-t.base)
	extents, steps := t.extents, 0
	for i := 0; i < len(extents); steps++ {
		x := &extents[i]
		if rel-x.lo >= x.hi-x.lo {
			i = int(x.next)
			continue
		}
		c := &t.calls[i]
		steps += int(c.n)
		for _, r := range t.ranges[c.first : c.first+c.n] {
			if rel-r.lo < r.hi-r.lo {
				at, lo = int32(i), t.base+uint64(r.lo)
				break
			}
		}
		i++
	}
	limits.Answer(steps)
	n := len(out)
	out = t.ancestors(at, out)
	return out, lo, len(out) > n
}

// ancestors appends a call and the calls that contain it. It appends nothing if at is −1 or the call is nested too deeply.
func (t *tree) ancestors(at int32, out []int32) []int32 {
	for n := len(out); at >= 0; at = t.calls[at].parent {
		if out = append(out, at); len(out) > maxInlined {
			return out[:n]
		}
	}
	return out
}

// treeOf returns the calls inlined into the function. It reads them once.
func (u *Unit) treeOf(f *function) *tree {
	if t := f.tree.Load(); t != nil {
		return t
	}
	t := u.readTree(f, nil)
	if !f.tree.CompareAndSwap(nil, t) {
		return f.tree.Load()
	}
	return t
}

// readTree reads the calls inlined into the function. If dies is not nil, it appends the offsets of their entries to it.
func (u *Unit) readTree(f *function, dies *[]int) *tree {
	r := treeReaders.Get().(*treeReader)
	defer treeReaders.Put(r)
	*r = treeReader{u: u, b: u.bytes(), dies: dies, kept: budget.Tally{Of: u.f.budget}, calls: r.calls[:0], extents: r.extents[:0], ranges: r.ranges[:0], open: r.open[:0], spans: r.spans[:0]}
	r.read(f.die)
	t := r.tree()
	r.u, r.b, r.dies = nil, nil, nil
	u.f.hooks.Consumed(mappedAround)
	return t
}

// mappedAround is about how many bytes of a file one page fault in its mapping reads.
const mappedAround = 1 << 15

// treeReader reads the entries below a subprogram.
type treeReader struct {
	u       *Unit
	b       []byte
	calls   []call
	extents []absoluteExtent // of the calls
	ranges  []elf.Span
	open    []int32 // for each open entry: the innermost call that contains its children, or −1
	d       attributes
	spans   []elf.Span // of the current call
	dies    *[]int     // if not nil: takes the offsets of the entries of the calls
	kept    budget.Tally
}

// callWeight is the memory of a call, in bytes.
const callWeight = 64

// absoluteExtent is an extent with absolute addresses.
type absoluteExtent struct {
	elf.Span
	next int32
}

// treeReaders holds the memory of readers.
var treeReaders = sync.Pool{New: func() any { return new(treeReader) }}

// noCalls is the tree of a function without inlined calls.
var noCalls tree

// tree returns the calls that were read, with relative addresses.
func (r *treeReader) tree() *tree {
	if len(r.calls) == 0 {
		return &noCalls
	}
	t := &tree{base: ^uint64(0), calls: slices.Clone(r.calls), extents: make([]extent, len(r.calls)), ranges: make([]relativeSpan, len(r.ranges))}
	for _, s := range r.ranges {
		t.base = min(t.base, s.Lo)
	}
	for i, x := range r.extents {
		t.extents[i] = extent{t.relative(x.Span), x.next}
	}
	for i, s := range r.ranges {
		if t.ranges[i] = t.relative(s); s.Hi-t.base > 1<<32-1 {
			t.ranges[i] = relativeSpan{}
		}
	}
	return t
}

// relative returns s relative to base, clipped to 4 GiB.
func (t *tree) relative(s elf.Span) relativeSpan {
	if s.Lo >= s.Hi {
		return relativeSpan{}
	}
	const most = 1<<32 - 1
	return relativeSpan{uint32(min(s.Lo-t.base, most)), uint32(min(s.Hi-t.base, most))}
}

// read reads the calls inlined into the subprogram whose entry is at die.
func (r *treeReader) read(die int) {
	end := r.readEntries(die)
	r.kept.Add(min(end, r.u.end)-die, 0)
	r.kept.Flush()
}

// readEntries reads the entry at die and its descendants, and returns the position after them.
func (r *treeReader) readEntries(die int) int {
	u, b := r.u, r.b
	code, p := bin.ULEB(b, die)
	a, c := u.abbrevs.find(code)
	decls := c.decls
	p = u.skipEntry(b, p, a, c)
	if !a.children {
		return p
	}
	r.open = append(r.open, -1)
	for uint(p) < uint(len(b)) {
		start := p
		code := uint64(b[p])
		if p++; code >= 0x80 {
			code, p = bin.ULEB(b, start)
		}
		if code == 0 {
			if r.close(); len(r.open) == 0 {
				return p
			}
			continue
		}
		if code < uint64(len(decls)) && decls[code].tag != 0 {
			a = &decls[code]
		} else if a, c = u.abbrevs.find(code); a.tag == 0 {
			break
		} else {
			decls = c.decls
		}
		at := r.open[len(r.open)-1]
		switch {
		case a.tag == tagInlinedSubroutine:
			at, p = r.call(start, p, c.read(a), a.children)
		case a.children && !holdsCalls(a.tag):
			p = r.skipSubtree(start, p, a, c)
			continue
		default:
			p = u.skipEntry(b, p, a, c)
		}
		if a.children {
			r.open = append(r.open, at)
		}
	}
	for len(r.open) > 0 { // the unit is truncated
		r.close()
	}
	return p
}

// holdsCalls reports whether entries of a tag may contain inlined calls of the enclosing function.
func holdsCalls(tag uint16) bool {
	switch tag {
	case tagLexicalBlock, tagTryBlock, tagCatchBlock, tagWithStmt, tagInlinedSubroutine:
		return true
	}
	return tag >= tagLoUser && tag != tagGNUCallSite
}

// close ends an entry. If it is a call, its extent is complete.
func (r *treeReader) close() {
	n := len(r.open) - 1
	at := r.open[n]
	r.open = r.open[:n]
	if at < 0 || n > 0 && r.open[n-1] == at {
		return
	}
	r.finish(at)
}

// finish completes the extent of a call and adds it to the extent of the call that contains it.
func (r *treeReader) finish(at int32) {
	x := &r.extents[at]
	x.next = int32(len(r.calls))
	if parent := r.calls[at].parent; parent >= 0 {
		o := &r.extents[parent]
		if o.Lo == o.Hi {
			o.Span = x.Span
		} else if x.Lo < x.Hi {
			o.Lo, o.Hi = min(o.Lo, x.Lo), max(o.Hi, x.Hi)
		}
	}
}

// call reads an inlined call whose attributes begin at p. It returns the index of the call and the position after the attributes.
func (r *treeReader) call(die, p int, steps []op, children bool) (int32, int) {
	u := r.u
	p = u.readEntry(r.b, p, steps, &r.d)
	r.spans = u.ranges(&r.d, r.spans[:0])
	spans := r.spans
	r.kept.Add(1, callWeight+len(spans)*spanWeight)
	c := call{die: die, parent: r.open[len(r.open)-1], first: int32(len(r.ranges)), n: int32(len(spans)),
		line: uint32(r.d.number(attrCallLine)), file: uint16(min(r.d.number(attrCallFile), unknownFile))}
	if col := r.d.number(attrCallColumn); col <= 0xffff {
		c.col = uint16(col)
	}
	if origin, ok := u.reference(&r.d, attrOrigin); ok && !r.d.has(attrName) && !r.d.has(attrLinkageName) {
		c.die = origin
	}
	var x absoluteExtent
	for i, s := range spans {
		if i == 0 {
			x.Span = s
		}
		x.Lo, x.Hi = min(x.Lo, s.Lo), max(x.Hi, s.Hi)
	}
	r.ranges = append(r.ranges, spans...)
	at := int32(len(r.calls))
	r.calls, r.extents = append(r.calls, c), append(r.extents, x)
	if r.dies != nil {
		*r.dies = append(*r.dies, die)
	}
	if !children {
		r.finish(at)
	}
	return at, p
}

// skipSubtree returns the position after an entry and its descendants.
func (r *treeReader) skipSubtree(start, p int, a *decl, c *compiled) int {
	u, b := r.u, r.b
	for depth := 0; ; {
		jumped := false
		if a.children && a.sibling >= 0 {
			if next, q := bin.Uint(b, p+int(a.sibling), 4, u.big); q != bin.Past && u.off+int(next) > start {
				p, jumped = u.off+int(next), true
			}
		}
		if !jumped {
			if p = u.skipEntry(b, p, a, c); a.children {
				depth++
			}
		}
		for depth > 0 && uint(p) < uint(len(b)) && b[p] == 0 {
			p, depth = p+1, depth-1
		}
		if depth == 0 || uint(p) >= uint(len(b)) {
			return p
		}
		var code uint64
		start = p
		code, p = bin.ULEB(b, p)
		if a, c = u.abbrevs.find(code); a.tag == 0 {
			return bin.Past
		}
	}
}

// Frames returns the frames of an address according to the unit's debug information, the innermost one first, or nil. The name of
// the physical function is set only if outerName or short is. With short set, the names are those of DW_AT_name, which are not
// cached, because they are rarely used.
func (u *Unit) Frames(addr uint64, outerName, short bool) []symsrc.Frame {
	first := !u.touched.Load() && u.touched.CompareAndSwap(false, true)
	var memory [64]int32
	calls := memory[:0]
	body := u.body()
	fn, in := body.functionAt(addr, first && u.f.index.answered.CompareAndSwap(false, true))
	scope := in.Lo
	lines := u.lineTable()
	var t *tree
	if fn != nil {
		t = body.treeOf(fn)
		if in.call != 0 {
			calls = t.ancestors(in.call-1, calls)
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
		if u.f.rules.ReportEntries && frame.File == "" && frame.Line == 0 && frame.Column == 0 {
			frame.Entry = body.entryOf(die)
		}
	}
	return frames
}

// FunctionStart returns the start of the range, around an address, of the function that covers it. It returns false if there is none.
func (u *Unit) FunctionStart(addr uint64) (start uint64, ok bool) {
	fn, in := u.body().functionAt(addr, false)
	return in.Lo, fn != nil
}

// nameOfCall returns the name of an inlined function.
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

// nameOfFunction returns the name of a physical function in the debug information.
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
	// ID identifies the call in its function. Nested calls have a greater one.
	ID int
	// Func is the demangled name of the inlined function.
	Func string
	// File and Line are the position of the call.
	File string
	Line int
}

// Place is the function and the source position of an address.
type Place struct {
	Function *function     // identifies the physical function; nil if there is none
	Start    uint64        // start of the range of that function around the address
	Name     string        // demangled name of that function; "" if it is unknown
	File     string        // path of the source file of the innermost function; "" if it is unknown
	Line     int           // line in File; 0 if it is unknown
	Calls    []InlinedCall // inlined calls, the outermost one first
	memory   []int32
}

// Describe sets p to the place of an address. It stores the calls in the memory of calls.
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

// pathOf returns the path of a source file, or "" if there is none with that number.
func (t *lineTable) pathOf(file uint16) string {
	if s := t.sourceFile(uint64(file)); s != nil {
		return s.path
	}
	return ""
}

// Boundaries returns the addresses at which rows, functions and inlined calls of the unit begin and end, sorted; if detailed is set, also
// those at which discriminators change.
func (u *Unit) Boundaries(detailed bool) (points []uint64) {
	t := u.lineTable()
	points = t.allRows().appendBoundaries(points)
	if detailed {
		points = t.allDiscriminators().appendBoundaries(points)
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

// appendBoundaries appends the addresses at which rows begin and end.
func (l *lineRows) appendBoundaries(points []uint64) []uint64 {
	for _, s := range l.sequences {
		for _, r := range l.rows[s.first:s.last] {
			points = append(points, s.Lo+uint64(r.rel))
		}
		points = append(points, s.Hi)
	}
	return points
}
