package object

import (
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// symbols holds the symbol tables of a file, and the names in them and in the debug information.
type symbols struct {
	of             *File
	symtab, dynsym *elf.SymbolTable
	mini           miniDebug
	names          names.Table
	plain          plainNames
}

// miniDebug is the symbol table of MiniDebugInfo. It is unpacked lazily.
type miniDebug struct {
	once  sync.Once
	table *elf.SymbolTable
}

// full returns the full symbol table of the file or of File.other, or nil if neither has one.
func (s *symbols) full() *elf.SymbolTable {
	if other := s.of.other; s.symtab == nil && other != nil {
		return other.symtab
	}
	return s.symtab
}

// miniSymbols returns the symbol table of MiniDebugInfo, or nil if there is none.
func (s *symbols) miniSymbols() *elf.SymbolTable {
	s.mini.once.Do(func() { s.mini.table = s.of.elf.MiniSymbols() })
	return s.mini.table
}

// at returns the symbol that covers an address, or nil, from the most complete symbol table of this file and File.other. If that is only the
// dynamic one, MiniDebugInfo has the other symbols. That a symbol without a size covers the address is a guess, so all other sources have
// priority.
func (s *symbols) at(addr uint64) (c *elf.Match) {
	f := s.of
	other := f.other
	if other == nil {
		other = f
	}
	full := false
	if t := s.table(); t != nil {
		c = t.At(addr)
		full = t == f.symtab || t == other.symtab
	}
	if c == nil && f.objects.macho != nil && full && other != f && f.symtab != nil && other.symtab != nil {
		// Where functions start, and so which symbols cover code, only one of the two may know.
		c = other.symtab.At(addr)
	}
	if c != nil && (startsWithin(f, c.Start, addr) || other != f && startsWithin(other, c.Start, addr)) {
		return nil
	}
	if c != nil && c.Sized || f.policy.symbolsOnly {
		return c
	}
	if !full {
		c = s.miniAt(other, addr, c)
	}
	if c != nil && c.Sized {
		return c
	}
	for _, x := range [...]*File{f, other} {
		if !x.code.InStubs(addr) {
			continue
		}
		if r := x.runtimeFile.get(); r != nil {
			if stub := r.code.StubAt(addr); stub != nil {
				return stub
			}
		}
	}
	return c
}

// startsWithin reports whether a file of Mach-O says that a function starts after a symbol, up to and including an address. A dSYM does not
// have the starts of functions without symbols, but the program does.
func startsWithin(f *File, after, last uint64) bool {
	return f.objects.macho != nil && f.objects.macho.StartsWithin(after, last)
}

// table returns the table that at asks first, or nil.
func (s *symbols) table() *elf.SymbolTable {
	f := s.of
	other := f.other
	if other == nil {
		other = f
	}
	for _, t := range [...]*elf.SymbolTable{f.symtab, other.symtab, f.dynsym, other.dynsym} {
		if t != nil {
			return t
		}
	}
	return nil
}

// miniAt returns the symbol in MiniDebugInfo if it is better than known, which may be nil, otherwise known.
func (s *symbols) miniAt(other *File, addr uint64, known *elf.Match) *elf.Match {
	for _, x := range [...]*File{s.of, other} {
		t := x.miniSymbols()
		if t == nil {
			continue
		}
		if c := t.At(addr); c != nil && (known == nil || c.Sized || c.Start > known.Start) {
			return c
		}
		break
	}
	return known
}

// plainNames caches the functions of a file by their plain names.
type plainNames struct {
	mu sync.Mutex
	m  map[string][]symsrc.Frame
}

// maxPlainNames bounds the number of cached names, of functions with one name, and of names that are demangled to find them.
const maxPlainNames = 1 << 12

// withPlainName returns the functions with a plain name. The Offset of each frame is the address of the function.
func (s *symbols) withPlainName(plain string) []symsrc.Frame {
	f, known := s.of, &s.plain
	token := elf.LastWord(plain)
	if token == "" {
		return nil
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	frames, ok := known.m[plain]
	if ok {
		return frames
	}
	tries := maxPlainNames
	isNamed := func(raw string) bool { return demangle.PlainName(raw) == plain }
	for _, file := range [...]*File{f, f.other} {
		if file == nil {
			continue
		}
		add := func(addr, size uint64) {
			file.elf.Budget.Hold(frameWeight)
			frames = append(frames, symsrc.Frame{Func: plain, Offset: addr, Size: size})
		}
		for _, t := range [...]*elf.SymbolTable{file.symtab, file.dynsym, file.miniSymbols()} {
			if t != nil {
				t.FunctionsNamed(plain, token, &tries, isNamed, add)
			}
		}
	}
	if tries < 0 || len(frames) > maxPlainNames {
		frames = nil
	}
	if known.m == nil || len(known.m) >= maxPlainNames {
		known.m = make(map[string][]symsrc.Frame)
	}
	known.m[plain] = frames
	return frames
}

// frameWeight is the memory of a frame, in bytes.
const frameWeight = 160

// shared returns the addresses at which functions with different names begin.
func (s *symbols) shared() map[uint64]bool {
	t := s.full()
	if t == nil {
		t = s.dynsym
	}
	if t == nil {
		return nil
	}
	return t.SharedStarts()
}
