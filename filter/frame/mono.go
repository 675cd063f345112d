package frame

import "qss-filter/filter/scan"

// readMono reads a frame of Mono's report of a native crash, which Unity's players print, too; `0x` stands at line[at]:
//
//	0x7f44765151f2 - /opt/game/libmonobdwgc-2.0.so : mono_dump_native_crash_info
//	0x7f447db7c050 - /lib/x86_64-linux-gnu/libc.so.6 :
//
// The address is what backtrace() returns, with what dladdr() knows of it: the nearest function that the file exports. The mappings stand
// above, as in /proc/self/maps (mono_dump_native_crash_info in its mono/mini/mini-posix.c).
func readMono(s *Search, line []byte, at, from int, f *Frame) bool {
	if scan.BackSpaces(line, from, at) > s.begin {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	const dash, colon = " - ", " :"
	if !ok || !scan.Has(line, e, dash) {
		return false
	}
	path := e + len(dash)
	if path >= len(line) || line[path] != '/' && line[path] != '.' {
		return false
	}
	end := path
	for end < len(line) && !(line[end] == ' ' && scan.Has(line, end, colon)) && s.spend(1) {
		end++
	}
	if end >= len(line) {
		return false
	}
	end += len(colon)
	limit := s.textEnd(line, end)
	if scan.Has(line, end, " ") && !scan.LineEnd(line, end) && !scan.Has(line, end, " in ") {
		for end = end + 1; end < limit && !scan.IsSpace(line[end]); end++ {
		}
	}
	*f = Frame{Whole: span(at, end), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Raw}
	if !scan.LineEnd(line, end) && !scan.Has(line, end, " in ") {
		return false
	}
	f.answer(s, line, end)
	return true
}
