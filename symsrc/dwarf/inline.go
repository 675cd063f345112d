package dwarf

import (
	"slices"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
)

// tree holds the calls that were inlined into a function, in the file's order: a call comes before those within it. But
// for the calls' names it does not change. There is a tree for every function that was asked about, so it is compact: its
// slices hold no pointers, and addresses count from base on. Code 4 GiB beyond the function is damage, and not in it.
type tree struct {
	base    uint64
	extents []extent // of the calls, apart from them: most of a search reads nothing else
	calls   []call
	ranges  []shortSpan
}

// shortSpan is a range of addresses that count from a base on.
type shortSpan struct{ lo, hi uint32 }

// extent is what lies around the code of a call and of those within it.
type extent struct {
	shortSpan
	next int32 // the first call after those within this one
}

// call is a function inlined at a place.
type call struct {
	die       int    // of the inlined function, or of this call where that is unknown
	name      uint32 // its number in the file's table of names, set atomically; 0 until asked for
	parent    int32  // the call that this one is within, or −1
	line      uint32 // where it is called
	first, n  int32  // its ranges
	file, col uint16
}

// maxInlined bounds how deep calls are inlined into each other; a deeper chain is damage.
const maxInlined = 1000

// chain appends the calls that cover the address, the innermost one first, and returns the start of the innermost one's
// range; found is false where no call covers it. It is the last call in the file that counts, and those that it is in.
func (t *tree) chain(addr uint64, out []int32, left *budget.File) (calls []int32, lo uint64, found bool) {
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
	left.Answer(steps)
	n := len(out)
	out = t.around(at, out)
	return out, lo, len(out) > n
}

// around appends a call and those that it is in; nothing where it is −1, or in too many.
func (t *tree) around(at int32, out []int32) []int32 {
	for n := len(out); at >= 0; at = t.calls[at].parent {
		if out = append(out, at); len(out) > maxInlined {
			return out[:n]
		}
	}
	return out
}

// treeOf reads the calls inlined into the function, once.
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

// readTree reads them, and if dies is not nil where the entries of the calls are.
func (u *Unit) readTree(f *function, dies *[]int) *tree {
	r := treeReaders.Get().(*treeReader)
	defer treeReaders.Put(r)
	*r = treeReader{u: u, b: u.bytes(), dies: dies, kept: budget.Tally{Of: u.f.budget}, calls: r.calls[:0], extents: r.extents[:0], ranges: r.ranges[:0], open: r.open[:0], spans: r.spans[:0]}
	r.read(f.die)
	t := r.tree()
	r.u, r.b, r.dies = nil, nil, nil
	u.f.hooks.Touched(mappedAround)
	return t
}

// mappedAround is how much of a file one look into its mapping brings in, about.
const mappedAround = 1 << 15

// treeReader reads the entries below a subprogram.
type treeReader struct {
	u       *Unit
	b       []byte
	calls   []call
	extents []wideExtent // of the calls
	ranges  []elf.Span
	open    []int32 // for each entry around this one: the call that it is, or that of the entry around it
	d       attributes
	spans   []elf.Span // of the call at hand
	dies    *[]int     // if not nil: where the entries of the calls are
	kept    budget.Tally
}

// callWeight is what a call takes in memory, in bytes.
const callWeight = 64

// wideExtent is an extent with whole addresses.
type wideExtent struct {
	elf.Span
	next int32
}

// treeReaders keeps the memory of readers.
var treeReaders = sync.Pool{New: func() any { return new(treeReader) }}

// noCalls is the tree of a function without inlined calls.
var noCalls tree

// tree makes addresses short.
func (r *treeReader) tree() *tree {
	if len(r.calls) == 0 {
		return &noCalls
	}
	t := &tree{base: ^uint64(0), calls: slices.Clone(r.calls), extents: make([]extent, len(r.calls)), ranges: make([]shortSpan, len(r.ranges))}
	for _, s := range r.ranges {
		t.base = min(t.base, s.Lo)
	}
	for i, x := range r.extents {
		t.extents[i] = extent{t.short(x.Span), x.next}
	}
	for i, s := range r.ranges {
		if t.ranges[i] = t.short(s); s.Hi-t.base > 1<<32-1 {
			t.ranges[i] = shortSpan{}
		}
	}
	return t
}

// short counts from base on. What goes beyond is cut off.
func (t *tree) short(s elf.Span) shortSpan {
	if s.Lo >= s.Hi {
		return shortSpan{}
	}
	const most = 1<<32 - 1
	return shortSpan{uint32(min(s.Lo-t.base, most)), uint32(min(s.Hi-t.base, most))}
}

func (r *treeReader) read(die int) {
	end := r.entries(die)
	r.kept.Add(min(end, r.u.end)-die, 0)
	r.kept.Flush()
}

// entries reads the entry at die and all below it, and returns where that ended.
func (r *treeReader) entries(die int) int {
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
			p = r.pass(start, p, a, c)
			continue
		default:
			p = u.skipEntry(b, p, a, c)
		}
		if a.children {
			r.open = append(r.open, at)
		}
	}
	for len(r.open) > 0 { // the unit is cut off
		r.close()
	}
	return p
}

// holdsCalls reports whether inlined calls lie within entries of a tag, in a function.
func holdsCalls(tag uint16) bool {
	switch tag {
	case tagLexicalBlock, tagTryBlock, tagCatchBlock, tagWithStmt, tagInlinedSubroutine:
		return true
	}
	return tag >= tagLoUser && tag != tagGNUCallSite
}

// close leaves an entry. A call then takes its place in the extent of the call around it.
func (r *treeReader) close() {
	n := len(r.open) - 1
	at := r.open[n]
	r.open = r.open[:n]
	if at < 0 || n > 0 && r.open[n-1] == at {
		return
	}
	r.finish(at)
}

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

// call takes an inlined call whose attributes begin at p.
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
	var x wideExtent
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

// pass goes over an entry and all its children.
func (r *treeReader) pass(start, p int, a *decl, c *compiled) int {
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
