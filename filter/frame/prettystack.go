package frame

// readPrettyStack reads the traces of LLVM's tools where they do not symbolize, and of macOS; `0x` stands at line[at]:
//
//	1  libLLVM.so.22.1      0x00007f4a49eb5fd3 llvm::sys::RunSignalHandlers() + 131
//	2  libLLVM.so.22.1      0x00007f4a49de84b0
//
// The offset in the function is decimal.
func readPrettyStack(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := hexNumber(line, at)
	if !ok || e-at != len("0x0123456789abcdef") {
		return false
	}
	mod := Span{End: backBlanks(line, from, at)}
	mod.Start = backToken(line, from, mod.End)
	numEnd := backBlanks(line, from, mod.Start)
	num := Span{backDigits(line, from, numEnd), numEnd}
	if mod.End == at || mod.Empty() || num.Empty() || !wordStart(line, from, num.Start) ||
		num.End-num.Start == 1 && mod.Start-num.End < 2 {
		return false
	}
	n, _, ok := decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: Span{num.Start, e}, Num: num, Number: n, Addr: Span{at, e}, Module: mod, Off: Span{at, e}, Offset: addr,
		Space: Absolute, Convention: Raw}
	if f.answer(s, line, e); f.Done || atEnd(line, e) {
		return true
	}
	limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
	if k := s.lastIndex(line[e:limit], []byte(" + ")); k > 1 && line[e] == ' ' {
		p := e + k + len(" + ")
		if v, end, ok := decimal(line, p); ok && end == limit {
			f.Symbol, f.Off, f.Offset, f.Space = Span{e + 1, e + k}, Span{p, end}, v, FromSymbol
			f.Gap, f.Whole.End = Span{e, end}, end
			return true
		}
	}
	return false
}
