package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readCrystal reads a frame of what Crystal's runtime prints when a signal ends the program; `0x` stands at line[at]:
//
//	[0x56272fb7507f] lsquic_attq_pop +42 in /usr/lib/liblsquic.so.2
//	[0x454def] *Fiber#run:Nil +63 (3 times)                              before 1.2, which does not say the file
//	[0x7f15aa6bb730] ???
//	[0x56272f0067ab] run at /usr/share/crystal/src/primitives.cr:255:3   with debug information
//
// The addresses are those of _Unwind_GetIP, the function and the file those of dladdr (print_frame in its
// src/exception/call_stack/libunwind.cr). A function's name may have spaces.
func readCrystal(s *Search, line []byte, at, from int, f *Frame) bool {
	open := at - 1
	if open < from || line[open] != '[' || scan.BackSpaces(line, from, open) > s.begin {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, e, "] ") {
		return false
	}
	*f = Frame{Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Raw}
	name := e + len("] ")
	if scan.Has(line, name, unknownName) {
		return s.crystalEnd(line, open, name+len(unknownName), f)
	}
	for limit, i := s.textEnd(line[:min(len(line), name+maxName)], name), name; i < limit; {
		k := bytes.Index(line[i:limit], []byte(" +"))
		if k < 0 {
			break
		}
		s.spend(k + 1)
		i += k + len(" +")
		off, end, ok := scan.Decimal(line, i)
		if !ok {
			continue
		}
		function, distance := span(name, i-len(" +")), span(i, end)
		if path := end + len(inAnswer); scan.Has(line, end, inAnswer) && path < limit && (line[path] == '/' || line[path] == '.') {
			end = path
			for end < limit && !scan.IsSpace(line[end]) {
				end++
			}
			f.Base, f.Symbol, f.Off, f.Offset, f.Module = FromSymbol, function, distance, off, span(path, end)
		}
		return !function.Empty() && s.crystalEnd(line, open, end, f)
	}
	return false
}

// crystalEnd sets the place of the answer at the end of the line, before how often the frame is there.
func (s *Search) crystalEnd(line []byte, start, end int, f *Frame) bool {
	f.Whole = span(start, end)
	f.answer(s, line, end)
	if _, e, ok := scan.Decimal(line, end+len(" (")); ok && scan.Has(line, end, " (") && scan.Has(line, e, " times)") {
		return true
	}
	return f.Done || scan.LineEnd(line, end)
}
