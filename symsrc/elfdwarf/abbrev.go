package elfdwarf

import (
	"sync"
	"sync/atomic"
)

// Tags (DWARF 5 §7.5.3) that are told apart.
const (
	tagCatchBlock        = 0x25
	tagCompileUnit       = 0x11
	tagLexicalBlock      = 0x0b
	tagInlinedSubroutine = 0x1d
	tagModule            = 0x1e
	tagWithStmt          = 0x22
	tagSubprogram        = 0x2e
	tagTryBlock          = 0x32
	tagNamespace         = 0x39
	tagPartialUnit       = 0x3c
	tagTypeUnit          = 0x41
	tagSkeletonUnit      = 0x4a
	tagGNUCallSite       = 0x4109
	tagLoUser            = 0x4080
)

// attr is the number in this package of an attribute that is read.
type attr uint8

const (
	attrNone attr = iota
	attrSibling
	attrName
	attrLinkageName
	attrLowPC
	attrHighPC
	attrRanges
	attrOrigin
	attrSpecification
	attrCallFile
	attrCallLine
	attrCallColumn
	attrStmtList
	attrCompDir
	attrStrOffsetsBase
	attrAddrBase
	attrRnglistsBase
	attrDwoName
	attrDwoID
	attrRangesBase
	attrCount
)

// wanted tells the attributes that are read (DWARF 5 §7.5.4) from those that are passed over.
var wanted = [0x80]attr{0x01: attrSibling, 0x03: attrName, 0x6e: attrLinkageName, 0x11: attrLowPC, 0x12: attrHighPC,
	0x55: attrRanges, 0x31: attrOrigin, 0x47: attrSpecification, 0x58: attrCallFile, 0x59: attrCallLine, 0x57: attrCallColumn,
	0x10: attrStmtList, 0x1b: attrCompDir, 0x72: attrStrOffsetsBase, 0x73: attrAddrBase, 0x74: attrRnglistsBase, 0x76: attrDwoName}

func wantedAttr(code uint64) attr {
	switch {
	case code < uint64(len(wanted)):
		return wanted[code]
	case code == 0x2007: // DW_AT_MIPS_linkage_name
		return attrLinkageName
	case code == 0x2130: // DW_AT_GNU_dwo_name
		return attrDwoName
	case code == 0x2131: // DW_AT_GNU_dwo_id
		return attrDwoID
	case code == 0x2132: // DW_AT_GNU_ranges_base
		return attrRangesBase
	case code == 0x2133: // DW_AT_GNU_addr_base
		return attrAddrBase
	}
	return attrNone
}

// op is one step over the attributes of an entry; forms of a fixed size that follow each other are one step.
type op struct {
	kind opKind
	attr attr
	form uint16
	n    uint32 // size in bytes, where it is fixed; an implicit constant, as int32
}

// decl is an abbreviation declaration, compiled.
type decl struct {
	tag      uint16 // 0: not declared
	children bool
	// size is that of all attributes where every form has a fixed one, else −1.
	size int32
	// sibling is where a DW_AT_sibling of form ref4 stands behind attributes of fixed size, else −1.
	sibling int32
	reads   uint16
	// ops are the steps that read the entry, as many as reads says, which are none for tags that are never read; behind
	// them those that pass over it, where it has no fixed size.
	ops []op
}

// abbrevs is one abbreviation table, compiled as far as codes were asked for. Tables are shared by units and goroutines:
// declarations are only ever added behind those that a reader can see.
type abbrevs struct {
	b      []byte // .debug_abbrev
	layout layout
	budget *atomic.Int64          // bytes that may still be compiled, of all tables of the file
	decls  atomic.Pointer[[]decl] // by code, for codes that grow densely

	mu     sync.Mutex
	p      int             // where the next declaration stands; past: no more
	sparse map[uint64]decl // codes that do not
	arena  []op            // holds the steps of many declarations
	skips  []op            // of the declaration being compiled
}

type abbrevKey struct {
	off    uint64
	layout layout
}

func newAbbrevs(b []byte, off uint64, l layout, budget *atomic.Int64) *abbrevs {
	t := &abbrevs{b: b, layout: l, budget: budget, p: past}
	if off < uint64(len(b)) {
		t.p = int(off)
	}
	t.decls.Store(new([]decl))
	return t
}

var undeclared = &decl{size: -1, sibling: -1}

// find gives the declaration of the code, and all that are compiled; undeclared where there is none.
func (t *abbrevs) find(code uint64) (*decl, []decl) {
	all := *t.decls.Load()
	if code < uint64(len(all)) && all[code].tag != 0 {
		return &all[code], all
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	all = *t.decls.Load()
	if _, ok := t.sparse[code]; !ok && t.p != past && (code >= uint64(len(all)) || all[code].tag == 0) {
		all = t.compile(all, code)
		t.decls.Store(&all)
	}
	if code < uint64(len(all)) && all[code].tag != 0 {
		return &all[code], all
	}
	if d, ok := t.sparse[code]; ok {
		return &d, all
	}
	return undeclared, all
}

// compile goes on until the code is found and a few more are, for those tend to follow.
func (t *abbrevs) compile(all []decl, code uint64) []decl {
	const ahead = 16
	start, end := t.p, t.p
	for found, more := false, ahead; t.p != past && (!found || more > 0); more-- {
		c, p := uleb(t.b, t.p)
		end = t.p
		if c == 0 {
			t.p = past
			break
		}
		d := t.decl(p)
		found = found || c == code
		switch {
		case c < uint64(len(all)):
			t.addSparse(c, d) // out of order, or declared twice
		case c < uint64(len(all))+64:
			if all == nil {
				all = make([]decl, 0, 64)
			}
			for uint64(len(all)) < c {
				all = append(all, decl{})
			}
			all = append(all, d)
		default:
			t.addSparse(c, d)
		}
	}
	if t.p != past {
		end = t.p
	}
	if t.budget.Add(int64(start-end)) < 0 {
		t.p = past
	}
	return all
}

func (t *abbrevs) addSparse(code uint64, d decl) {
	if t.sparse == nil {
		t.sparse = make(map[uint64]decl)
	}
	if _, ok := t.sparse[code]; !ok {
		t.sparse[code] = d
	}
}

// decl compiles the declaration whose tag stands at p, and moves t.p behind it.
func (t *abbrevs) decl(p int) decl {
	tag, p := uleb(t.b, p)
	children, p := fixed(t.b, p, 1, false)
	d := decl{tag: uint16(min(tag, 0xffff)), children: children != 0, sibling: -1}
	var reads bool
	switch tag {
	case tagCompileUnit, tagPartialUnit, tagTypeUnit, tagSkeletonUnit, tagSubprogram, tagInlinedSubroutine:
		reads = true
	}
	if cap(t.arena)-len(t.arena) < 64 {
		t.arena = make([]op, 0, 192)
	}
	read, skips, size := t.arena[len(t.arena):], t.skips[:0], 0
	for {
		var code, form uint64
		var implicit int64
		code, p = uleb(t.b, p)
		form, p = uleb(t.b, p)
		if form == formImplicitConst {
			implicit, p = sleb(t.b, p)
		}
		if code == 0 && form == 0 || p == past {
			break
		}
		kind, n := formOp(form, t.layout)
		a := wantedAttr(code)
		if a == attrSibling && form == 0x13 && size >= 0 {
			d.sibling = int32(size)
		}
		if size += int(n); kind != opFixed || size < int(n) || size > 1<<30 {
			size = -1 << 31
		}
		skips = appendSkip(skips, kind, n)
		if !reads {
			continue
		}
		switch {
		case a == attrNone || kind == opUnknown:
			read = appendSkip(read, kind, n)
		case form != formImplicitConst:
			read = append(read, op{kind: opWanted, attr: a, form: uint16(form), n: numberSize(kind, n)})
		case implicit == int64(int32(implicit)):
			read = append(read, op{kind: opImplicit, attr: a, form: formImplicitConst, n: uint32(implicit)})
		}
	}
	t.p = p
	d.size = int32(max(size, -1))
	if t.skips = skips; d.size >= 0 {
		skips = nil
	}
	if len(read) > 0xffff {
		return decl{}
	}
	d.reads = uint16(len(read))
	read = append(read, skips...)
	t.arena = append(t.arena, read...) // where they stand already, unless it was too small
	d.ops = t.arena[len(t.arena)-len(read) : len(t.arena) : len(t.arena)]
	return d
}

// read are the steps that read the entry.
func (d *decl) read() []op { return d.ops[:d.reads] }

// numberSize is the size of a number that can be read without looking at its form, else 0.
func numberSize(kind opKind, n uint32) uint32 {
	if kind == opFixed && n <= 8 {
		return n
	}
	return 0
}

func appendSkip(ops []op, kind opKind, n uint32) []op {
	if kind == opFixed {
		if n == 0 {
			return ops
		}
		if k := len(ops) - 1; k >= 0 && ops[k].kind == opFixed && ops[k].n < 1<<30 {
			ops[k].n += n
			return ops
		}
	}
	return append(ops, op{kind: kind, n: n})
}
