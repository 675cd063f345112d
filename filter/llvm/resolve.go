package llvm

import (
	"cmp"
	"context"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// invalid stands where llvm knows no name.
const invalid = "<invalid>"

// memoLimit bounds each table of the memo. A full one is emptied: a log repeats its frames within a short time.
const memoLimit = 1 << 15

// memo remembers files and answers.
type memo struct {
	files   map[symsrc.BuildID]*file
	answers map[question]*answer
}

func (m *memo) init() {
	m.files = map[symsrc.BuildID]*file{}
	m.answers = map[question]*answer{}
}

// file returns what is remembered of a module's file. The build ID alone is its identity.
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

// file is the file of a module. llvm says at every element that there is none, but only once that it cannot be read.
type file struct {
	module symsrc.Module
	status symsrc.Status
	detail string // of the damage, in llvm's words
	told   bool
}

// failure is the message on a file that is not there or, the first time, cannot be read; "" else.
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

type question struct {
	file *file
	off  uint64
	kind symsrc.Kind
}

// answer is what bt elements show of an address, and what pc and data elements do.
type answer struct {
	frames []frameOf
	pc     frameOf
	retry  func() bool // not nil: tells whether asking again may bring more by now
}

// frameOf is a function as llvm shows it.
type frameOf struct {
	function, file string
	line, column   int
	entry          symsrc.Entry
}

// known reports whether anything is known of the function, be it that there is one.
func (f *frameOf) known() bool { return *f != frameOf{function: invalid, file: invalid} }

// code is the kind of question that pc and bt elements ask.
func (l *Filter) code() symsrc.Kind {
	if l.opt.Functions == ShortNames {
		return symsrc.ShortCode
	}
	return symsrc.Code
}

// ask returns the answer for an address of a module.
func (l *Filter) ask(ctx context.Context, f *file, off uint64, kind symsrc.Kind) *answer {
	q := question{f, off, kind}
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

// answer puts what is known in llvm's terms.
func (l *Filter) answer(known []symsrc.Frame, kind symsrc.Kind) *answer {
	a := &answer{pc: frameOf{function: invalid, file: invalid}}
	for i := range known {
		fr := &known[i]
		if l.opt.Functions == NoNames && kind != symsrc.Data && fr.Origin > symsrc.SymbolAndDebug {
			continue // llvm does not ask the symbol table then
		}
		a.frames = append(a.frames, l.shown(fr, kind))
	}
	if len(a.frames) == 0 {
		a.frames = []frameOf{a.pc}
		return a
	}
	// A pc element names the innermost function's line, but the outermost function where the symbol table names that.
	a.pc = a.frames[0]
	if a.pc.entry == symsrc.Undeclared { // which these elements take for nothing
		a.pc.entry = symsrc.NoEntry
	}
	switch outer := len(a.frames) - 1; known[outer].Origin {
	case symsrc.SymbolAndDebug:
		a.pc.function = a.frames[outer].function
	case symsrc.SymbolInUnit:
		// The unit's debug information is asked, though it knows nothing of the address.
		a.pc.file = invalid
	}
	return a
}

// shown puts one function in llvm's terms.
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
