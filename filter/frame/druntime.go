package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// druntimeMark begins the frames of D's runtime without a line.
const druntimeMark = "??:? "

// readDruntime reads such a frame, alone on its line; it begins at line[mark]:
//
//	??:? [0x56164c8fe218]                          LDC and DMD
//	??:? void a.inner(int) [0x5566cae79208]
//	??:? ???[0x55ae4306e208]                       GDC
//
// (TraceInfo in druntime's core/internal/backtrace/dwarf.d, and libdruntime/gcc/backtrace.d in GCC.) The addresses are return addresses, of which
// most versions take 1.
func readDruntime(s *Search, line []byte, mark, _ int, f *Frame) bool {
	end := s.textEnd(line, mark)
	if in := indexFrom(line[:end], inWord, mark); in >= 0 {
		end = in
	}
	at := scan.BackHex(line, mark, end-1) - len("0x")
	if !scan.EndsWith(line, mark, at, "[") || line[end-1] != ']' || scan.BackSpaces(line, 0, mark) > s.begin {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	name := span(mark+len(druntimeMark), at-len("["))
	if !ok || addr+1 == 0 || e != end-1 || !name.Empty() && string(name.Of(line)) != "???" && line[name.End-1] != ' ' {
		return false
	}
	*f = Frame{Whole: span(mark, end), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Either}
	f.answer(s, line, end)
	return true
}

// readDruntimeLine reads a frame of D's runtime that has a line and no function, as all of programs have that export no functions for it: alone on
// its line, `app.d:12 [0x56164c8fe218]`; `0x` stands at line[at].
func readDruntimeLine(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, e, "]") || !scan.EndsWith(line, from, at, " [") {
		return false
	}
	place := at - len(" [")
	digits := scan.BackDigits(line, from, place)
	if digits == place || !scan.EndsWith(line, from, digits, ".d:") && !scan.EndsWith(line, from, digits, ".di:") {
		return false
	}
	begin := scan.Spaces(line, s.begin)
	if begin >= digits || bytes.IndexByte(line[begin:digits], ' ') >= 0 {
		return false
	}
	end := s.textEnd(line, e+1)
	if end != e+1 && !scan.Has(line, e+1, string(inWord)) {
		return false
	}
	*f = Frame{Whole: span(begin, e+1), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Either}
	f.answer(s, line, e+1)
	return true
}
