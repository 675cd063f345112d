package object

import (
	"slices"
	"strings"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/dwarf"
)

// Linkers fold functions with the same code into one (--icf), which then has all their names, and the lines of one. Compilers make aliases of
// them. Which one was called the address does not say.

// folds remembers the names of folded functions, one a line, by where they begin, "" for a function that is not folded.
type folds struct {
	mu    sync.Mutex
	names map[uint64]string
}

// maxFolds bounds the functions that are remembered.
const maxFolds = 1 << 12

// withFolded returns the frames at an address, the last one with its Folded.
func (f *File) withFolded(addr uint64, frames []symsrc.Frame) []symsrc.Frame {
	last := len(frames) - 1
	if f.policy.symbolsOnly || last < 0 || frames[last].Origin == symsrc.DebugOnly {
		return frames
	}
	names := ""
	f.guard(func() {
		at, known := f.codeAddr(addr), false
		if names, known = f.index.folded(at); !known {
			names = f.foldedNames(at)
		}
	})
	if names == "" {
		return frames
	}
	frames = slices.Clone(frames)
	frames[last].Folded = names
	return frames
}

// foldedNames returns the demangled names of the functions whose code was folded into that at an address, one a line, or "" if it is that of
// one.
func (f *File) foldedNames(addr uint64) string {
	sym, ok := f.symbols.at(addr)
	if !ok || !sym.Several || !sym.Sized || !sym.Function {
		return ""
	}
	t := f.symbols.table()
	if t == nil {
		return ""
	}
	same := t.SameCode(&sym)
	if len(same) < 2 {
		return ""
	}
	x := &f.folds
	x.mu.Lock()
	defer x.mu.Unlock()
	if names, known := x.names[sym.Start]; known {
		return names
	}
	names := ""
	if several := foldedAmong(same, f.dwarf.Folded(sym.Start, sym.Size, f.symbols.shared)); len(several) > 1 {
		names = strings.Join(several, "\n")
	}
	if x.names == nil || len(x.names) >= maxFolds {
		x.names = map[uint64]string{}
	}
	f.elf.Budget.Hold(frameWeight + len(names))
	x.names[sym.Start] = names
	return names
}

// foldedAmong returns the names of functions, of those that begin at one address, that are no aliases of each other: the debug information
// defines them, or they are of C++ or Rust and differ in more than the kind of a constructor. Only there a destructor may be an alias of its base's.
//
// Since version 14, gcc also gives a function with a constraint the name that its former versions gave it, which is without that.
func foldedAmong(same []string, defined dwarf.Defined) (names []string) {
	seen, constrained := map[string]bool{}, map[string]bool{}
	for _, raw := range same {
		if name, _, ok := strings.Cut(demangle.Demangle(raw), " requires "); ok {
			constrained[name] = true
		}
	}
	for _, raw := range same {
		raw = bin.Unversioned(raw)
		readable := demangle.Demangle(raw)
		mangled := readable != raw && !(defined.Any() && strings.Contains(readable, "::~"))
		if readable, _, _ = strings.Cut(readable, " (."); seen[readable] || !defined.Has(raw) && (!mangled || constrained[readable]) {
			continue
		}
		seen[readable] = true
		names = append(names, readable)
	}
	return names
}
