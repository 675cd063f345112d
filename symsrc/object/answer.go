package object

import (
	"fmt"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/elf"
	"qss-filter/symsrc/gopclntab"
)

// Code returns the functions at an address of code: the innermost inlined one first, the physical one last; nil where
// nothing is known.
func (f *File) Code(addr uint64) (frames []symsrc.Frame) {
	f.elf.Budget.Question()
	f.guard(func() { frames = f.answer(addr) })
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

func (f *File) answer(addr uint64) []symsrc.Frame {
	addr = f.codeAddr(addr)
	if frames := f.goTab.frames(f, addr); frames != nil {
		return frames
	}
	sym, ok := f.symbols.at(addr)
	ok = ok && sym.Name.Linkage != ""
	var frames []symsrc.Frame
	origin := symsrc.SymbolOnly
	if u := f.dwarf.UnitFor(addr); u != nil {
		frames = u.Frames(addr, !ok, false)
		origin = symsrc.SymbolInUnit
	}
	if !ok {
		return frames
	}
	if frames == nil {
		frames = []symsrc.Frame{{File: string(sym.File)}}
	} else {
		origin = symsrc.SymbolAndDebug
	}
	outer := &frames[len(frames)-1]
	outer.Func, outer.Linkage, outer.Origin = sym.Name.Demangled, sym.Name.Linkage, origin
	return frames
}

// ShortCode does what Code does, with the functions' short names, all from the debug information.
func (f *File) ShortCode(addr uint64) (frames []symsrc.Frame) {
	f.elf.Budget.Question()
	f.guard(func() {
		addr := f.codeAddr(addr)
		if u := f.dwarf.UnitFor(addr); u != nil {
			frames = u.Frames(addr, true, true)
		}
	})
	if f.fault.Load() != nil {
		return nil
	}
	return frames
}

// Data returns the variable at an address.
func (f *File) Data(addr uint64) (frame symsrc.Frame, ok bool) {
	f.elf.Budget.Question()
	f.guard(func() {
		addr := f.dataAddr(addr)
		var sym elf.Match
		if sym, ok = f.symbols.at(addr); ok {
			frame = symsrc.Frame{Func: sym.Name.Demangled, Linkage: sym.Name.Linkage, File: string(sym.File), Offset: addr - sym.Start}
		}
	})
	return frame, ok
}

// maxAnswer bounds an answer, in bytes of names and paths: calls of functions with long names may be inlined into each other.
const maxAnswer = 64 << 10

// tooLong reports whether an answer has more text than maxAnswer.
func tooLong(frames []symsrc.Frame) bool {
	n := 0
	for i := range frames {
		n += len(frames[i].Func) + len(frames[i].File)
	}
	return n > maxAnswer
}

// withoutLong returns files with a note that an answer is left out.
func withoutLong(of *symsrc.Files) *symsrc.Files {
	files := *of
	if files.Note != "" {
		files.Note += "; "
	}
	files.Note += fmt.Sprintf("answers of more than %d KiB are left out", maxAnswer>>10)
	return &files
}

// Named returns the functions whose plain name is that of name, as answers to questions of kind symsrc.Named.
func (f *File) Named(name string, addr uint64) (frames []symsrc.Frame) {
	f.guard(func() {
		addr = f.codeAddr(addr)
		frames = f.withPlainName(demangle.PlainName(name))
	})
	if len(frames) == 0 || f.fault.Load() != nil {
		return nil
	}
	frames = append([]symsrc.Frame(nil), frames...)
	for i := range frames {
		frames[i].Offset = addr - frames[i].Offset
	}
	return frames
}

// goTable is Go's own table of a file, read when the first address is asked for; nil where there is none that can be read.
type goTable struct {
	once  sync.Once
	table *gopclntab.Table
}

// frames returns the functions at an address of f by the Go program's own table, where that is all there is; nil otherwise.
func (g *goTable) frames(f *File, addr uint64) []symsrc.Frame {
	other := f.other
	if other == nil {
		other = f
	}
	if f.by.symbolsOnly || f.HasDebug() || other.HasDebug() || f.symtab != nil || other.symtab != nil {
		return nil
	}
	g.once.Do(func() { g.table = gopclntab.Read(f.elf) })
	if g.table == nil {
		return nil
	}
	return g.table.Frames(addr)
}
