package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readValgrind reads a frame of valgrind that names no line; `0x` stands at line[at]:
//
//	==6151==    at 0x484575B: operator delete[](void*) (in /usr/libexec/valgrind/vgpreload_memcheck-amd64-linux.so)
//	==6151==    by 0x10937A: ???
//
// One that does ends in `(file:line)`. 1 is taken from every return address (VG_(get_StackTrace_wrk) in its m_stacktrace.c, "-1: refer
// to calling insn, not the RA"); the first one is the instruction's.
func readValgrind(s *Search, line []byte, at, from int, f *Frame) bool {
	start := at - len("at ")
	if start < from+3 || !scan.Has(line, start, "at ") && !scan.Has(line, start, "by ") || !scan.EndsWith(line, from, start, "   ") {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, e, ": ") {
		return false
	}
	nameStart, limit := e+1, s.textEnd(line, e+1)
	*f = Frame{Whole: span(start, limit), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Moved}
	if line[start] == 'a' {
		f.Convention = Exact
	}
	end := limit
	if k := s.lastIndex(line[nameStart:limit], []byte(" (in /")); k >= 0 && line[limit-1] == ')' {
		end = nameStart + k
		f.Module, f.Space = span(end+len(" (in "), limit-1), symsrc.Fixed
	}
	f.replace(s, line, nameStart, end)
	return true
}
