package frame

// readDart reads a frame of Dart and Flutter programs compiled ahead of time,
// `#00 abs 0000007af71c4903 virt 000000000019e903 _kDartIsolateSnapshotInstructions+0xd7dc3`. The virtual address is that of
// the symbols' file, which the trace's `build_id: '…'` line names.
func readDart(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := decimal(line, at+1)
	if !ok || !has(line, numEnd, " abs ") {
		return false
	}
	start := numEnd + len(" abs ")
	_, e, ok := bareHex(line, start)
	if !ok || !has(line, e, " virt ") {
		return false
	}
	virt := e + len(" virt ")
	v, end, ok := bareHex(line, virt)
	if !ok || !wordEnd(line, end) {
		return false
	}
	*f = Frame{Whole: Span{at, end}, Num: Span{at + 1, numEnd}, Number: n, Addr: Span{start, e}, Off: Span{virt, end}, Offset: v,
		Convention: Raw}
	f.answer(s, line, end)
	return true
}
