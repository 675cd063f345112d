package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readCrystal reads a frame of a crash of Crystal; `0x` stands at line[at]:
//
//	[0x7f4e8a0bac10] GC_finish_collection +2228 in /usr/lib/libgc.so.1
//
// The addresses are those of _Unwind_GetIP, with what dladdr() knows of them (print_frame_location in its
// src/exception/call_stack/libunwind.cr).
func readCrystal(s *Search, line []byte, at, from int, f *Frame) bool {
	open := at - 1
	_, e, ok := scan.Address(line, at)
	if open < from || line[open] != '[' || scan.BackSpaces(line, from, open) > s.begin || !ok || !scan.Has(line, e, "] ") {
		return false
	}
	name := span(e+len("] "), 0)
	limit := s.textEnd(line, e)
	k := s.lastIndex(line[name.Start:limit], inPath)
	if k < 0 {
		return false
	}
	offEnd := name.Start + k
	off := span(scan.BackDigits(line, name.Start, offEnd), offEnd)
	name.End = off.Start - len(" +")
	v, _, ok := scan.Decimal(line, off.Start)
	if !ok || off.Empty() || name.End <= name.Start || !scan.Has(line, name.End, " +") || line[name.Start] == '?' {
		return false
	}
	mod := span(offEnd+len(" in "), offEnd+len(" in "))
	for mod.End < limit && line[mod.End] != ' ' {
		mod.End++
	}
	*f = Frame{Whole: span(open, mod.End), Addr: span(at, e), Module: mod, Symbol: name, Off: off, Offset: v, Base: FromSymbol, Convention: Raw}
	f.answer(s, line, mod.End)
	return f.Done || scan.LineEnd(line, mod.End)
}

var inPath = []byte(" in /")

// beforePath reports whether a function and the path of its module may stand behind an address in brackets, which ends at the place.
func beforePath(line []byte, end int) bool {
	return scan.Has(line, end, "] ") && bytes.Contains(line[end:], inPath)
}
