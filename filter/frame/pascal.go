package frame

import "qss-filter/filter/scan"

// readPascal reads a frame of Free Pascal's runtime without a line, alone on its line; `$` stands at line[at]:
//
//	$00000000004010DB
//
// (SysBackTraceStr, of machines with 64 bits, in its rtl/inc/system.inc.) The first one may be what a signal interrupted, or where an exception
// was raised. The others are return addresses.
func readPascal(s *Search, line []byte, at, _ int, f *Frame) bool {
	start := at + len("$")
	addr, end, ok := scan.Hex(line, start)
	if !ok || addr == 0 || end-start != len("00000000004010DB") || at != s.wordsBegin() || at == s.begin ||
		!scan.LineEnd(line, end) && !scan.Has(line, end, " in ") {
		return false
	}
	*f = Frame{Whole: span(at, end), Addr: span(start, end), Off: span(start, end), Offset: addr, Base: Absolute}
	f.answer(s, line, end)
	return true
}
