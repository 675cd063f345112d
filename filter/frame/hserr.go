package frame

import "qss-filter/filter/scan"

// readHsErr reads the native frames of Java's hs_err reports; `+` stands at line[plus]:
//
//	C  [libhs.so+0x10f9]  inner+0x0
//	V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*)+0x302  (javaCalls.cpp:333)
//	# C  [libhs.so+0x10f9]  inner+0x0                  the problematic frame
//
// The other kinds of frames are the virtual machine's own, and any number of them may be between these. The stack begins with what
// the signal interrupted; that of an internal error, which has no signal, with a return address (os::current_frame
// in HotSpot's vmError.cpp). The offsets are addresses of the file: os::dll_address_to_library_name takes the module's base from the
// address. TestLiveHsErr runs it.
func readHsErr(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	open := plus
	for low := max(from, plus-256); open > low && line[open-1] != '[' && line[open-1] >= ' '; {
		open--
	}
	letter := open - len("C  [")
	if open == plus || letter < from || line[open-1] != '[' || line[letter] != 'C' && line[letter] != 'V' ||
		!scan.Has(line, letter+1, "  [") || !scan.WordStart(line, from, letter) {
		return false
	}
	end := e + 1
	*f = Frame{Whole: span(letter, end), Module: span(open, plus), Off: span(plus+1, e), Offset: off,
		Convention: RawButFirst, Run: Announced}
	if scan.EndsWith(line, from, letter, "# ") {
		f.Convention = Exact
	}
	if f.answer(s, line, end); f.Done {
		return true
	}
	if limit := s.textEnd(line, end); scan.Has(line, end, "  ") && limit > end+2 {
		f.replace(s, line, end, limit)
		f.Whole.End = limit
	}
	return true
}
