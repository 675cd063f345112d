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
	die  int                        // where its entry is in .debug_info
	tree atomic.Pointer[tree]       // the calls inlined into it; nil until asked for
	name atomic.Pointer[names.Name] // nil until asked for
}

// functionIndex finds the function at an address of one unit. But for what its functions remember it does not change.
type functionIndex struct {
	spans     []functionSpan // disjoint, sorted
	functions []function     // in the file's order
}

// functionSpan is a range of addresses that a function covers.
type functionSpan struct {
	elf.Span
	function int32
	call     int32 // of those inlined into it the innermost one, from 1 on, or −1 for none; 0: the addresses show
}

// Subprograms are below the unit and its namespaces, which is all that most addresses need; or within types and other
// functions. There is an index of each kind: which one is searched first must not depend on the questions before.
const (
	topLevel = iota
	nested
)

// functionAt finds the subprogram that covers the address, and the code in which it is the one; nil where none does. For a
// file's first address nothing is stored, unless its function is within: a scan for those would have to leave out the functions
// of the other kind, as the index does.
func (u *Unit) functionAt(addr uint64, first bool) (f *function, at functionSpan) {
	for kind := range u.functions {
		x := u.functions[kind].Load()
		if x == nil && first && kind == topLevel {
			s := functionScan{pc: addr, die: -1, overlaps: u.f.rules.Overlaps}
			if u.scanFunctions(&s, false); !u.overlaps(s.tombstone) {
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

// indexFunctions makes the index of a kind, or returns the one that was made in the meantime. That of what is within has none
// of the functions of the other, which is asked before.
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
		} // otherwise those within others lie over them, too
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
		x.spans = disjointFunctions(x.spans, u.f.budget)
	}
	u.functions[kind].Store(x)
	u.f.hooks.Consumed(u.end - u.off)
	return x
}

// functionScan takes the subprograms of a unit: it keeps them all, or the last one that covers an address.
type functionScan struct {
	keep      bool
	pc        uint64
	die       int        // the one that covers pc, or −1
	lo        uint64     // where it begins to be the one
	known     []function // those to leave out, in the file's order
	tombstone bool       // there is one where linkers put what they drop
	overlaps  bool       // ranges of a function may lie over each other
	spans     []functionSpan
	dies      []int // of all functions
	kept      budget.Tally
}

// What a function takes in memory, and one of its ranges, in bytes.
const functionWeight, spanWeight = 40, 48

// functionScans keeps the memory of scans that keep all.
var functionScans = sync.Pool{New: func() any { return new(functionScan) }}

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

// consider takes the function for the one at pc if it covers that. Where one that comes later in the file ends before, it is the
// one only from there on: as settleFunctions has it.
func (s *functionScan) consider(die int, spans []elf.Span) {
	for _, x := range spans {
		if x.Covers(s.pc) {
			s.die, s.lo = die, x.Lo
		} else if x.Hi <= s.pc && s.die != die {
			s.lo = max(s.lo, x.Hi)
		}
	}
}

// mergeOverlaps joins ranges of one function that overlap, which is damage.
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

// scanFunctions walks over the unit's entries. Unless full is set it passes over the children of everything but
// namespaces, where DW_AT_sibling says how far they go.
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
			spans = u.ranges(&d, spans[:0])
			s.add(start, spans)
			if a.children {
				if next, ok := u.reference(&d, attrSibling); ok && next >= p && !full { // what is read once is not read again
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

// isScope reports whether functions lie within entries of a tag.
func isScope(tag uint16) bool {
	switch tag {
	case tagNamespace, tagModule, tagCompileUnit, tagPartialUnit, tagSkeletonUnit:
		return true
	}
	return false
}

// disjointFunctions sorts ranges and makes them disjoint. Where several functions cover an address, the last one in the
// file is taken, as llvm does.
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
	open := queue[functionSpan]{before: func(a, b functionSpan) bool { return a.function > b.function }} // the last in the file first
	at := uint64(0)
	for i := 0; i < len(all) || open.Len() > 0; {
		// Up to the next start, the functions that are open hold, the latest of them first.
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
				out[n-1].Hi = end // it goes on
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
