package filter

import (
	"cmp"
	"context"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// invalid stands where llvm knows no name.
const invalid = "<invalid>"

// llvmMemo remembers files and answers.
type llvmMemo struct {
	files   map[symsrc.BuildID]*llvmFile
	answers map[llvmQuestion]*llvmAnswer
}

func (m *llvmMemo) init() {
	m.files = map[symsrc.BuildID]*llvmFile{}
	m.answers = map[llvmQuestion]*llvmAnswer{}
}

// file returns what is remembered of a module's file. The build ID alone is its identity.
func (m *llvmMemo) file(mod symsrc.Module) *llvmFile {
	f := m.files[mod.BuildID]
	if f == nil {
		if len(m.files) >= memoLimit {
			m.init()
		}
		f = &llvmFile{module: mod}
		m.files[mod.BuildID] = f
	}
	return f
}

// llvmFile is the file of a module. llvm says at every element that there is none, but only once that it cannot be read.
type llvmFile struct {
	module symsrc.Module
	status symsrc.Status
	detail string // of the damage, in llvm's words
	told   bool
}

// failure is the message on a file that is not there or, the first time, cannot be read; "" else.
func (f *llvmFile) failure() string {
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

type llvmQuestion struct {
	file *llvmFile
	off  uint64
	kind symsrc.Kind
}

// llvmAnswer is what bt elements show of an address, and what pc and data elements do.
type llvmAnswer struct {
	frames []llvmFrame
	pc     llvmFrame
	retry  func() bool // not nil: tells whether asking again may bring more by now
}

// llvmFrame is a function as llvm shows it.
type llvmFrame struct {
	function, file string
	line, column   int
	entry          symsrc.Entry
}

// known reports whether anything is known of the function, be it that there is one.
func (f *llvmFrame) known() bool { return *f != llvmFrame{function: invalid, file: invalid} }

// code is the kind of question that pc and bt elements ask.
func (l *llvmStyle) code() symsrc.Kind {
	if l.opt.Functions == ShortNames {
		return symsrc.ShortCode
	}
	return symsrc.Code
}

// ask returns the answer for an address of a module.
func (l *llvmStyle) ask(ctx context.Context, f *llvmFile, off uint64, kind symsrc.Kind) *llvmAnswer {
	q := llvmQuestion{f, off, kind}
	if a := l.memo.answers[q]; a != nil && (a.retry == nil || !a.retry()) {
		return a
	}
	got := l.symbols.Frames(ctx, symsrc.Addr{Module: f.module, Offset: off, Kind: kind})
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
func (l *llvmStyle) answer(known []symsrc.Frame, kind symsrc.Kind) *llvmAnswer {
	a := &llvmAnswer{pc: llvmFrame{function: invalid, file: invalid}}
	for i := range known {
		fr := &known[i]
		if l.opt.Functions == NoNames && kind != symsrc.Data && fr.Origin > symsrc.SymbolAndDebug {
			continue // llvm does not ask the symbol table then
		}
		a.frames = append(a.frames, l.shown(fr, kind))
	}
	if len(a.frames) == 0 {
		a.frames = []llvmFrame{a.pc}
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
func (l *llvmStyle) shown(fr *symsrc.Frame, kind symsrc.Kind) llvmFrame {
	out := llvmFrame{function: fr.Linkage, file: fr.File, line: fr.Line, column: fr.Column, entry: fr.Entry}
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
