package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readJulia reads a frame of Julia's crashes whose function is not known; `ip: 0x` begins at line[at]:
//
//	unknown function (ip: 0x7f48deb04a30)
//	unknown function (ip: 0x7f48deb04a30) at /usr/lib/libc.so.6
//
// 1 was taken from the addresses of callers, and since Julia 1.5 that of a fault is exact (jl_unw_stepn and jl_print_bt_entry_codeloc in its
// src/stackwalk.c).
func readJulia(s *Search, line []byte, at, from int, f *Frame) bool {
	const word = "unknown function ("
	start, num := at-len(word), at+len("ip: ")
	addr, e, ok := scan.Address(line, num)
	if !ok || start < from || !scan.Has(line, start, word) || e >= len(line) || line[e] != ')' {
		return false
	}
	value := span(num, e)
	e++
	if scan.Has(line, e, " at ") {
		limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
		if i := bytes.Index(line[e:limit], inWord); i > 0 {
			limit = e + i
		}
		e = limit
	}
	*f = Frame{Whole: span(start, e), Addr: value, Off: value, Offset: addr, Base: Absolute, Convention: Moved}
	f.answer(s, line, e)
	return true
}
