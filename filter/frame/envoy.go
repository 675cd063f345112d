package frame

import "qss-filter/filter/scan"

// readEnvoy reads a frame of Envoy, `#0: std::__1::function<>::operator()() [0x5564bb12b48f]`: an address of the process as
// absl::GetStackTrace returns it (capture in Envoy's source/server/backtrace.h), a return address.
func readEnvoy(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.Has(line, numEnd, ": ") || scan.EndsWith(line, 0, at, "frame ") {
		return false
	}
	start := numEnd + 1
	limit := min(len(line), start+maxModule)
	s.spendFast(limit - start)
	open := indexFrom(line[:limit], []byte(" [0x"), start)
	if open < 0 {
		return false
	}
	addr, e, ok := scan.Address(line, open+2)
	if !ok || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) {
		return false
	}
	*f = Frame{Whole: span(at, e+1), Num: span(at+1, numEnd), Number: n, Addr: span(open+2, e), Off: span(open+2, e),
		Offset: addr, Base: Absolute, Convention: Raw}
	f.replace(s, line, start, open)
	return f.Gap.Empty() || f.Done || s.isName(f.Gap.Of(line))
}
