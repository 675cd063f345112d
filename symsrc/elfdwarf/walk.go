package elfdwarf

import (
	"context"
	"math"
	"slices"

	"qss-filter/symsrc"
)

// Piece is some code of which every address has the same answer.
type Piece struct {
	// Lo and Hi are where it begins and ends.
	Lo, Hi uint64
	// Func is the demangled name of the physical function, "" where none is known.
	Func string
	// Start is where that function or its symbol begins. Pieces in which it is the same and Function, a number within the unit,
	// is too, are of one function.
	Start    uint64
	Function int
	// Shared is set where several symbols with different names begin at Start.
	Shared bool
	// Label is set where Func is the name of a symbol without a size: that it reaches this far is a guess.
	Label bool
	// File and Line are of the innermost function. File is "" where there is none; Line is 0 where the compiler left it open.
	File string
	Line int
	// Calls are the calls inlined here, the outermost one first. They are the Walk's own until the next Piece.
	Calls []InlinedCall
}

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

// Walk goes over all code of a module from an address on, in the order of the addresses, and gives what Code would answer for it.
// An error of each, which must not ask the Source, ends it. So does, where the next function begins, that count pieces were given:
// what was read of a file stays in memory as long as the Source is open. next is then where to go on, else the largest address.
func (s *Source) Walk(ctx context.Context, key symsrc.Module, from uint64, count int, each func(*Piece) error) (next uint64, err error) {
	next, err = math.MaxUint64, errNoFile
	s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		f := m.file
		if f == nil {
			return
		}
		err = nil
		f.guard(func() {
			w := walker{f: f, count: count, each: each, points: make(map[*unit][]uint64)}
			next, err = w.run(ctx, from)
		})
		if fault := f.fault.Load(); fault != nil {
			err = fault
		}
	})
	return next, err
}

// walker goes over a file.
type walker struct {
	f      *File
	count  int
	each   func(*Piece) error
	points map[*unit][]uint64 // where the answers of a unit may change
	shared map[uint64]bool    // where several symbols begin
	p      Piece              // the last one
	calls  []int32
	prev   *function
	number int
}

// run goes over the parts in which all addresses have the same unit and the same symbol.
func (w *walker) run(ctx context.Context, from uint64) (next uint64, err error) {
	outer := w.outline()
	w.shared = w.f.sharedSymbols()
	i, _ := slices.BinarySearch(outer, from)
	for ; i+1 < len(outer); i++ {
		if ctx.Err() != nil {
			return math.MaxUint64, context.Cause(ctx)
		}
		lo, hi := outer[i], outer[i+1]
		if !w.f.holdsCode(lo) {
			continue
		}
		u := w.f.dwarf.unitFor(lo)
		var inner []uint64
		if u != nil {
			inner = w.inside(u)
		}
		k, found := slices.BinarySearch(inner, lo)
		if found {
			k++
		}
		for at := lo; at < hi; k++ {
			end := hi
			if k < len(inner) {
				end = min(end, inner[k])
			}
			start, function := w.p.Start, w.p.Function
			known := w.piece(u, at, end)
			if fault := w.f.fault.Load(); fault != nil {
				return math.MaxUint64, fault
			}
			if w.count <= 0 && (!known || w.p.Start != start || w.p.Function != function) && at == lo {
				return at, nil
			}
			if known {
				w.count--
				if err := w.each(&w.p); err != nil {
					return math.MaxUint64, err
				}
			}
			at = end
		}
	}
	return math.MaxUint64, nil
}

// holdsCode reports whether an address is one of code, as far as the file's headers tell.
func (f *header) holdsCode(addr uint64) bool {
	if len(f.sections) > 0 {
		return f.codeSection(addr) != nil
	}
	return f.codeSegment(addr) >= 0
}

// piece makes the piece at lo. It is false where nothing is known of it.
func (w *walker) piece(u *unit, lo, hi uint64) bool {
	f := w.f
	sym, ok := f.symbolAt(lo)
	ok = ok && sym.name.linkage != ""
	w.p = Piece{Lo: lo, Hi: hi, Calls: w.p.Calls[:0]}
	var fn *function
	if u != nil {
		fn = w.describe(u, lo)
	}
	if fn != w.prev {
		w.prev = fn
		w.number++
	}
	w.p.Function = w.number
	if ok {
		w.p.Func, w.p.Start, w.p.Label, w.p.Shared = sym.name.demangled, sym.start, !sym.sized, w.shared[sym.start]
	}
	return ok || fn != nil || w.p.File != ""
}

// describe takes what a unit's debug information says of an address, as unit.frames does, and gives the function.
func (w *walker) describe(u *unit, addr uint64) *function {
	body, p := u.body(), &w.p
	fn, in := body.functionAt(addr, false)
	scope := in.lo
	var t *tree
	w.calls = w.calls[:0]
	if fn != nil {
		p.Start = scope
		if n := body.nameOfFunction(fn, false); n != nil {
			p.Func = n.demangled
		}
		t = body.treeOf(fn)
		if calls, lo, found := t.chain(addr, w.calls, u.f.budget); found {
			w.calls, scope = calls, lo
		}
	}
	if at, located := u.positionAt(addr, scope, false); located {
		if p.File = u.pathOf(at.file); p.File != "" && !at.approx {
			p.Line = int(at.line)
		}
	}
	for _, i := range slices.Backward(w.calls) {
		c := &t.calls[i]
		call := InlinedCall{ID: int(i), File: u.pathOf(c.file), Line: int(c.line)}
		if n := body.nameOfCall(c, false); n != nil {
			call.Func = n.demangled
		}
		p.Calls = append(p.Calls, call)
	}
	return fn
}

func (u *unit) pathOf(file uint16) string {
	if s := u.sourceFile(uint64(file)); s != nil {
		return s.path
	}
	return ""
}
