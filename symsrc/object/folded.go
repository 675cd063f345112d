package object

import (
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
)

// Linkers fold functions with the same code into one (--icf), which then has all their names, and the lines of one. Compilers make aliases of
// them. Which one was called the address does not say.

// mayBeFolded reports whether the last of some frames has a name of a symbol table, which may be one of several.
func (f *File) mayBeFolded(frames []symsrc.Frame) bool {
	last := len(frames) - 1
	return !f.policy.symbolsOnly && last >= 0 && frames[last].Origin != symsrc.DebugOnly
}

// withFolded returns frames, the last one with its Folded.
func withFolded(frames []symsrc.Frame, names string) []symsrc.Frame {
	if names != "" {
		frames = slices.Clone(frames)
		frames[len(frames)-1].Folded = names
	}
	return frames
}

// foldedNames returns the demangled names of the functions whose code was folded into that of a symbol, one a line, or "" if it is that of
// one. The symbol may be nil.
func (f *File) foldedNames(sym *elf.Match) string {
	if sym == nil || !sym.Several || !sym.Sized || !sym.Function {
		return ""
	}
	if known := sym.Folded.Load(); known != nil {
		return *known
	}
	names := ""
	if t := f.symbols.table(); t != nil {
		if same := t.SameCode(sym); len(same) > 1 {
			if several := foldedAmong(same, f.dwarf.Folded(sym.Start, sym.Size, f.symbols.shared)); len(several) > 1 {
				names = strings.Join(several, "\n")
			}
		}
	}
	f.elf.Budget.Hold(len(names))
	sym.Folded.Store(&names)
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
