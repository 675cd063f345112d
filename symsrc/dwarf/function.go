package dwarf

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// function is a subprogram that has code.
type function struct {
	die  int                        // offset of its entry in .debug_info
	tree atomic.Pointer[tree]       // the calls inlined into it; nil until it is first used
	name atomic.Pointer[names.Name] // nil until it is first used
}

// functionIndex finds the function at an address of one unit. It does not change, except for the lazy fields of its functions.
type functionIndex struct {
	spans     []functionSpan // disjoint, sorted
	functions []function     // in file order
}

// functionSpan is a range of addresses that a function covers.
type functionSpan struct {
	elf.Span
	function int32
	call     int32 // the index of the innermost inlined call plus 1; −1 if there is none, 0 if the tree of calls has to be searched
}

// owned returns the range and the index of its function.
func (s *functionSpan) owned() (*elf.Span, int) { return &s.Span, int(s.function) }

// Subprograms are either children of the unit and its namespaces, which suffices for most addresses, or nested in types and other
// functions. There is an index of each kind. The order of the search must not depend on earlier queries.
const (
	topLevel = iota
	nested
)

// functionAt returns the subprogram that covers the address, or nil, and the range around the address in which it is the answer.
// With first set, for the first address of a file, it stores nothing, unless the function is nested: a scan for nested functions
// would have to exclude the top-level ones, as the index does.
func (u *Unit) functionAt(addr uint64, first bool) (f *function, at functionSpan) {
	for kind := range u.functions {
		x := u.functions[kind].Load()
		if x == nil && first && kind == topLevel {
			s := functionScan{pc: addr, die: -1, overlaps: u.f.rules.Overlaps}
			if u.scanFunctions(&s, false); !s.tombstone && !u.overlaps(false) {
				if s.die >= 0 {
					return &function{die: s.die}, functionSpan{Span: elf.Span{Lo: s.lo}}
				}
				continue
			}
		}
		if x == nil {
			x = u.indexFunctions(kind)
		}
		if f, at = x.at(addr); f != nil {
			break
		}
	}
	return f, at
}

// at returns the function that covers the address, or nil, and its range.
func (x *functionIndex) at(addr uint64) (f *function, at functionSpan) {
	i, j := 0, len(x.spans)
	for i < j {
		if h := int(uint(i+j) >> 1); x.spans[h].Lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 || addr >= x.spans[i-1].Hi {
		return nil, at
	}
	at = x.spans[i-1]
	return &x.functions[at.function], at
}

// indexFunctions returns the index of a kind, and builds it if it does not exist. The index of nested functions excludes the
// top-level ones, whose index is searched first.
func (u *Unit) indexFunctions(kind int) *functionIndex {
	var known []function
	if kind == nested {
		known = u.indexFunctions(topLevel).functions
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if x := u.functions[kind].Load(); x != nil {
		return x
	}
	s := functionScans.Get().(*functionScan)
	defer functionScans.Put(s)
	for full := kind == nested; ; full = true {
		*s = functionScan{keep: true, kept: budget.Tally{Of: u.f.budget}, die: -1, overlaps: u.f.rules.Overlaps, known: known, spans: s.spans[:0], dies: s.dies[:0]}
		if u.scanFunctions(s, full); full || !u.overlaps(s.tombstone) {
			break
		} // otherwise nested functions take part in the overlaps
	}
	s.kept.Flush()
	s.known = nil
	x := &functionIndex{spans: slices.Clone(s.spans), functions: make([]function, len(s.dies))}
	for i, die := range s.dies {
		x.functions[i].die = die
	}
	if u.overlaps(s.tombstone) {
		x.spans = resolveOverlaps(u.entriesOf(x), u.f.budget)
	} else {
		x.spans = withoutDiscarded(&u.f.addressing, x.spans, (*functionSpan).owned)
		x.spans = disjointFunctions(x.spans, u.f.budget)
	}
	u.functions[kind].Store(x)
	u.f.hooks.Consumed(u.end - u.off)
	return x
}

// functionScan collects the subprograms of a unit: all of them, or the last one that covers an address.
type functionScan struct {
	keep      bool       // collect all
	pc        uint64     // otherwise: the address
	die       int        // offset of the entry that covers pc, or −1
	lo        uint64     // start of the range in which it is the answer
	known     []function // functions to exclude, in file order
	tombstone bool       // a function begins at address 0 or 1, where linkers move discarded code
	overlaps  bool       // keep overlapping ranges of one function
	spans     []functionSpan
	dies      []int                          // of all functions
	visit     func(die int, lo, size uint64) // if not nil, takes the functions of one range in place of all that; lo is 0 if their code was discarded
	kept      budget.Tally
}

// Memory, in bytes, of a function and of one of its ranges.
const functionWeight, spanWeight = 40, 48

// functionScans holds the memory of scans that collect all functions.
var functionScans = sync.Pool{New: func() any { return new(functionScan) }}

// add adds the subprogram whose entry is at die. It may modify spans.
func (s *functionScan) add(die int, spans []elf.Span) {
	if len(spans) == 0 {
		return
	}
	if len(spans) > 1 && !s.overlaps {
		spans = mergeOverlaps(spans)
	}
	for _, x := range spans {
		s.tombstone = s.tombstone || x.Lo <= 1
	}
	if !s.keep {
		s.consider(die, spans)
		return
	}
	for len(s.known) > 0 && s.known[0].die < die {
		s.known = s.known[1:]
	}
	if len(s.known) > 0 && s.known[0].die == die {
		return
	}
	s.kept.Add(1, functionWeight+len(spans)*spanWeight)
	for _, x := range spans {
		s.spans = append(s.spans, functionSpan{Span: x, function: int32(len(s.dies))})
	}
	s.dies = append(s.dies, die)
}

// consider makes the function the answer if it covers pc. If a function that comes later in the file ends before pc, the answer
// begins at its end, as in disjointFunctions.
func (s *functionScan) consider(die int, spans []elf.Span) {
	for _, x := range spans {
		if x.Covers(s.pc) {
			s.die, s.lo = die, x.Lo
		} else if x.Hi <= s.pc && s.die != die {
			s.lo = max(s.lo, x.Hi)
		}
	}
}

// mergeOverlaps merges the overlapping ranges of one function, which only damaged files have.
func mergeOverlaps(spans []elf.Span) []elf.Span {
	for i := 1; i < len(spans); i++ {
		if spans[i].Lo < spans[i-1].Hi {
			slices.SortFunc(spans, func(a, b elf.Span) int { return cmp.Compare(a.Lo, b.Lo) })
			break
		}
	}
	n := 0
	for _, x := range spans[1:] {
		if x.Lo < spans[n].Hi {
			spans[n].Hi = max(spans[n].Hi, x.Hi)
		} else {
			n++
			spans[n] = x
		}
	}
	return spans[:n+1]
}

// scanFunctions adds the subprograms of the unit to s. Unless full is set, it skips the children of all entries except namespaces,
// if DW_AT_sibling says where they end.
func (u *Unit) scanFunctions(s *functionScan, full bool) {
	u.f.budget.Spend(u.end - u.off)
	b := u.bytes()
	p, depth := u.die, 0
	_, c := u.abbrevs.find(1)
	decls := c.decls
	var d attributes
	var memory [8]elf.Span
	spans := memory[:0]
	for uint(p) < uint(len(b)) {
		start := p
		code := uint64(b[p])
		if p++; code >= 0x80 {
			code, p = bin.ULEB(b, start)
		}
		if code == 0 {
			if depth--; depth <= 0 {
				return
			}
			continue
		}
		var a *decl
		if code < uint64(len(decls)) && decls[code].tag != 0 {
			a = &decls[code]
		} else if a, c = u.abbrevs.find(code); a.tag == 0 {
			return
		} else {
			decls = c.decls
		}
		if a.tag == tagSubprogram {
			p = u.readEntry(b, p, c.read(a), &d)
			if s.visit != nil {
				if !a.bodiless {
					u.visit(s, start, &d)
				}
			} else {
				spans = u.ranges(&d, spans[:0])
				s.add(start, spans)
			}
			if a.children {
				if next, ok := u.reference(&d, attrSibling); ok && next >= p && !full { // never go back
					p = next
				} else {
					depth++
				}
			}
			continue
		}
		if a.children && !full && a.sibling >= 0 && !isScope(a.tag) {
			if next, q := bin.Uint(b, p+int(a.sibling), 4, u.big); q != bin.Past && u.off+int(next) > start {
				p = u.off + int(next)
				continue
			}
		}
		if p = u.skipEntry(b, p, a, c); a.children {
			depth++
		} else if depth == 0 {
			return
		}
	}
}

// visit calls s.visit with a subprogram of one range, or one that is defined without code, whose size is 0.
func (u *Unit) visit(s *functionScan, die int, d *attributes) {
	if !d.has(attrLowPC) || !d.has(attrHighPC) {
		var e entry
		if !d.has(attrRanges) && !d.has(attrOrigin) && e.read(u, u.declared(), die) && !e.d.has(attrDeclaration) && !e.d.has(attrInline) {
			s.visit(die, 0, 0)
		}
		return
	}
	lo, ok := u.address(d, attrLowPC)
	size := d.v[attrHighPC]
	if hi, isAddress := u.address(d, attrHighPC); isAddress {
		size = hi - lo
	}
	if lo <= 1 || u.f.addressing.IsTombstone(lo) {
		lo = 0
	}
	if ok && size > 0 {
		s.visit(die, lo, size)
	}
}

// isScope reports whether entries of a tag may contain top-level functions.
func isScope(tag uint16) bool {
	switch tag {
	case tagNamespace, tagModule, tagCompileUnit, tagPartialUnit, tagSkeletonUnit:
		return true
	}
	return false
}

// disjointFunctions sorts ranges and makes them disjoint. Where several functions cover an address, the last one in the file is
// chosen, as in llvm.
func disjointFunctions(all []functionSpan, limits *budget.File) []functionSpan {
	slices.SortFunc(all, func(a, b functionSpan) int {
		if a.Lo != b.Lo {
			return cmp.Compare(a.Lo, b.Lo)
		}
		return cmp.Compare(a.function, b.function)
	})
	overlap := false
	for i := 1; i < len(all); i++ {
		overlap = overlap || all[i].Lo < all[i-1].Hi
	}
	if !overlap {
		return all
	}
	limits.Hold(len(all) * overlapWeight)
	limits.Spend(len(all) * stepsPerOverlap)
	var out []functionSpan
	open := queue[functionSpan]{before: func(a, b functionSpan) bool { return a.function > b.function }} // last in the file first
	at := uint64(0)
	for i := 0; i < len(all) || open.Len() > 0; {
		// Up to the next start, the last one of the open functions covers each address.
		next := ^uint64(0)
		if i < len(all) {
			next = all[i].Lo
		}
		for open.Len() > 0 && at < next {
			top := open.items[0]
			if top.Hi <= at {
				heap.Pop(&open)
				continue
			}
			end := min(top.Hi, next)
			if n := len(out); n > 0 && out[n-1].Hi == at && out[n-1].function == top.function && top.Lo < at {
				out[n-1].Hi = end // it continues
			} else {
				out = append(out, functionSpan{Span: elf.Span{Lo: at, Hi: end}, function: top.function})
			}
			at = end
		}
		for at = next; i < len(all) && all[i].Lo == next; i++ {
			heap.Push(&open, all[i])
		}
		if i == len(all) && next == ^uint64(0) {
			break
		}
	}
	return out
}
