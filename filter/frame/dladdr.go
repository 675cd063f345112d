package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// openPlusHex is before the offset in a file.
var openPlusHex = []byte("(+0x")

// readDladdr reads a frame that programs make of backtrace and dladdr, `#N addr PATH(+0xOFFSET)`, maybe with a symbol behind it; `#` stands at
// line[at]:
//
//	#03 0x5568228fea45 ./prog(+0x2a45)
//	#3  0x7f939da4524a /lib/x86_64-linux-gnu/libc.so.6(+0x2724a) __libc_start_main
//
// The offset counts from dli_fbase, where the file begins in memory. Some take away l_addr, which is 0 for a program at a fixed address. Who
// unwinds, and whether 1 is taken away, is not said.
func readDladdr(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	start := scan.Spaces(line, numEnd)
	addr, e, ok := scan.Address(line, start)
	if !ok || e >= len(line) || line[e] != ' ' {
		return false
	}
	limit := min(s.nextNumber(line, e), e+maxModule)
	s.spendFast(limit - e)
	open := indexFrom(line[:limit], openPlusHex, e)
	if open < 0 {
		return false
	}
	off, end, ok := scan.Address(line, open+len("(+"))
	if !ok || !scan.Has(line, end, ")") || !scan.WordEnd(line, end+1) {
		return false
	}
	path := s.lastIndexByte(line[e:open], ' ') + e + 1
	if name := line[path:open]; !bytes.HasPrefix(bytes.TrimLeft(name, "."), []byte("/")) || bytes.HasPrefix(name, []byte("...")) {
		return false
	}
	*f = Frame{Whole: span(at, end+1), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Gap: span(e, e), Module: span(path, open),
		Off: span(open+len("(+"), end), Offset: off, Space: symsrc.InImage}
	if off == addr {
		f.Space = symsrc.Linked
	}
	if path != e+1 {
		f.Gap.End = path - 1
		f.Done = bytes.HasPrefix(line[e:], inWord)
		return f.Done
	}
	return true
}
