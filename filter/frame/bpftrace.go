package frame

import "qss-filter/filter/scan"

// readBpftrace reads a frame of bpftrace's `ustack(perf)`; ` (/` stands at line[at]:
//
//	\t55889bb84160 middle+9 (/usr/bin/prog)
//
// The offset is decimal (resolve_usym in its src/bpftrace.cpp). The kernel's walk of the stack finds return addresses after the first frame,
// where the program was interrupted. TestRealBpftrace runs it.
func readBpftrace(s *Search, line []byte, at, from int, f *Frame) bool {
	digits := scan.BackDigits(line, from, at)
	if digits == at || digits <= from || line[digits-1] != '+' {
		return false
	}
	addr, v, name, ok := s.bpftraceAddress(line, max(from, at-maxModule), digits-1)
	if !ok || name >= digits-1 || !s.perfModule(line, at+1, f) {
		return false
	}
	f.Whole.Start, f.Addr, f.Off, f.Offset, f.Base, f.Gap = addr.Start, addr, addr, v, Absolute, span(addr.End, at)
	return true
}

// readBpftraceUnknown reads one whose function and module it does not know, `\t55889bb84160 0x55889bb84160 ([unknown])`; `0x` stands at
// line[at].
func readBpftraceUnknown(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok {
		return false
	}
	first, v, name, ok := s.bpftraceAddress(line, max(from, at-maxModule), at)
	if !ok || name != at || v != addr {
		return false
	}
	*f = Frame{Whole: span(first.Start, e), Addr: first, Off: first, Offset: addr, Base: Absolute, Convention: RawButFirst, Run: Adjacent}
	limit := s.textEnd(line, e)
	if !scan.EndsWith(line, e, limit, " ([unknown])") {
		return false
	}
	f.Whole.End = limit
	f.replace(s, line, e, limit-len(" ([unknown])"))
	return f.Done || f.Gap.Empty()
}

// bpftraceAddress reads the tab and the number before what stands at end, and returns where the name after it begins.
func (s *Search) bpftraceAddress(line []byte, from, end int) (addr Span, v uint64, nameStart int, ok bool) {
	tab := from + s.lastIndexByte(line[from:end], '\t')
	if tab < from {
		return Span{}, 0, 0, false
	}
	v, e, ok := scan.Hex(line, tab+1)
	return span(tab+1, e), v, e + 1, ok && e < end && line[e] == ' '
}
