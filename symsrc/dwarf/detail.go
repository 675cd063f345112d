package dwarf

import (
	"sync"
	"sync/atomic"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// details are what Details has read of a unit.
type details struct {
	mu             sync.Mutex
	entries        map[int][]int // the entries of the calls that were inlined into a function, by the entry of the function
	declarations   map[int]declaration
	discriminators atomic.Pointer[lineRows]
}

// Memory, in bytes, of an entry of a call, and of a declaration.
const callEntryWeight, declarationWeight = 16, 48

// Details returns what the unit has of each frame that Frames returns for an address. It is for a few queries, and reads entries that
// Frames need not read.
func (u *Unit) Details(addr uint64) []symsrc.Detail {
	body := u.body()
	fn, calls, t := body.callsAt(addr)
	disc := u.lineTable().discriminatorAt(u.f.lineAddr(addr))
	if fn == nil {
		return []symsrc.Detail{{Discriminator: disc}}
	}
	all := make([]symsrc.Detail, 0, len(calls)+1)
	if len(calls) > 0 {
		entries := body.callEntries(fn)
		for _, i := range calls {
			d, next := body.detail(entries[i], body.nameOfCall(&t.calls[i], false))
			d.Discriminator, disc = disc, next
			all = append(all, d)
		}
	}
	d, _ := body.detail(fn.die, body.nameOfFunction(fn, false))
	d.Discriminator = disc
	return append(all, d)
}

// callsAt returns the function at an address its tree and, as indexes in that, the calls that were inlined into it there, the innermost one
// first. It returns nil if there is no function.
func (u *Unit) callsAt(addr uint64) (fn *function, calls []int32, t *tree) {
	fn, in := u.functionAt(addr, false)
	if fn == nil {
		return nil, nil, nil
	}
	t = u.treeOf(fn)
	if in.call != 0 {
		calls = t.ancestors(in.call-1, nil)
	} else if inner, _, found := t.chain(addr, nil, u.f.budget); found {
		calls = inner
	}
	return fn, calls, t
}

// callEntries returns the offsets of the entries of the calls that were inlined into a function, in the order of its tree.
func (u *Unit) callEntries(fn *function) []int {
	x := &u.details
	x.mu.Lock()
	defer x.mu.Unlock()
	if dies, ok := x.entries[fn.die]; ok {
		return dies
	}
	var dies []int
	u.readTree(fn, &dies)
	u.f.budget.Hold(len(dies) * callEntryWeight)
	if x.entries == nil {
		x.entries = make(map[int][]int)
	}
	x.entries[fn.die] = dies
	return dies
}

// detail returns what the entry of a function or of an inlined call has, and the discriminator of the call.
func (u *Unit) detail(die int, name *names.Name) (d symsrc.Detail, call uint32) {
	if name != nil {
		d.Linkage = name.Linkage
	}
	at := u.knownDeclaration(die)
	d.File, d.CompDir, d.Line = at.file.path, at.file.compDir, at.line
	var e entry
	if e.read(u, u.declared(), die) {
		if d.Start, d.Started = u.address(&e.d, attrLowPC); d.Started {
			d.Start = u.f.addressing.SectionRelative(elf.Span{Lo: d.Start}).Lo
		}
		v, _ := e.constant(attrDiscriminator)
		call = uint32(v)
	}
	return d, call
}

// knownDeclaration is declarationOf, which is read once for each entry.
func (u *Unit) knownDeclaration(die int) declaration {
	x := &u.details
	x.mu.Lock()
	at, ok := x.declarations[die]
	x.mu.Unlock()
	if ok {
		return at
	}
	at = u.declarationOf(die)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.declarations == nil {
		x.declarations = make(map[int]declaration)
	}
	u.f.budget.Hold(declarationWeight)
	x.declarations[die] = at
	return at
}

// discriminatorAt returns the discriminator of the row that covers an address.
func (t *lineTable) discriminatorAt(addr uint64) uint32 {
	all := t.allDiscriminators()
	i := all.sequenceAt(addr)
	if i < 0 {
		return 0
	}
	return all.rows[all.sequences[i].rowAt(all.rows, addr)].line
}

// allDiscriminators returns rows whose lines are discriminators. The rows of a table do not hold these, because few queries need them: a
// run of the program of its own stores the places where they change.
func (t *lineTable) allDiscriminators() *lineRows {
	x := &t.u.details
	all := x.discriminators.Load()
	if all == nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if all = x.discriminators.Load(); all == nil {
			all = t.storeWith(t.u.f, t.u.f.line.UpTo(t.end), t.runDiscriminators)
			x.discriminators.Store(all)
		}
	}
	return all
}

// lneSetDiscriminator is the opcode DW_LNE_set_discriminator (DWARF 5 §6.2.5.3).
const lneSetDiscriminator = 4

// runDiscriminators executes the line number program of t. The lines of the rows are their discriminators.
func (t *lineTable) runDiscriminators(b []byte, s *rowSink) {
	initial := registers{}
	r := initial
	for p := t.program; uint(p) < uint(len(b)); {
		o := b[p]
		p++
		switch {
		case o >= t.opBase:
			r.advance(uint64((o-t.opBase)/t.lineRange), t)
		case o == lnsCopy:
		case o == lnsSetColumn, o == lnsAdvanceLine, o == lnsSetFile:
			p = bin.SkipLEB(b, p)
			continue
		case o == lnsNegateStmt:
			continue
		default:
			if o == lnsExtended {
				if n, q := bin.ULEB(b, p); n > 1 && uint(q) < uint(len(b)) && b[q] == lneSetDiscriminator {
					v, _ := bin.ULEB(b, q+1)
					r.line = uint32(v)
				}
			}
			if p = t.rareOpcode(o, b, p, &r, s); !r.end {
				continue
			}
		}
		if !s.add(&r) {
			return
		}
		if r.line = 0; r.end {
			r = initial
		}
	}
}
