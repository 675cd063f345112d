package frame

import "qss-filter/filter/scan"

// readZig reads a frame of Zig's stack traces that names no line; `?: 0x` begins at line[at]:
//
//	???:?:?: 0x7f5e2c84527f in __libc_start_call_main (???)
//	???:?:?: 0x7f5e2c84527f in ??? (libc.so.6)
//
// 1 was taken from the addresses of callers, and that of a fault is exact (dumpStackTraceFromBase and writeCurrentStackTrace in lib/std/debug.zig).
func readZig(s *Search, line []byte, at, from int, f *Frame) bool {
	const unknown = "???:?:"
	start, num := at-len(unknown), at+len("?: ")
	addr, e, ok := scan.Address(line, num)
	if !ok || start < from || !scan.Has(line, start, unknown) || !scan.Has(line, e, " in ") {
		return false
	}
	limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
	open := e + s.lastIndex(line[e:limit], []byte(" ("))
	if line[limit-1] != ')' || open < e+len(" in x") {
		return false
	}
	*f = Frame{Whole: span(start, limit), Addr: span(num, e), Off: span(num, e), Offset: addr, Base: Absolute, Gap: span(e, open), Convention: Moved}
	name := span(e+len(" in "), open)
	f.Done = s.endsWithLine(name.Of(line))
	return f.Done || s.isName(name.Of(line))
}
