package frame

import "qss-filter/filter/scan"

// The marks of frames of D's runtime without a line and without a name, of LDC and DMD, and of GDC.
const (
	druntimeMark = "??:? [0x"
	gdcMark      = "??:? ???[0x"
)

// readDruntime reads such a frame, `??:? [0x56164c8fe218]` or `??:? ???[0x55ae4306e208]` alone on its line; `??:? ` stands at line[mark].
// (TraceInfo in druntime's core/internal/backtrace/dwarf.d, and libdruntime/gcc/backtrace.d in GCC.) The addresses are return addresses, of which
// most versions take 1.
func readDruntime(s *Search, line []byte, mark, _ int, f *Frame) bool {
	at := mark + len(druntimeMark) - len("0x")
	if line[at-1] != '[' {
		at = mark + len(gdcMark) - len("0x")
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || addr+1 == 0 || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) && !scan.Has(line, e+1, " in ") || scan.BackSpaces(line, 0, mark) > s.begin {
		return false
	}
	*f = Frame{Whole: span(mark, e+1), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Either}
	f.answer(s, line, e+1)
	return true
}
