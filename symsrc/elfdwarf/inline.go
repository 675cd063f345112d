package elfdwarf

// tree holds the calls that were inlined into a function, in the file's order: a call comes before those within it.
type tree struct {
	calls  []call
	ranges []span
}

// call is a function inlined at a place.
type call struct {
	span            // around its code and that of the calls within it
	die      int    // of the inlined function, or of this call where that is unknown
	next     int32  // the first call behind those within this one
	parent   int32  // the call that this one is within, or −1
	line     uint32 // where it is called
	first, n int32  // its ranges
	file     uint16
	col      uint16
	name     *name // nil until asked for
}

// maxInlined bounds how deep calls are inlined into each other; a deeper chain is damage.
const maxInlined = 1000

// chain appends the calls that cover the address, the innermost one first, and gives the start of the innermost one's
// range; found is false where no call covers it. It is the last call in the file that counts, and those that it is in.
func (t *tree) chain(addr uint64, out []int32) (calls []int32, lo uint64, found bool) {
	at := int32(-1)
	for i := int32(0); int(i) < len(t.calls); {
		c := &t.calls[i]
		if !c.covers(addr) {
			i = c.next
			continue
		}
		for _, r := range t.ranges[c.first : c.first+c.n] {
			if r.covers(addr) {
				at, lo = i, r.lo
				break
			}
		}
		i++
	}
	if at < 0 {
		return out, lo, false
	}
	for n := len(out); at >= 0; at = t.calls[at].parent {
		if out = append(out, at); len(out) > maxInlined {
			return out[:n], lo, false
		}
	}
	return out, lo, true
}

// treeOf reads the calls inlined into the function. The unit is locked.
func (u *unit) treeOf(f *function) *tree {
	if f.tree == nil {
		r := treeReader{u: u, b: u.bytes()}
		r.read(f.die)
		f.tree = &r.tree
	}
	return f.tree
}

// treeReader reads the entries below a subprogram.
type treeReader struct {
	tree
	u      *unit
	b      []byte
	open   []int32 // for each entry around this one: the call that it is, or that of the entry around it
	d      attributes
	memory [16]span
}

func (r *treeReader) read(die int) {
	u, b := r.u, r.b
	code, p := uleb(b, die)
	a, decls := u.abbrevs.find(code)
	p = u.skipEntry(b, p, a)
	if !a.children {
		return
	}
	r.open = append(r.open, -1)
	for uint(p) < uint(len(b)) {
		start := p
		code := uint64(b[p])
		if p++; code >= 0x80 {
			code, p = uleb(b, start)
		}
		if code == 0 {
			if r.close(); len(r.open) == 0 {
				return
			}
			continue
		}
		if code < uint64(len(decls)) && decls[code].tag != 0 {
			a = &decls[code]
		} else if a, decls = u.abbrevs.find(code); a.tag == 0 {
			break
		}
		at := r.open[len(r.open)-1]
		switch {
		case a.tag == tagInlinedSubroutine:
			at, p = r.call(start, p, a)
		case a.children && !holdsCalls(a.tag):
			p = r.pass(start, p, a)
			continue
		default:
			p = u.skipEntry(b, p, a)
		}
		if a.children {
			r.open = append(r.open, at)
		}
	}
	for len(r.open) > 0 { // the unit is cut off
		r.close()
	}
}

// holdsCalls tells the entries within a function in which inlined calls lie.
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
	c := &r.calls[at]
	c.next = int32(len(r.calls))
	if c.parent >= 0 {
		o := &r.calls[c.parent]
		if o.lo == o.hi {
			o.span = c.span
		} else if c.lo < c.hi {
			o.lo, o.hi = min(o.lo, c.lo), max(o.hi, c.hi)
		}
	}
}

// call takes an inlined call whose attributes begin at p.
func (r *treeReader) call(die, p int, a *decl) (int32, int) {
	u := r.u
	p = u.readEntry(r.b, p, a.read(), &r.d)
	spans := u.ranges(&r.d, r.memory[:0])
	c := call{die: die, parent: r.open[len(r.open)-1], first: int32(len(r.ranges)), n: int32(len(spans)),
		line: uint32(r.d.number(attrCallLine)), file: uint16(min(r.d.number(attrCallFile), unknownFile))}
	if col := r.d.number(attrCallColumn); col <= 0xffff {
		c.col = uint16(col)
	}
	if origin, ok := u.reference(&r.d, attrOrigin); ok && !r.d.has(attrName) && !r.d.has(attrLinkageName) {
		c.die = origin
	}
	for i, s := range spans {
		if i == 0 {
			c.span = s
		}
		c.lo, c.hi = min(c.lo, s.lo), max(c.hi, s.hi)
	}
	r.ranges = append(r.ranges, spans...)
	at := int32(len(r.calls))
	r.calls = append(r.calls, c)
	if !a.children {
		r.finish(at)
	}
	return at, p
}

// pass goes over an entry and all its children.
func (r *treeReader) pass(start, p int, a *decl) int {
	u, b := r.u, r.b
	for depth := 0; ; {
		jumped := false
		if a.children && a.sibling >= 0 {
			if next, q := fixed(b, p+int(a.sibling), 4, u.big); q != past && u.off+int(next) > start {
				p, jumped = u.off+int(next), true
			}
		}
		if !jumped {
			if p = u.skipEntry(b, p, a); a.children {
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
		code, p = uleb(b, p)
		if a, _ = u.abbrevs.find(code); a.tag == 0 {
			return past
		}
	}
}
