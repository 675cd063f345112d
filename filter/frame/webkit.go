package frame

import "qss-filter/filter/scan"

// readWebKit reads a frame of WebKit's stacks, `8   0x7f163a01b67d WTFCrash` or `16  0x7f1644eaa5c3`; `0x` stands at line[at]. The number has
// three columns (`%-3d %p %s` in WTFPrintBacktraceWithPrefixAndPrintStream, Source/WTF/wtf/Assertions.cpp), and the address is what
// backtrace() returns. On Linux the text behind it may be what backtrace_symbols() writes, which says more:
//
//	2   0x7f63b99728a2 /usr/lib/libwebkit2gtk-4.0.so.37(+0xa518a2) [0x7f63b99728a2]
func readWebKit(s *Search, line []byte, at, from int, f *Frame) bool {
	end := scan.BackSpaces(line, from, at)
	num := span(scan.BackDigits(line, from, end), end)
	if num.Empty() || at-num.Start != len("16  ") || scan.BackSpaces(line, 0, num.Start) > s.begin {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	n, _, isNumber := scan.Decimal(line, num.Start)
	if !ok || !isNumber || !scan.WordEnd(line, e) {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute,
		Convention: Raw}
	limit := s.textEnd(line, e)
	if again := indexFrom(line[:limit], f.Addr.Of(line), e); again > 0 && line[again-1] == '[' {
		return false
	}
	f.replace(s, line, e, limit)
	f.Whole.End = limit
	return f.Done || limit == e || s.isName(f.Gap.Of(line))
}
