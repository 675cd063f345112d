package object

import (
	"context"
	"math"
	"slices"

	"qss-filter/symsrc"
	"qss-filter/symsrc/codeprobe"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
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
	Calls []dwarf.InlinedCall
}

// Walk goes over all code of a module from an address on, in the order of the addresses, and calls each with what Code would answer for it.
// An error of each, which must not call the Source, ends it. So does, where the next function begins, that each was called count times:
// what was read of a file stays in memory as long as the Source is open. next is then where to go on; otherwise the largest address.
func (s *Source) Walk(ctx context.Context, key symsrc.Module, from uint64, count int, each func(*Piece) error) (next uint64, err error) {
	next, err = math.MaxUint64, errNoFile
	s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		f := m.file
		if f == nil {
			return
		}
		err = nil
		f.guard(func() {
			w := walker{f: f, count: count, each: each, points: make(map[*dwarf.Unit][]uint64)}
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
	points map[*dwarf.Unit][]uint64 // where the answers of a unit may change
	shared map[uint64]bool          // where several symbols begin
	p      Piece                    // the last one
	at     dwarf.Place
	number int
}

// run goes over the parts in which all addresses have the same unit and the same symbol.
func (w *walker) run(ctx context.Context, from uint64) (next uint64, err error) {
	outer := w.boundaries()
	w.shared = w.f.symbols.shared()
	i, _ := slices.BinarySearch(outer, from)
	for ; i+1 < len(outer); i++ {
		if ctx.Err() != nil {
			return math.MaxUint64, context.Cause(ctx)
		}
		lo, hi := outer[i], outer[i+1]
		if !w.f.elf.HoldsCode(lo) {
			continue
		}
		u := w.f.dwarf.UnitFor(lo)
		var inner []uint64
		if u != nil {
			inner = w.boundariesIn(u)
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

// piece makes the piece at lo. It returns false where nothing is known of it.
func (w *walker) piece(u *dwarf.Unit, lo, hi uint64) bool {
	f := w.f
	sym, ok := f.symbols.at(lo)
	ok = ok && sym.Name.Linkage != ""
	w.p = Piece{Lo: lo, Hi: hi, Calls: w.p.Calls[:0]}
	prev := w.at.Function
	if w.at.Function = nil; u != nil {
		u.Describe(lo, &w.at, w.p.Calls)
		w.p.Start, w.p.Func, w.p.File, w.p.Line, w.p.Calls = w.at.Start, w.at.Name, w.at.File, w.at.Line, w.at.Calls
	}
	if w.at.Function != prev {
		w.number++
	}
	w.p.Function = w.number
	if ok {
		w.p.Func, w.p.Start, w.p.Label, w.p.Shared = sym.Name.Demangled, sym.Start, !sym.Sized, w.shared[sym.Start]
	}
	return ok || w.at.Function != nil || w.p.File != ""
}

// boundaries returns where symbols and the ranges of units begin and end, in order.
func (w *walker) boundaries() (points []uint64) {
	f := w.f
	add := func(at ...uint64) { points = append(points, at...) }
	for _, x := range [...]*File{f, f.other} {
		if x == nil {
			continue
		}
		for _, t := range [...]*elf.SymbolTable{x.symtab, x.dynsym, x.miniSymbols()} {
			if t != nil {
				t.Boundaries(add)
			}
		}
		if r := x.runtimeFile.get(); r != nil {
			for _, s := range r.code.Stubs() {
				add(s.Lo, s.Hi)
			}
		}
		for i := range x.elf.Sections {
			if s := &x.elf.Sections[i]; s.IsCode() {
				add(s.Addr, s.Addr+s.Size)
			}
		}
	}
	f.dwarf.Boundaries(add)
	slices.Sort(points)
	return slices.Compact(points)
}

// boundariesIn returns where the answers of a unit may change.
func (w *walker) boundariesIn(u *dwarf.Unit) []uint64 {
	points, ok := w.points[u]
	if !ok {
		points = u.Boundaries()
		w.points[u] = points
	}
	return points
}

// Unwind goes over the call frame information of a module: that of .debug_frame, and for what is not there that of .eh_frame. An
// error of each, which must not call the Source, ends it. The Unwinding is Unwind's own until the next one.
func (s *Source) Unwind(ctx context.Context, key symsrc.Module, each func(*codeprobe.Unwinding) error) (err error) {
	err = errNoFile
	s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		err = nil
		m.file.guard(func() { err = codeprobe.Unwind(codesOf(m.file), each) })
		if fault := m.file.fault.Load(); fault != nil && err == nil {
			err = fault
		}
	})
	return err
}

// codesOf returns the code of the files of a program: of f, of the one that belongs with it, and of the one that is loaded.
func codesOf(f *File) (all []*codeprobe.Code) {
	for _, file := range [...]*File{f, f.other, f.runtimeFile.get()} {
		if file != nil && !slices.Contains(all, file.code) {
			all = append(all, file.code)
		}
	}
	return all
}
