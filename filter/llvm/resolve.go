package llvm

import (
	"cmp"
	"context"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// invalid is what llvm writes for an unknown name.
const invalid = "<invalid>"

// memoLimit is how many entries each table of the memo has at most. A full table is emptied: a log repeats its frames within a short
// time.
const memoLimit = 1 << 15

// memo remembers files and answers.
type memo struct {
	files   map[symsrc.BuildID]*file
	answers map[query]*answer
}

// init empties the memo.
func (m *memo) init() {
	m.files = map[symsrc.BuildID]*file{}
	m.answers = map[query]*answer{}
}

// file returns the file of a module. Its identity is the build ID alone.
func (m *memo) file(mod symsrc.Module) *file {
	f := m.files[mod.BuildID]
	if f == nil {
		if len(m.files) >= memoLimit {
			m.init()
		}
		f = &file{module: mod}
		m.files[mod.BuildID] = f
	}
	return f
}

// file is the file of a module. llvm has a message at every element if there is none, but only one if it cannot be read.
type file struct {
	module symsrc.Module
	status symsrc.Status
	detail string // of the damage, in llvm's words
	told   bool
}

// failure returns the message about a file that is missing or, the first time, that cannot be read. Otherwise it returns "".
func (f *file) failure() string {
	switch f.status {
	case symsrc.OK:
		return ""
	case symsrc.NotFound:
		return "could not find build ID"
	}
	if f.told {
		return ""
	}
	f.told = true
	switch f.status {
	case symsrc.NoReadPermission:
		return "Permission denied"
	case symsrc.ReadError:
		return "Is a directory"
	}
	return cmp.Or(f.detail, "The file was not recognized as a valid object file")
}

// query is an address of a file.
type query struct {
	file *file
	off  uint64
	kind symsrc.Kind
}

// answer is what bt elements show for an address, and what pc and data elements show.
type answer struct {
	frames []frameOf
	pc     frameOf
	retry  func() bool // if not nil, reports whether the answer is stale
}

// frameOf is a function as llvm shows it.
type frameOf struct {
	function, file string
	line, column   int
	entry          symsrc.Entry
}

// known reports whether anything is known of the function.
func (f *frameOf) known() bool { return *f != frameOf{function: invalid, file: invalid} }

// code returns the kind of the queries of pc and bt elements.
func (l *Filter) code() symsrc.Kind {
	if l.opt.Functions == ShortNames {
		return symsrc.ShortCode
	}
	return symsrc.Code
}

// ask returns the answer for an address of a module.
func (l *Filter) ask(ctx context.Context, f *file, off uint64, kind symsrc.Kind) *answer {
	q := query{f, off, kind}
	if a := l.memo.answers[q]; a != nil && (a.retry == nil || !a.retry()) {
		return a
	}
	got := l.opt.Symbols.Frames(ctx, symsrc.Addr{Module: f.module, Offset: off, Kind: kind})
	f.status = symsrc.OK
	if got.Files != nil && len(got.Frames) == 0 && !got.Files.Usable() {
		f.status, f.detail = got.Files.Reason(), got.Files.Detail
	}
	a := l.answer(got.Frames, kind)
	if got.Files != nil {
		a.retry = got.Files.Retry
	}
	if f.status != symsrc.OK {
		a.frames = nil
	}
	if len(l.memo.answers) >= memoLimit {
		clear(l.memo.answers)
	}
	l.memo.answers[q] = a
	return a
}

// answer returns known frames as llvm shows them.
func (l *Filter) answer(known []symsrc.Frame, kind symsrc.Kind) *answer {
	a := &answer{pc: frameOf{function: invalid, file: invalid}}
	for i := range known {
		fr := &known[i]
		if l.opt.Functions == NoNames && kind != symsrc.Data && fr.Origin > symsrc.SymbolAndDebug {
			continue // llvm does not use the symbol table then
		}
		a.frames = append(a.frames, l.shown(fr, kind))
	}
	if len(a.frames) == 0 {
		a.frames = []frameOf{a.pc}
		return a
	}
	// A pc element shows the innermost function's line, but the outermost function if that is in the symbol table.
	a.pc = a.frames[0]
	if a.pc.entry == symsrc.Undeclared { // these elements ignore it
		a.pc.entry = symsrc.NoEntry
	}
	switch outer := len(a.frames) - 1; known[outer].Origin {
	case symsrc.SymbolAndDebug:
		a.pc.function = a.frames[outer].function
	case symsrc.SymbolInUnit:
		// llvm uses the unit's debug information, which has nothing for the address.
		a.pc.file = invalid
	}
	return a
}

// shown returns one function as llvm shows it.
func (l *Filter) shown(fr *symsrc.Frame, kind symsrc.Kind) frameOf {
	out := frameOf{function: fr.Linkage, file: fr.File, line: fr.Line, column: fr.Column, entry: fr.Entry}
	switch {
	case l.opt.Functions == NoNames && kind != symsrc.Data, out.function == "":
		out.function = invalid
	case !l.opt.NoDemangle:
		out.function = demangle.LLVM(out.function, false)
	}
	switch {
	case out.file == "":
		out.file = invalid
	case l.opt.Basenames:
		out.file = out.file[strings.LastIndexByte(out.file, '/')+1:]
	case l.opt.RelativeNames:
		out.file = out.file[fr.CompDir:]
	}
	if fr.Approx {
		out.line = 0
	}
	return out
}
