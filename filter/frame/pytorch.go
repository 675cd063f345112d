package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readPyTorch reads a frame of PyTorch's errors; `+ 0x` stands at line[plus]:
//
//	frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x57 (0x7efd9 in /opt/torch/lib/libc10.so)
//	frame #5: <unknown function> + 0x6a60c9 (0x7efd970910c9 in /opt/torch/lib/libtorch_python.so)
//
// c10 takes apart what backtrace_symbols returns (parse_frame_information in its c10/util/Backtrace.cpp): the offset is that in the
// function, or in the module if none is known, and the addresses are return addresses.
func readPyTorch(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+len("+ "))
	if !ok || !scan.Has(line, e, " (0x") || !scan.EndsWith(line, from, plus, " ") {
		return false
	}
	addr := e + len(" (")
	_, addrEnd, ok := scan.Address(line, addr)
	if !ok || !scan.Has(line, addrEnd, " in ") {
		return false
	}
	path := addrEnd + len(" in ")
	end := s.parenEnd(line, path)
	from = max(from, plus-maxName)
	start := s.needed
	if end < 0 || start < from {
		return false
	}
	num := start + len("frame #")
	n, numEnd, ok := scan.Decimal(line, num)
	name := span(numEnd+len(": "), plus-1)
	if !ok || !scan.Has(line, numEnd, ": ") || name.Empty() {
		return false
	}
	*f = Frame{Whole: span(num-1, end+1), Num: span(num, numEnd), Number: n, Addr: span(addr, addrEnd), Module: span(path, end),
		Off: span(plus+len("+ "), e), Offset: off, Convention: Raw}
	if string(name.Of(line)) != "<unknown function>" {
		f.Base, f.Symbol = FromSymbol, name
	}
	f.answer(s, line, end+1)
	return true
}

// readPyTorchPlain reads such a frame of a program that is not position-independent, where c10 prints what backtrace_symbols returned;
// `0x` stands at line[at]:
//
//	frame #60: python() [0x4fdc87]
func readPyTorchPlain(s *Search, line []byte, at, from int, f *Frame) bool {
	v, e, ok := scan.Address(line, at)
	end := at - len("() [")
	if !ok || e >= len(line) || line[e] != ']' || !scan.Has(line, end, "() [") || end < from {
		return false
	}
	from = max(from, at-2*maxModule)
	start := s.needed
	if start < from {
		return false
	}
	num := start + len("frame #")
	n, numEnd, ok := scan.Decimal(line, num)
	path := span(numEnd+len(": "), end)
	if !ok || !scan.Has(line, numEnd, ": ") || path.Empty() || bytes.IndexByte(path.Of(line), '(') >= 0 {
		return false
	}
	*f = Frame{Whole: span(num-1, e+1), Num: span(num, numEnd), Number: n, Addr: span(at, e), Module: path, Off: span(at, e), Offset: v,
		Convention: Raw}
	f.answer(s, line, e+1)
	return true
}

// readPyTorchAndroid reads a frame of PyTorch's errors on Android; `0x` stands at line[at]:
//
//	frame #3	c10::Error::Error(c10::SourceLocation, std::string)[0x7b1c2d3e4f]
//
// The addresses are what _Unwind_GetIP returns, in the first frame, too (GetBacktraceImpl in c10/util/Backtrace.cpp).
func readPyTorchAndroid(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || at <= from || line[at-1] != '[' || e >= len(line) || line[e] != ']' {
		return false
	}
	from = max(from, at-2*maxModule)
	start := s.needed
	if start < from {
		return false
	}
	num := start + len("frame #")
	n, numEnd, ok := scan.Decimal(line, num)
	if !ok || line[numEnd] != '\t' {
		return false
	}
	*f = Frame{Whole: span(num-1, e+1), Num: span(num, numEnd), Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute,
		Hint: span(numEnd+1, at-1), Convention: Raw}
	f.answer(s, line, e+1)
	return f.Done || scan.LineEnd(line, e+1)
}

// parenEnd finds the parenthesis after which a word ends, and which closes a path that begins at i; −1 if there is none.
func (s *Search) parenEnd(line []byte, i int) int {
	limit := min(len(line), i+maxModule)
	for k := i; s.spend(1); k++ {
		n := bytes.IndexByte(line[k:limit], ')')
		if n < 0 {
			return -1
		}
		s.spendFast(n)
		if k += n; k > i && (scan.WordEnd(line, k+1) || line[k+1] == '"') {
			return k
		}
	}
	return -1
}
