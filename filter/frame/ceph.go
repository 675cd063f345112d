package frame

import "qss-filter/filter/scan"

// readCeph reads a frame of Ceph's crash reports where backtrace_symbols knows the function, whose module Ceph leaves out; `+` stands at
// line[plus]:
//
//	12: (PrimaryLogPG::do_op(boost::intrusive_ptr<OpRequest>&)+0x2d5f) [0x564392491f5f]
//
// Where it knows none, glibc's line has the module: `17: /usr/bin/ceph-osd(+0xc033d4) [0x56439296d3d4]`. The addresses are those of
// backtrace(). See ClibBackTrace::demangle in Ceph's src/common/BackTrace.cc.
func readCeph(s *Search, line []byte, plus, from int, f *Frame) bool {
	_, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != ')' {
		return false
	}
	addr, end, ok := bracketed(line, e+1)
	if !ok {
		return false
	}
	open := s.balanced(line, max(from, plus-maxName), plus)
	if open < 0 || open+1 == plus {
		return false
	}
	quoted := open > from && line[open-1] == '"' && end < len(line) && line[end] == '"' // a string of the report as JSON
	if !quoted && !scan.LineEnd(line, end) && !scan.Has(line, end, " in ") {
		return false
	}
	*f = Frame{Whole: span(open, end), Hint: span(open+1, e), Addr: addr, Off: addr, Base: Absolute, Beside: true, Convention: Raw}
	f.Offset, _, _ = scan.Address(line, addr.Start)
	switch colon := scan.BackSpaces(line, from, open) - 1; {
	case quoted, colon < s.begin:
	case line[colon] != ':':
		return false
	default:
		if num := scan.BackDigits(line, from, colon); num == colon || !scan.WordStart(line, from, num) {
			return false
		}
	}
	f.answer(s, line, end)
	return true
}
