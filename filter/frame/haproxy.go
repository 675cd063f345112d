package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readHAProxy reads a frame of HAProxy's dumps of threads, with the 8 bytes that stand at the address; `0x` stands at line[at]:
//
//	| 0x7f39d0174050 [48 c7 c0 0f 00 00 00 0f]: libc:+0x3c050
//	| 0x563d1ef90e88 [8b 55 04 48 8b 45 28 f6]: task_run_applet+0x148/0x674
//	| 0x563d1ef47e47 [64 48 8b 53 10 64 48 8b]: main+0x171aa7
//
// The address is what backtrace() returns (ha_dump_backtrace in its src/debug.c): a return address, also in the first frame. A function's
// size follows one that is the symbol's. One without it is known to be after that symbol, or the distance to main() of any function
// (resolve_sym_name in its src/tools.c), and a library's name ends before its first dot. TestRealHAProxy runs it.
func readHAProxy(s *Search, line []byte, at, from int, f *Frame) bool {
	if !scan.EndsWith(line, from, at, "| ") {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	name := e + len(" [48 c7 c0 0f 00 00 00 0f]: ")
	if !ok || name >= len(line) || !isBytes(line[e:name]) {
		return false
	}
	end := name
	for !scan.WordEnd(line, end) {
		end++
	}
	s.spend(end - name)
	*f = Frame{Whole: span(at, end), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Raw}
	f.answer(s, line, end)
	if size := s.lastIndexByte(line[name:end], '/'); size > 0 {
		start := name + bytes.IndexByte(line[name:name+size], ':') + 1
		f.Hint = span(start, name+size)
	}
	return f.Done || scan.LineEnd(line, end)
}

// isBytes reports whether text is ` [48 c7 c0 0f 00 00 00 0f]: `.
func isBytes(text []byte) bool {
	if !bytes.HasPrefix(text, []byte(" [")) || !bytes.HasSuffix(text, []byte("]: ")) {
		return false
	}
	for i, c := range text[len(" [") : len(text)-len("]: ")] {
		if i%3 == 2 && c != ' ' || i%3 < 2 && !scan.IsHex(c) {
			return false
		}
	}
	return true
}
