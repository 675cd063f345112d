package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readChromium reads the older traces of Chromium on Android, `#00 0x7324d92d /data/…/libbase.cr.so+0x0006992d`. The offset is that in
// the file, and 1 is taken from every address (StackTrace::OutputToStream in its base/debug/stack_trace_android.cc: `address =
// trace_[i] - 1`, `rel_pc = address - iter->start + iter->offset`).
func readChromium(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || numEnd >= len(line) || line[numEnd] != ' ' {
		return false
	}
	start := scan.Spaces(line, numEnd)
	_, e, ok := scan.Address(line, start)
	if !ok {
		return false
	}
	line = line[:s.nextNumber(line, e)]
	*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Space: symsrc.InFile,
		Convention: OneLess}
	path := e + 1
	if f.answer(s, line, e); f.Done {
		// Others say " in " as well; only a path after the place makes it ours.
		k := s.lastIndex(f.Gap.Of(line), []byte(" /"))
		if k < 0 {
			return false
		}
		path = f.Gap.Start + k + 1
	}
	if path >= len(line) || line[path-1] != ' ' || line[path] != '/' {
		return false
	}
	limit := min(len(line), path+maxModule)
	s.spendFast(limit - path)
	plus := indexFrom(line[:limit], plus0x, path)
	if plus < 0 {
		return false
	}
	off, end, ok := scan.Address(line, plus+1)
	if !ok || !scan.WordEnd(line, end) {
		return false
	}
	f.Module, f.Off, f.Offset, f.Whole.End = span(path, plus), span(plus+1, end), off, end
	if f.Done {
		f.Gap.End = path - 1
	}
	return true
}
