package frame

import "qss-filter/filter/scan"

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
