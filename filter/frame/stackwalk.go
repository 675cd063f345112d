package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readStackwalk reads a frame of Breakpad's, Crashpad's and Mozilla's minidump-stackwalk; `+ 0x` stands at line[plus]:
//
//	1  libc-2.23.so + 0xf302d
//	2  libfoo.so!run + 0x12
//
// The offset counts from the start of the module, or from the function. The first one is exact. Of callers Breakpad prints return
// addresses since 2013 (PrintStack in its processor/stackwalk_common.cc), before that and in rust-minidump they lie in the call already
// (print in rust-minidump's process_state.rs).
func readStackwalk(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+len("+ "))
	if !ok || !scan.EndsWith(line, from, plus, " ") || !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	mod := Span{End: plus - 1}
	mod.Start = scan.BackToken(line, from, mod.End)
	s.spend(mod.End - mod.Start)
	numEnd := mod.Start - len("  ")
	num := span(scan.BackDigits(line, from, max(from, numEnd)), numEnd)
	if mod.Empty() || num.Empty() || !scan.Has(line, numEnd, "  ") || !scan.WordStart(line, from, num.Start) {
		return false
	}
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Module: mod, Off: span(plus+len("+ "), e), Offset: off,
		Space: symsrc.InImage, Convention: UnsaidButFirst, Later: true}
	if i := bytes.IndexByte(mod.Of(line), '!'); i > 0 && mod.Start+i+1 < mod.End {
		f.Base, f.Space = FromSymbol, symsrc.Linked
		f.Module.End, f.Symbol = mod.Start+i, span(mod.Start+i+1, mod.End)
	}
	f.answer(s, line, e)
	return true
}

// readStackwalkFields reads a frame of what minidump-stackwalk writes for machines, `0|1|libc-2.23.so||||0xf302d`: the thread, the frame,
// the module, the function, its file, the line and the offset (PrintStackMachineReadable in Breakpad's processor/stackwalk_common.cc);
// `0x` stands at line[start]. With a line there is nothing to look up.
func readStackwalkFields(s *Search, line []byte, start, from int, f *Frame) bool {
	at := start - 1
	off, e, ok := scan.Address(line, start)
	if !ok || !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") || !scan.EndsWith(line, from, at, "||") {
		return false
	}
	from = max(from, at-2*maxModule)
	function := s.barBefore(line, from, at-len("||"))
	module := s.barBefore(line, from, function-1)
	if module < 0 || module == function-1 {
		return false
	}
	numEnd := module - 1
	num := span(scan.BackDigits(line, from, numEnd), numEnd)
	thread := scan.BackDigits(line, from, num.Start-1)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || num.Start <= from || line[num.Start-1] != '|' || thread == num.Start-1 || !scan.WordStart(line, from, thread) {
		return false
	}
	*f = Frame{Whole: span(thread, e), Num: num, Number: n, Module: span(module, function-1), Off: span(at+1, e), Offset: off,
		Space: symsrc.InImage, Convention: UnsaidButFirst}
	if name := span(function, at-len("||")); !name.Empty() {
		f.Base, f.Space, f.Symbol = FromSymbol, symsrc.Linked, name
	}
	f.answer(s, line, e)
	return true
}

// barBefore returns where the field begins that ends before line[end], after a vertical bar; −1 if there is none.
func (s *Search) barBefore(line []byte, from, end int) int {
	if end <= from {
		return -1
	}
	if i := s.lastIndexByte(line[from:end], '|'); i >= 0 {
		return from + i + 1
	}
	return -1
}
