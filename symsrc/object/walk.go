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

// Piece is a range of code in which all addresses have the same answer.
type Piece struct {
	// Lo and Hi are the start and the end of the range.
	Lo, Hi uint64
	// Func is the demangled name of the physical function, or "" if it is unknown.
	Func string
	// Start is the start address of that function or its symbol. Pieces with the same Start and the same Function, a number, belong
	// to the same function.
	Start    uint64
	Function int
	// Shared is set if several symbols with different names begin at Start.
	Shared bool
	// Label is set if Func is the name of a symbol without a size: it is a guess that it extends to the Piece.
	Label bool
	// File and Line are the source position in the innermost function. File is "" if it is unknown; Line is 0 if the compiler did not
	// assign a line.
	File string
	Line int
	// Calls are the inlined calls, the outermost one first. They are valid until the next Piece.
	Calls []dwarf.InlinedCall
}

// Walk calls each for all code of a module from an address on, in the order of addresses, with what Code would answer. It ends if each,
// which must not call the Source, returns an error. It also ends at the start of the next function after count calls, because the data read
// from a file stays in memory as long as it is open; next is then the address at which to continue, otherwise the largest address.
func (s *Source) Walk(ctx context.Context, key symsrc.Module, from uint64, count int, each func(*Piece) error) (next uint64, err error) {
	next, err = math.MaxUint64, errNoFile
	s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		f := m.file
		if f == nil {
			return
		}
		err = nil
		f.guard(func() {
			w := newWalker(f, count, each)
			next, err = w.run(ctx, from)
		})
		if fault := f.fault.Load(); fault != nil {
			err = fault
		}
	})
	return next, err
}

// walker is the state of a Walk.
type walker struct {
	f      *File
	count  int // remaining calls of each
	each   func(*Piece) error
	piece  func(u *dwarf.Unit, lo, hi uint64) bool // sets p to the piece from lo to hi; returns false if nothing is known about it
	points map[*dwarf.Unit][]uint64                // boundaries of the pieces of each unit

	detailed bool // pieces also begin where only details change

	shared map[uint64]bool // start addresses of several symbols
	p      Piece           // the last one
	at     dwarf.Place
	number int // number of the last function
}

// newWalker returns a walker that describes the pieces of a file.
func newWalker(f *File, count int, each func(*Piece) error) *walker {
	w := &walker{f: f, count: count, each: each, points: make(map[*dwarf.Unit][]uint64)}
	w.piece = w.describe
	return w
}

// run iterates over the ranges in which all addresses have the same unit and the same symbol, and over the pieces in each.
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

// describe sets w.p to the piece from lo to hi. It returns false if nothing is known about it.
func (w *walker) describe(u *dwarf.Unit, lo, hi uint64) bool {
	f := w.f
	if f.elf.Overlaid(lo) {
		return false
	}
	sym := f.symbols.at(lo)
	ok := sym != nil && sym.Name.Linkage != ""
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
	if ok = ok && (u == nil || !f.endsBefore(sym, u, lo)); ok {
		w.p.Func, w.p.Start, w.p.Label, w.p.Shared = sym.Name.Demangled, sym.Start, !sym.Sized, w.shared[sym.Start]
	}
	return ok || w.at.Function != nil || w.p.File != ""
}

// boundaries returns the addresses at which symbols and ranges of units begin and end, sorted.
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
		if x.objects.macho != nil {
			add(x.objects.macho.Starts()...)
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

// boundariesIn returns the addresses at which the answer may change in a unit, sorted.
func (w *walker) boundariesIn(u *dwarf.Unit) []uint64 {
	points, ok := w.points[u]
	if !ok {
		points = u.Boundaries(w.detailed)
		w.points[u] = points
	}
	return points
}

// Unwind calls each for the call frame information of a module: that of .debug_frame and, for other code, that of .eh_frame. It ends if
// each, which must not call the Source, returns an error. The Unwinding is valid until the next call.
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

// codesOf returns the code of the files of a module: of f, of File.other, and of the runtime object.
func codesOf(f *File) (all []*codeprobe.Code) {
	for _, file := range [...]*File{f, f.other, f.runtimeFile.get()} {
		if file != nil && !slices.Contains(all, file.code) {
			all = append(all, file.code)
		}
	}
	return all
}
