package frame

import "qss-filter/filter/scan"

// readDart reads a frame of Dart and Flutter programs compiled ahead of time,
// `#00 abs 0000007af71c4903 virt 000000000019e903 _kDartIsolateSnapshotInstructions+0xd7dc3`. The virtual address is that of
// the symbols' file, which the trace's `build_id: '…'` line names. Both are what the stack has, return addresses (Fuchsia's
// symbolizer takes 1 from them).
func readDart(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.Has(line, numEnd, " abs ") {
		return false
	}
	start := numEnd + len(" abs ")
	_, e, ok := scan.Hex(line, start)
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
