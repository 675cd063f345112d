package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readUnreal reads a frame of the Unreal Engine on Linux; `0x` stands at line[at]:
//
//	LogOutputDevice: Error: [Callstack] 0x0000000004bd0c64 CarlaUnreal!UnknownFunction(0x49d0c63)
//	0x0000faf7669603c8 libc.so.6!UnknownFunction(0x803c7)
//
// The first number is the address of the process as backtrace() returns it. The second counts from where the module begins (dli_fbase), at a
// page, and 1 was taken from all but that of the first frame (ProgramCounterToHumanReadableString in UnixPlatformStackWalk.cpp). A crash
// handler leaves itself out, so that the first address may be that of a fault.
func readUnreal(s *Search, line []byte, at, from int, f *Frame) bool {
	const word = "!UnknownFunction("
	end := at - len(word)
	if end < from || !scan.Has(line, end, word) || !s.unreal(line, at, end, from, f) {
		return false
	}
	addr, _, _ := scan.Address(line, f.Whole.Start)
	switch f.Space = symsrc.InImage; (addr - f.Offset) & 0xfff {
	case 0:
	case 1:
		f.Convention = OneLess
	default:
		return false
	}
	return true
}

// readUnrealNamed reads such a frame with the name of an exported function, `0x0000faf7669603c8 libc.so.6!abort(+0x17f)`; `+` stands at
// line[plus]. The second number counts from the function.
func readUnrealNamed(s *Search, line []byte, plus, from int, f *Frame) bool {
	if plus == from || line[plus-1] != '(' {
		return false
	}
	low := max(from, plus-maxModule)
	end := low + s.lastIndexByte(line[low:plus], '!')
	if end < low || end+1 >= plus-1 || !s.unreal(line, plus+1, end, from, f) {
		return false
	}
	f.Base, f.Symbol = FromSymbol, span(end+1, plus-1)
	return true
}

// unreal reads a frame whose offset is at line[off] and whose module ends at line[end].
func (s *Search) unreal(line []byte, off, end, from int, f *Frame) bool {
	v, e, ok := scan.Address(line, off)
	if !ok || e >= len(line) || line[e] != ')' {
		return false
	}
	mod := span(scan.BackToken(line, max(from, end-maxModule), end), end)
	s.spend(mod.End - mod.Start)
	const width = len("0x0123456789abcdef ")
	start := mod.Start - width
	if mod.Empty() || start < from || !scan.WordStart(line, from, start) {
		return false
	}
	if _, addrEnd, ok := scan.Address(line, start); !ok || addrEnd != mod.Start-1 || line[addrEnd] != ' ' {
		return false
	}
	*f = Frame{Whole: span(start, e+1), Module: mod, Off: span(off, e), Offset: v, Convention: Either}
	f.answer(s, line, e+1)
	return true
}
