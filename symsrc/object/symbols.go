package object

import (
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/names"
)

// symbols are the symbol tables of a file, with the names in them and in the debug information.
type symbols struct {
	of             *File
	symtab, dynsym *elf.SymbolTable
	mini           miniDebug
	names          names.Table
	plain          plainNames
}

// miniDebug is the symbol table of MiniDebugInfo, unpacked when it is first asked for.
type miniDebug struct {
	once  sync.Once
	table *elf.SymbolTable
}

// full returns the full symbol table of the file, or of the one that belongs with it; nil where neither has one.
func (s *symbols) full() *elf.SymbolTable {
	if other := s.of.other; s.symtab == nil && other != nil {
		return other.symtab
	}
	return s.symtab
}

// miniSymbols returns the table of MiniDebugInfo; nil where there is none.
func (s *symbols) miniSymbols() *elf.SymbolTable {
	s.mini.once.Do(func() { s.mini.table = s.of.elf.MiniSymbols() })
	return s.mini.table
}

// at names an address by the fullest symbol table of this file and the one that belongs with it. Where that is
// only the dynamic one, MiniDebugInfo has the rest. A symbol without a size covers what is up to the next one of its
// section, which is a guess: all other sources come before it.
func (s *symbols) at(addr uint64) (c elf.Match, ok bool) {
	f := s.of
	other := f.other
	if other == nil {
		other = f
	}
	full := false
	for i, t := range [...]*elf.SymbolTable{f.symtab, other.symtab, f.dynsym, other.dynsym} {
		if t != nil {
			c, ok = t.At(addr)
			full = i < 2
			break
		}
	}
	if ok && c.Sized || f.policy.symbolsOnly {
		return c, ok
	}
	if !full {
		c, ok = s.miniAt(other, addr, c, ok)
	}
	if ok && c.Sized {
		return c, ok
	}
	for _, x := range [...]*File{f, other} {
		if !x.code.InStubs(addr) {
			continue
		}
		if r := x.runtimeFile.get(); r != nil {
			if stub, found := r.code.StubAt(addr); found {
				return stub, true
			}
		}
	}
	return c, ok
}

// miniAt looks an address up in MiniDebugInfo, besides what is known of it already.
func (s *symbols) miniAt(other *File, addr uint64, known elf.Match, ok bool) (elf.Match, bool) {
	for _, x := range [...]*File{s.of, other} {
		t := x.miniSymbols()
		if t == nil {
			continue
		}
		if c, found := t.At(addr); found && (!ok || c.Sized || c.Start > known.Start) {
			return c, true
		}
		break
	}
	return known, ok
}

// plainNames are the functions of a file by their plain names, as far as they were asked for.
type plainNames struct {
	mu sync.Mutex
	m  map[string][]symsrc.Frame
}

// maxPlainNames bounds the names that are kept, and those that are demangled for one of them.
const maxPlainNames = 1 << 12

// withPlainName returns the functions of a plain name, with their addresses as offsets.
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

// frameWeight is what an answer takes in memory, in bytes.
const frameWeight = 160

// shared returns the addresses at which functions of several names begin.
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
