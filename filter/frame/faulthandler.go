package frame

import "qss-filter/filter/scan"

// readFaulthandler reads a frame of the C stack of Python's faulthandler, since 3.14; `+0x` stands at line[plus]:
//
//	Binary file "/opt/python/python", at _Py_DumpStack+0x42 [0x5b27f7d7147e]
//	Binary file "/usr/lib/libc.so.6", at +0x3def0 [0x77b73226bef0]
//
// The addresses are what backtrace() returns. Without a function the offset counts from l_addr: it is an address of the file
// (_Py_backtrace_symbols_fd in CPython's Python/traceback.c, a copy of glibc's backtrace_symbols_fd).
func readFaulthandler(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok {
		return false
	}
	addr, end, ok := bracketed(line, e)
	if !ok {
		return false
	}
	from = max(from, plus-2*maxModule)
	pathEnd := from + s.lastIndex(line[from:plus], []byte(`", at `))
	path := s.binaryFile(line, from, pathEnd)
	if path < 0 {
		return false
	}
	*f = Frame{Whole: span(path, end), Addr: addr, Module: span(path, pathEnd), Off: span(plus+1, e), Offset: off, Convention: Raw}
	if name := span(pathEnd+len(`", at `), plus); !name.Empty() {
		f.Base, f.Symbol = FromSymbol, name
	}
	f.answer(s, line, end)
	return true
}

// readFaulthandlerPlain reads the same frame of a program that is not position-independent, where no function is known; `0x` stands at
// line[at]:
//
//	Binary file "/opt/python/python" [0x4b53b0]
func readFaulthandlerPlain(s *Search, line []byte, at, from int, f *Frame) bool {
	if at < from+3 || line[at-1] != '[' {
		return false
	}
	addr, end, ok := bracketed(line, at-1)
	from = max(from, at-2*maxModule)
	pathEnd := at - len(`" [`)
	if !ok || !scan.Has(line, pathEnd, `" [`) {
		return false
	}
	path := s.binaryFile(line, from, pathEnd)
	if path < 0 {
		return false
	}
	v, _, _ := scan.Address(line, at)
	*f = Frame{Whole: span(path, end), Addr: addr, Module: span(path, pathEnd), Off: addr, Offset: v, Convention: Raw}
	f.answer(s, line, end)
	return true
}

// binaryFile returns where the path begins that ends at line[end], after the words of Python's faulthandler; −1 without these.
func (s *Search) binaryFile(line []byte, from, end int) int {
	const words = `Binary file "`
	if end <= from {
		return -1
	}
	start := s.needed
	if start < from || start+len(words) >= end {
		return -1
	}
	return start + len(words)
}
