package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

var (
	moduleKey = []byte("module=")
	funcNull  = []byte("func=<null>")
	srcNull   = []byte("src=<null>")
	frameKey  = []byte("frame=")
)

// readFields reads a sanitizer's frame printed with a stack_trace_format of `name=value` fields, as in
//
//	[frame=0 pc=0x557531c652a3 module=/bin/crash offset=0x1182a3 func=<null> src=<null>:0:0 (BuildId: id)]
//
// The address and the offset lie in the call already, as in all frames that compiler-rt prints (StackTrace::PrintTo in its
// sanitizer_stacktrace_libcdep.cpp calls GetPreviousInstructionPc). The names are whatever the user chose; module= and offset=0x are
// those that people choose.
func readFields(s *Search, line []byte, o, from int, f *Frame) bool {
	// Fields that belong together stand near each other, and never after the next module's.
	back := max(from, o-maxModule)
	m := s.needed
	if m < back || m+len(moduleKey) > o {
		return false
	}
	offStart := o + len(offset0x) - 2
	off, end, ok := scan.Address(line, offStart)
	if !ok {
		return false
	}
	modEnd := o
	for modEnd > m && scan.IsSpace(line[modEnd-1]) {
		modEnd--
	}
	*f = Frame{Shape: Fields, Whole: span(m, end), Module: span(m+len(moduleKey), modEnd), Off: span(offStart, end),
		Offset: off, Counts: true, Convention: Moved}
	if f.Module.Empty() {
		return false
	}
	rest := line[end:min(len(line), end+maxModule)]
	s.spendFast(4 * len(rest))
	if k := bytes.Index(rest, moduleKey); k >= 0 {
		rest = rest[:k]
	}
	if k := bytes.Index(rest, funcNull); k >= 0 {
		f.Func = span(end+k+len("func="), end+k+len(funcNull))
		f.Whole.End = max(f.Whole.End, f.Func.End)
	}
	if k := bytes.Index(rest, srcNull); k >= 0 {
		f.Source = span(end+k+len("src="), end+k+len(srcNull))
		f.Source.End = lineNumbers(line, f.Source.End)
		f.Whole.End = max(f.Whole.End, f.Source.End)
	}
	if k := bytes.IndexByte(rest, '('); k >= 0 {
		if id, e, ok := scan.BuildID(line, end+k); ok {
			f.BuildID, f.Whole.End = id, max(f.Whole.End, e)
		}
	}
	if k := s.lastIndex(line[back:m], frameKey); k >= 0 {
		k += back + len(frameKey)
		if n, e, ok := scan.Decimal(line, k); ok {
			f.Num, f.Number, f.Whole.Start = span(k, e), n, k-len(frameKey)
		}
	}
	f.Done = f.Func.Empty() && f.Source.Empty()
	return true
}

// lineNumbers skips `:LINE:COLUMN` at i.
func lineNumbers(line []byte, i int) int {
	for range 2 {
		if i >= len(line) || line[i] != ':' {
			break
		}
		_, end, ok := scan.Decimal(line, i+1)
		if !ok {
			break
		}
		i = end
	}
	return i
}
