package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readOpenJ9 reads a frame of Eclipse OpenJ9, of its report of a crash or of a javacore; `+` stands at line[plus]:
//
//	(0x00007F24412D8452 [libj9prt29.so+0x3a452])
//	4XENATIVESTACK               protectedIntrospect+0xd3 (0x00007F24412BD3C8 [libj9prt29.so+0x1f3c8])
//
// The address is what backtrace() returns, the offset counts from where the module begins (dli_fbase), and the function before it is the
// nearest one that the file exports (omrintrospect_backtrace_symbols_raw in OMR's port/unix/omrosbacktrace_impl.c).
func readOpenJ9(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || !scan.Has(line, e, "])") {
		return false
	}
	mod := span(plus, plus)
	for low := max(from, plus-maxModule); mod.Start > low && line[mod.Start-1] > ' ' && line[mod.Start-1] != '['; {
		mod.Start--
	}
	s.spend(plus - mod.Start)
	const middle = len(" [")
	start := mod.Start - middle - len("0x0123456789ABCDEF")
	if mod.Empty() || mod.Start-middle < from || line[mod.Start-1] != '[' || line[mod.Start-middle] != ' ' || line[mod.Start] == '<' {
		return false
	}
	if start <= from || line[start-1] != '(' {
		start += len("01234567")
	}
	if start <= from || line[start-1] != '(' {
		return false
	}
	addr, addrEnd, ok := scan.Address(line, start)
	if !ok || addrEnd != mod.Start-middle || addr < off {
		return false
	}
	end := e + len("])")
	*f = Frame{Whole: span(start-1, end), Module: mod, Addr: span(start, addrEnd), Off: span(plus+1, e), Offset: off, Space: symsrc.InImage, Convention: Raw}
	if name := start - len(" ("); name > from && line[name] == ' ' {
		first := scan.BackToken(line, max(from, name-maxModule), name)
		s.spend(name - first)
		if k := bytes.LastIndex(line[first:name], plus0x); k > 0 && scan.WordStart(line, from, first) {
			f.Hint, f.Whole.Start = span(first, name), first
		}
	}
	f.answer(s, line, end)
	return f.Done || scan.LineEnd(line, end)
}
