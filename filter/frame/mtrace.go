package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readMtrace reads the place of a call in a log of glibc's mtrace(3); `0x` stands at line[at]:
//
//	@ ./prog:[0x1190] + 0x558b3abe04a0 0x64
//	@ ./prog:(main+27)[0x11a0] - 0x558b3abe04a0
//
// It is a return address, less where the module begins (tr_where in glibc's malloc/mtrace-impl.c). Of older versions it is an absolute one: of a
// program that is loaded where it is linked, it cannot be told from a place far in a large one.
func readMtrace(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, end, ok := bracketed(line, at-1)
	if !ok || !ofMtrace(line, end) {
		return false
	}
	colon := at - 1
	var hint Span
	if colon > from && line[colon-1] == ')' {
		open := s.balanced(line, max(from, colon-maxName), colon-1)
		if open < 0 {
			return false
		}
		sign := open + 1 + max(s.lastIndexByte(line[open+1:colon-1], '+'), s.lastIndexByte(line[open+1:colon-1], '-'))
		hint, colon = span(open+1, max(open+1, sign)), open // the offset has no 0x
	}
	if colon--; colon <= from || line[colon] != ':' {
		return false
	}
	low := max(from, colon-maxModule)
	start := low + s.lastIndex(line[low:colon], mtraceSign) + len(mtraceSign)
	if start < low+len(mtraceSign) || start >= colon || !scan.WordStart(line, from, start-len(mtraceSign)) {
		return false
	}
	v, _, _ := scan.Address(line, addr.Start)
	mod := span(start, colon)
	*f = Frame{Whole: span(start, end), Module: mod, Hint: hint, Off: addr, Offset: v, Space: symsrc.InImage, Convention: Raw}
	switch {
	case v>>32 > 0: // no file is that large
		f.Base, f.Space, f.Addr = Absolute, 0, addr
	case v >= lowestProgram && !bytes.Contains(mod.Of(line), soSuffix):
		return false
	}
	f.answer(s, line, end)
	return true
}

var mtraceSign = []byte("@ ")

// lowestProgram is where linkers place programs that are not moved, on most machines at the lowest.
const lowestProgram = 0x400000

// ofMtrace reports whether what mtrace does with memory stands after a place.
func ofMtrace(line []byte, i int) bool {
	return scan.Has(line, i, " ") && i+1 < len(line) && bytes.IndexByte([]byte("+-<>!&"), line[i+1]) >= 0 && scan.Has(line, i+2, " 0x") || scan.Has(line, i, " in ")
}
