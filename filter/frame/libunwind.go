package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readUnwound reads a frame that programs with libunwind print, most by a copy of the same example (E. Bendersky's "Programmatic access to the
// call stack in C++", and show_backtrace in htop's CRT.c); `0x` stands at line[at]:
//
//	0x7fe2a570fce1: (gsignal+0x141)
//	0x7fe2a56f940f: -- error: unable to obtain symbol name for this frame
//	      0x540500: (ProcessList_scan+0xd30)
//
// The address is what unw_get_reg returns. The name is that of the last symbol before it.
func readUnwound(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, end, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, end, ": ") || !scan.WordStart(line, from, at) {
		return false
	}
	text := end + len(":")
	limit := s.textEnd(line, text)
	*f = Frame{Whole: span(at, limit), Addr: span(at, end), Off: span(at, end), Offset: addr, Base: Absolute, Convention: Raw, Run: Adjacent}
	switch {
	case scan.Has(line, text, " (") && scan.EndsWith(line, text, limit, ")"):
		name := text + len(" (")
		plus := s.lastIndexByte(line[name:limit], '+')
		if plus <= 0 {
			return false
		}
		if _, e, ok := scan.Address(line, name+plus+1); !ok || e != limit-1 || !s.isName(line[name:name+plus]) {
			return false
		}
		f.Hint = span(name, limit-1)
	case scan.Has(line, text, " -- ") && bytes.Contains(line[text:limit], noSymbolName):
	case scan.Has(line, text, string(inWord)):
	default:
		return false
	}
	f.replace(s, line, text, limit)
	return true
}

var noSymbolName = []byte("unable to obtain symbol name")

// readUnwoundRegisters reads a frame as the example of libunwind's manual prints it, but for the `0x` that many write before the numbers; the first
// one stands at line[at]:
//
//	ip = 0x55bd80bdd29c, sp = 0x7ffe2d350b40
func readUnwoundRegisters(s *Search, line []byte, at, from int, f *Frame) bool {
	begin := at - len("ip = ")
	if !scan.EndsWith(line, from, at, "ip = ") || !scan.WordStart(line, from, begin) {
		return false
	}
	addr, end, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, end, ", sp = ") {
		return false
	}
	_, last, ok := scan.Address(line, end+len(", sp = "))
	if !ok || !scan.WordEnd(line, last) {
		return false
	}
	*f = Frame{Whole: span(begin, last), Addr: span(at, end), Off: span(at, end), Offset: addr, Base: Absolute, Convention: Raw, Run: Adjacent}
	f.answer(s, line, last)
	return true
}
