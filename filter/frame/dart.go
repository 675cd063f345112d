package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readDart reads a frame of Dart and Flutter programs compiled ahead of time; `#` stands at line[at]:
//
//	#00 abs 0000007af71c4903 virt 000000000019e903 _kDartIsolateSnapshotInstructions+0xd7dc3
//	#00 abs 0000007de0f63ae8 _kDartIsolateSnapshotInstructions+0x692a8
//
// The virtual address is that of the symbols' file, which the trace's `build_id: '…'` line names. Where the VM does not know it, the symbol
// is one of that file. All are what the stack has, return addresses (Fuchsia's symbolizer takes 1 from them).
func readDart(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.Has(line, numEnd, " abs ") {
		return false
	}
	start := numEnd + len(" abs ")
	_, e, ok := scan.Hex(line, start)
	if ok && scan.Has(line, e, dartSymbol) {
		symbol := span(e+1, 0)
		plus := bytes.Index(line[e:min(len(line), e+maxDartSymbol)], plus0x)
		symbol.End = e + plus
		off, end, isHex := scan.Address(line, symbol.End+1)
		if plus < 0 || !isHex || !scan.WordEnd(line, end) {
			return false
		}
		*f = Frame{Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Gap: span(e, e), Symbol: symbol, Off: span(symbol.End+1, end),
			Offset: off, Base: FromSymbol, Space: symsrc.Linked, Convention: Raw}
		return true
	}
	if ok && scan.Has(line, e, " in ") && bytes.Contains(line[e:min(len(line), e+maxModule)], []byte(dartSymbol)) { // the answer
		*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Convention: Raw}
		f.answer(s, line, e)
		return true
	}
	if !ok || !scan.Has(line, e, " virt ") {
		return false
	}
	virt := e + len(" virt ")
	v, end, ok := scan.Hex(line, virt)
	if !ok || !scan.WordEnd(line, end) {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Off: span(virt, end), Offset: v,
		Convention: Raw}
	f.answer(s, line, end)
	return true
}

// dartSymbol begins the names of the two symbols that frames are in, and maxDartSymbol bounds these, in bytes.
const (
	dartSymbol    = " _kDart"
	maxDartSymbol = 64
)
