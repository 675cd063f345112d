package elfdwarf

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"sync/atomic"
)

// function is a subprogram that has code.
type function struct {
	die  int                  // where its entry stands in .debug_info
	tree atomic.Pointer[tree] // the calls inlined into it; nil until asked for
	name atomic.Pointer[name] // nil until asked for
}

// functionIndex finds the function at an address of one unit. But for what its functions remember it does not change.
type functionIndex struct {
	spans     []functionSpan // disjoint, sorted
	functions []function     // in the file's order
}

// functionSpan says that a function covers some addresses.
type functionSpan struct {
	span
	function int32
}

// Subprograms stand below the unit and its namespaces, which is all that most addresses need; or within types and other
// functions. There is an index of each kind: who is asked first must not depend on the questions before.
const (
	outside = iota
	within
)

// functionAt finds the subprogram that covers the address, and where the code begins there in which it is the one; nil where
// none does. For a file's first address nothing is stored, unless its function is within: a scan for those would have to leave
// out the functions of the other kind, as the index does.
func (u *unit) functionAt(addr uint64, first bool) (f *function, lo uint64) {
	for kind := range u.functions {
		switch x := u.functions[kind].Load(); {
		case x == nil && first && kind == outside:
			s := functionScan{pc: addr, die: -1}
			if u.scanFunctions(&s, false); s.die >= 0 {
				f, lo = &function{die: s.die}, s.lo
			}
		case x == nil:
			x = u.indexFunctions(kind)
			fallthrough
		default:
			f, lo = x.at(addr)
		}
		if f != nil {
			break
		}
	}
	return f, lo
}

func (x *functionIndex) at(addr uint64) (*function, uint64) {
	i, j := 0, len(x.spans)
	for i < j {
		if h := int(uint(i+j) >> 1); x.spans[h].lo <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 || addr >= x.spans[i-1].hi {
		return nil, 0
	}
	s := &x.spans[i-1]
	return &x.functions[s.function], s.lo
}

// indexFunctions makes the index of a kind, or gives the one that was made in the meantime. That of what is within has none
// of the functions of the other, which is asked before.
func (u *unit) indexFunctions(kind int) *functionIndex {
	var known []function
	if kind == within {
		known = u.indexFunctions(outside).functions
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if x := u.functions[kind].Load(); x != nil {
		return x
	}
	s := functionScans.Get().(*functionScan)
	defer functionScans.Put(s)
	*s = functionScan{keep: true, die: -1, known: known, spans: s.spans[:0], dies: s.dies[:0]}
	u.scanFunctions(s, kind == within)
	s.known = nil
	x := &functionIndex{spans: settleFunctions(slices.Clone(s.spans)), functions: make([]function, len(s.dies))}
	for i, die := range s.dies {
		x.functions[i].die = die
	}
	u.functions[kind].Store(x)
	u.f.mapped(u.end - u.off)
	return x
}

// functionScan takes the subprograms of a unit: it keeps them all, or the last one that covers an address.
type functionScan struct {
	keep  bool
	pc    uint64
	die   int        // the one that covers pc, or −1
	lo    uint64     // where it begins to be the one
	known []function // those to leave out, in the file's order
	spans []functionSpan
	dies  []int // of all functions
}

// functionScans keeps the memory of scans that keep all.
var functionScans = sync.Pool{New: func() any { return new(functionScan) }}

func (s *functionScan) add(die int, spans []span) {
	if len(spans) == 0 {
		return
	}
	if len(spans) > 1 {
		spans = disjoint(spans)
	}
	if !s.keep {
		s.look(die, spans)
		return
	}
	for len(s.known) > 0 && s.known[0].die < die {
		s.known = s.known[1:]
	}
	if len(s.known) > 0 && s.known[0].die == die {
		return
	}
	for _, x := range spans {
		s.spans = append(s.spans, functionSpan{x, int32(len(s.dies))})
	}
	s.dies = append(s.dies, die)
}

// look takes the function for the one at pc if it covers that. Where one that comes later in the file ends before, it is the
// one only from there on: as settleFunctions has it.
func (s *functionScan) look(die int, spans []span) {
	for _, x := range spans {
		if x.covers(s.pc) {
			s.die, s.lo = die, x.lo
		} else if x.hi <= s.pc && s.die != die {
			s.lo = max(s.lo, x.hi)
		}
	}
}

// disjoint joins ranges of one function that overlap, which is damage.
func disjoint(spans []span) []span {
	for i := 1; i < len(spans); i++ {
		if spans[i].lo < spans[i-1].hi {
			slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
			break
		}
	}
	n := 0
	for _, x := range spans[1:] {
		if x.lo < spans[n].hi {
			spans[n].hi = max(spans[n].hi, x.hi)
		} else {
			n++
			spans[n] = x
		}
	}
	return spans[:n+1]
}

// scanFunctions walks over the unit's entries. Unless full is set it passes over the children of everything but
// namespaces, where DW_AT_sibling tells how far they go.
func (u *unit) scanFunctions(s *functionScan, full bool) {
	b := u.bytes()
	p, depth := u.die, 0
	_, c := u.abbrevs.find(1)
	decls := c.decls
	var d attributes
	var memory [8]span
	for uint(p) < uint(len(b)) {
		start := p
		code := uint64(b[p])
		if p++; code >= 0x80 {
			code, p = uleb(b, start)
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
			s.add(start, u.ranges(&d, memory[:0]))
			if a.children {
				if next, ok := u.reference(&d, attrSibling); ok && next > start && !full {
					p = next
				} else {
					depth++
				}
			}
			continue
		}
		if a.children && !full && a.sibling >= 0 && !isScope(a.tag) {
			if next, q := fixed(b, p+int(a.sibling), 4, u.big); q != past && u.off+int(next) > start {
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

// isScope tells the entries that hold functions.
func isScope(tag uint16) bool {
	switch tag {
	case tagNamespace, tagModule, tagCompileUnit, tagPartialUnit, tagSkeletonUnit:
		return true
	}
	return false
}

// settleFunctions sorts ranges and makes them disjoint. Where several functions cover an address, the last one in the
// file is taken, as llvm does.
func settleFunctions(all []functionSpan) []functionSpan {
	slices.SortFunc(all, func(a, b functionSpan) int {
		if a.lo != b.lo {
			return cmp.Compare(a.lo, b.lo)
		}
		return cmp.Compare(a.function, b.function)
	})
	overlap := false
	for i := 1; i < len(all); i++ {
		overlap = overlap || all[i].lo < all[i-1].hi
	}
	if !overlap {
		return all
	}
	var out []functionSpan
	var open latest
	at := uint64(0)
	for i := 0; i < len(all) || len(open) > 0; {
		// Up to the next start, the functions that are open hold, the latest of them first.
		next := ^uint64(0)
		if i < len(all) {
			next = all[i].lo
		}
		for len(open) > 0 && at < next {
			top := open[0]
			if top.hi <= at {
				heap.Pop(&open)
				continue
			}
			end := min(top.hi, next)
			if n := len(out); n > 0 && out[n-1].hi == at && out[n-1].function == top.function && top.lo < at {
				out[n-1].hi = end // it goes on
			} else {
				out = append(out, functionSpan{span{at, end}, top.function})
			}
			at = end
		}
		for at = next; i < len(all) && all[i].lo == next; i++ {
			heap.Push(&open, all[i])
		}
		if i == len(all) && next == ^uint64(0) {
			break
		}
	}
	return out
}

// latest is a heap with the function that comes last in the file on top.
type latest []functionSpan

func (h latest) Len() int           { return len(h) }
func (h latest) Less(i, j int) bool { return h[i].function > h[j].function }
func (h latest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any)        { *h = append(*h, x.(functionSpan)) }
func (h *latest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
