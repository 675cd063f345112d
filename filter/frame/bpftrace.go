package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

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

// readBpftraceID reads a frame of bpftrace's `ustack(build_id)`, which has its line for itself; `0x` stands at line[at]:
//
//	8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4 0x1130
//
// (format_build_id_stack in its src/types_format.cpp.)
func readBpftraceID(s *Search, line []byte, at, from int, f *Frame) bool {
	const digits = 40
	id := span(at-len(" ")-digits, at-len(" "))
	off, e, ok := scan.Address(line, at)
	if id.Start < from || !scan.IsHexField(id.Of(line)) || scan.BackSpaces(line, from, id.Start) > s.begin || !ok ||
		!scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	*f = Frame{Whole: span(id.Start, e), BuildID: kernelID(line, id), Off: span(at, e), Offset: off, Space: symsrc.InFile, Convention: RawButFirst,
		Run: Adjacent}
	f.answer(s, line, e)
	return true
}

// TracingWord begins a line of bpftrace that says that stacks may follow, `Attaching 1 probe...` or `Attached 2 probes`. Nothing else tells its
// frames of build IDs from other numbers.
const TracingWord = "Attach"

// Tracing reports whether a text is such a line.
func Tracing(line []byte) bool {
	i := bytes.Index(line, []byte(TracingWord))
	return i >= 0 && beforeProbes(line, i)
}

// beforeProbes reports whether `ing` or `ed` and a number of probes follow the word at the place.
func beforeProbes(line []byte, at int) bool {
	i := at + len(TracingWord)
	switch {
	case scan.Has(line, i, "ing "):
		i += len("ing ")
	case scan.Has(line, i, "ed "):
		i += len("ed ")
	default:
		return false
	}
	_, end, ok := scan.Decimal(line, i)
	return ok && scan.Has(line, end, " probe")
}
