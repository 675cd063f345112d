package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readPrettyStack reads the traces of LLVM's tools where they do not symbolize, and of macOS; `0x` stands at line[at]:
//
//	1  libLLVM.so.22.1      0x00007f4a49eb5fd3 llvm::sys::RunSignalHandlers() + 131
//	2  libLLVM.so.22.1      0x00007f4a49de84b0
//	4  ???                  0x0000000000000030 0x0 + 48
//
// The last one is of no image that is known. The offset in the function is decimal. The addresses are what backtrace() returns (PrintStackTrace in LLVM's
// lib/Support/Unix/Signals.inc); TestLiveClangCrash runs it, in markup.
func readPrettyStack(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || e-at != len("0x0123456789abcdef") {
		return false
	}
	mod := Span{End: scan.BackSpaces(line, from, at)}
	mod.Start = scan.BackToken(line, from, mod.End)
	numEnd := scan.BackSpaces(line, from, mod.Start)
	num := span(scan.BackDigits(line, from, numEnd), numEnd)
	const digits = 4 // of the number of a frame at most
	if mod.End == at || mod.Empty() || num.Empty() || num.End-num.Start > digits || !scan.WordStart(line, from, num.Start) ||
		num.End-num.Start == 1 && mod.Start-num.End < 2 {
		return false
	}
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(at, e), Module: mod, Off: span(at, e), Offset: addr,
		Base: Absolute, Convention: Raw}
	if bytes.Equal(mod.Of(line), noName) {
		f.Module = Span{}
	}
	if f.answer(s, line, e); f.Done || scan.LineEnd(line, e) {
		return true
	}
	limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
	if k := s.lastIndex(line[e:limit], []byte(" + ")); k > 1 && line[e] == ' ' {
		p := e + k + len(" + ")
		switch v, end, ok := scan.Decimal(line, p); {
		case !ok || end != limit:
		case f.Module.Empty():
			f.Gap, f.Whole.End = span(e, end), end
			return true
		default:
			f.Symbol, f.Off, f.Offset, f.Base = span(e+1, e+k), span(p, end), v, FromSymbol
			f.Gap, f.Whole.End = span(e, end), end
			return true
		}
	}
	return false
}
