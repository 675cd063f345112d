package dwarf

import (
	"qss-filter/symsrc/bin"
	"sync"
	"sync/atomic"
)

// decl is an abbreviation declaration, compiled. Like op it holds no pointers: there are many, and the garbage collector
// need not look at them.
type decl struct {
	tag      uint16 // 0: not declared
	children bool
	// size is that of all attributes where every form has a fixed one, else −1.
	size int32
	// sibling is where a DW_AT_sibling of form ref4 stands behind attributes of fixed size, else −1.
	sibling int32
	// Its steps begin at ops of those of the table: reads that read the entry, none for tags that are never read; then skips
	// that pass over it, none where it has a fixed size.
	ops              uint32
	reads, skipSteps uint16
}

// compiled is what is compiled of a table; it does not change.
type compiled struct {
	decls []decl // by code, for codes that grow densely
	ops   []op
}

// abbrevs is one abbreviation table, compiled as far as codes were asked for. Tables are shared by units and goroutines:
// declarations are only ever added behind those that a reader can see.
type abbrevs struct {
	f     *Data
	key   abbrevKey
	b     []byte // .debug_abbrev
	forms *formTable
	seen  atomic.Pointer[compiled]

	mu     sync.Mutex
	p      int             // where the next declaration stands; past: no more
	sparse map[uint64]decl // codes that do not, and those without a tag
	ops    []op
	skips  []op // of the declaration being compiled
}

type abbrevKey struct {
	off          uint64
	layout       layout
	declarations bool // what tells where a function is declared is read, too
}

func newAbbrevs(f *Data, off uint64, forms *formTable) *abbrevs {
	t := &abbrevs{f: f, b: f.abbrev.All(), forms: forms, p: bin.Past}
	if off < uint64(len(t.b)) {
		t.p = int(off)
	}
	t.seen.Store(&nothing)
	return t
}

var (
	nothing    compiled
	undeclared = &decl{size: -1, sibling: -1}
)

// find returns the declaration of the code, undeclared where there is none, and all that are compiled.
func (t *abbrevs) find(code uint64) (*decl, *compiled) {
	if c := t.seen.Load(); code < uint64(len(c.decls)) && c.decls[code].tag != 0 {
		return &c.decls[code], c
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.seen.Load()
	if _, ok := t.sparse[code]; !ok && t.p != bin.Past && (code >= uint64(len(c.decls)) || c.decls[code].tag == 0) {
		decls := t.compile(c.decls, code)
		c = &compiled{decls, t.ops}
		t.seen.Store(c)
	}
	if code < uint64(len(c.decls)) && c.decls[code].tag != 0 {
		return &c.decls[code], c
	}
	if d, ok := t.sparse[code]; ok {
		return &d, c
	}
	return undeclared, c
}

// compile goes on until the code is found and a few more are, for those tend to follow. Of a code that is declared twice the
// first declaration counts, however far the table was compiled when the code was asked for.
func (t *abbrevs) compile(all []decl, code uint64) []decl {
	const ahead = 16
	start, end := t.p, t.p
	had, hadOps := len(all), len(t.ops)
	for found, more := false, ahead; t.p != bin.Past && (!found || more > 0); more-- {
		c, p := bin.ULEB(t.b, t.p)
		end = t.p
		if c == 0 {
			t.p = bin.Past
			break
		}
		d := t.decl(p)
		found = found || c == code
		switch _, twice := t.sparse[c]; {
		case twice:
		case d.tag == 0, c < uint64(len(all)):
			t.addSparse(c, d) // out of order, or declared twice
		case c < uint64(len(all))+64:
			if all == nil {
				all = make([]decl, 0, 96)
			}
			for uint64(len(all)) < c {
				all = append(all, decl{})
			}
			all = append(all, d)
		default:
			t.addSparse(c, d)
		}
	}
	if t.p != bin.Past {
		end = t.p
	}
	t.f.budget.Spend(end - start)
	t.f.budget.Hold((len(all)-had)*declWeight + (len(t.ops)-hadOps)*opWeight)
	return all
}

// What a declaration and a step take in memory, with the room that slices leave to grow, in bytes.
const declWeight, opWeight = 48, 16

func (t *abbrevs) addSparse(code uint64, d decl) {
	if t.sparse == nil {
		t.sparse = make(map[uint64]decl)
	}
	t.f.budget.Hold(2 * declWeight)
	t.sparse[code] = d
}

// decl compiles the declaration whose tag stands at p, and moves t.p behind it.
func (t *abbrevs) decl(p int) decl {
	tag, p := bin.ULEB(t.b, p)
	children, p := bin.Uint(t.b, p, 1, false)
	d := decl{tag: uint16(min(tag, 0xffff)), children: children != 0, sibling: -1, ops: uint32(len(t.ops))}
	reads := false
	switch tag {
	case tagCompileUnit, tagPartialUnit, tagTypeUnit, tagSkeletonUnit, tagSubprogram, tagInlinedSubroutine:
		reads = true
	}
	if t.ops == nil {
		t.ops = make([]op, 0, 96)
	}
	first, skips, size := len(t.ops), t.skips[:0], 0
	var empty emptySteps
	for b := t.b; ; {
		var code, form uint64
		var implicit int64
		if uint(p)+1 < uint(len(b)) && b[p]|b[p+1] < 0x80 && b[p+1] != formImplicitConst {
			code, form = uint64(b[p]), uint64(b[p+1])
			p += 2
		} else {
			code, p = bin.ULEB(b, p)
			if form, p = bin.ULEB(b, p); form == formImplicitConst {
				implicit, p = bin.SLEB(b, p)
			}
		}
		if code == 0 && form == 0 || p == bin.Past {
			break
		}
		kind, n := t.forms.op(form)
		a := wantedAttr(code)
		if t.key.declarations && a == attrNone {
			a = declaringAttr(code)
		}
		if a == attrSibling && form == 0x13 && size >= 0 {
			d.sibling = int32(size)
		}
		if size += int(n); kind != opFixed || size < int(n) || size > 1<<30 {
			size = -1 << 31
		}
		skips = appendSkip(skips, 0, kind, n)
		if !reads {
			continue
		}
		switch {
		case a == attrNone || kind == opUnknown:
			t.ops = appendSkip(t.ops, first, kind, n)
		case form != formImplicitConst:
			t.ops = empty.add(t.ops, kind == opFixed && n == 0, op{kind: opWanted, attr: a, form: uint16(form), n: numberSize(kind, n)})
		case implicit == int64(int32(implicit)):
			t.ops = empty.add(t.ops, true, op{kind: opImplicit, attr: a, form: formImplicitConst, n: uint32(implicit)})
		}
	}
	t.p = p
	d.size = int32(max(size, -1))
	if t.skips = skips; d.size >= 0 {
		skips = nil
	}
	if n := len(t.ops) - first; n > 0xffff || len(skips) > 0xffff || len(t.ops) > 1<<30 {
		t.ops = t.ops[:first]
		return decl{}
	}
	d.reads, d.skipSteps = uint16(len(t.ops)-first), uint16(len(skips))
	t.ops = append(t.ops, skips...)
	return d
}

// emptySteps are where the steps stand that read an attribute and take nothing of the entry, from 1 on, unless one that does
// follows. An attribute has one of them: what is read last counts. So an entry takes about as many steps as it has bytes,
// however often its declaration repeats what the declaration says itself.
type emptySteps [attrCount]int

// add appends a step; empty says that it is such a one.
func (e *emptySteps) add(ops []op, empty bool, o op) []op {
	switch at := e[o.attr]; {
	case !empty:
		e[o.attr] = 0
	case at > 0:
		ops[at-1] = o
		return ops
	default:
		e[o.attr] = len(ops) + 1
	}
	return append(ops, o)
}

// read are the steps that read the entry.
func (c *compiled) read(d *decl) []op { return c.ops[d.ops:][:d.reads] }

// skip are the steps that pass over an entry without a fixed size.
func (c *compiled) skip(d *decl) []op { return c.ops[d.ops+uint32(d.reads):][:d.skipSteps] }

// numberSize is the size of a number that can be read without looking at its form, else 0.
func numberSize(kind opKind, n uint32) uint32 {
	if kind == opFixed && n <= 8 {
		return n
	}
	return 0
}

// appendSkip adds a step that passes over a value, or makes the step before it longer if that is not before the first one.
func appendSkip(ops []op, first int, kind opKind, n uint32) []op {
	if kind == opFixed {
		if n == 0 {
			return ops
		}
		if k := len(ops) - 1; k >= first && ops[k].kind == opFixed && ops[k].n < 1<<30 {
			ops[k].n += n
			return ops
		}
	}
	return append(ops, op{kind: kind, n: n})
}
