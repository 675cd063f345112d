package frame

import (
	"qss-filter/filter/scan"
)

// readNode reads a frame of Node.js's native stacks, ` 1: 0xb78db3 node::OOMErrorHandler(char const*, v8::OOMDetails const&) [node]`
// or ` 4: 0x10fb205  [node]`; `:` stands at line[at]. The address is what backtrace() returns, and the name that of dladdr()
// (DumpNativeBacktrace in its src/debug_utils.cc): a return address. TestRealNode runs it.
func readNode(s *Search, line []byte, at, from int, f *Frame) bool {
	num := span(scan.BackDigits(line, from, at), at)
	if num.Empty() || !scan.WordStart(line, from, num.Start) {
		return false
	}
	start := at + len(": ")
	addr, e, ok := scan.Address(line, start)
	if !ok || e >= len(line) || line[e] != ' ' {
		return false
	}
	n, _, ok := scan.Decimal(line, num.Start)
	limit := s.textEnd(line[:min(len(line), e+2*maxModule)], e)
	if !ok || line[limit-1] != ']' {
		return false
	}
	open := e + s.lastIndex(line[e:limit], []byte(" ["))
	if open < e || open+len(" [") == limit-1 {
		return false
	}
	*f = Frame{Whole: span(num.Start, limit), Num: num, Number: n, Addr: span(start, e), Module: span(open+len(" ["), limit-1),
		Off: span(start, e), Offset: addr, Base: Absolute, Convention: Raw}
	f.replace(s, line, e, open)
	return f.Done || open <= e+1 || s.isName(f.Gap.Of(line))
}
