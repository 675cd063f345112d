package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readGlog reads the traces of glog and Abseil; `0x` stands at line[at]:
//
//	    @     0x555b673f4215 ns::outer()              glog
//	    @     0x7f4d8065a050  (unknown)  name()       Abseil: the first column is the size of the stack frame
//	PC: @     0x56247cea8149  (unknown)  deep()       what was running
//	    @     0x55f2a1c0d3e5 src/app.cc:42 main()     ng-log since 2025, with the source line before the function
//
// The addresses are those of the process as the unwinder returns them (DumpStackFrameInfo in glog's src/signalhandler.cc,
// DumpPCAndFrameSizesAndStackTrace in Abseil's debugging/internal/examine_stack.cc); glog leaves out its own handler, so that its first
// frame is the signal's trampoline.
func readGlog(s *Search, line []byte, at, from int, f *Frame) bool {
	p := scan.BackSpaces(line, from, at)
	if p == at || p < from+5 || line[p-1] != '@' {
		return false
	}
	sign := p - 1
	start, convention := sign, Raw
	switch {
	case scan.EndsWith(line, from, sign, "PC: "):
		start, convention = sign-len("PC: "), Exact
	case !scan.EndsWith(line, from, sign, "    "):
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || !scan.WordEnd(line, e) {
		return false
	}
	*f = Frame{Whole: span(start, e), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: convention}
	if f.answer(s, line, e); f.Done {
		return true
	}
	if q := scan.Spaces(line, e); q > e {
		if size := q + max(0, bytes.IndexByte(line[q:min(len(line), q+len("(unknown) "))], ' ')); frameSize(line[q:size]) && scan.Has(line, size, " in ") {
			f.answer(s, line, size)
			return true
		}
	}
	column, first := s.wordsEnd(line, e)
	if beginsWithLine(line[first:column]) {
		f.Gap, f.Whole.End, f.Done = span(e, column), column, true
		return true
	}
	name, last := s.wordsEnd(line, column)
	if frameSize(line[first:column]) && last < name {
		if f.answer(s, line, column); !f.Done {
			f.replace(s, line, column, name)
			f.Whole.End = name
		}
		return true
	}
	f.replace(s, line, e, column)
	f.Whole.End = column
	return true
}

// wordsEnd reads spaces and a text in which no two spaces follow each other: its start and its end.
func (s *Search) wordsEnd(line []byte, i int) (end, start int) {
	start = scan.Spaces(line, i)
	limit := s.textEnd(line, start)
	for end = start; end < limit; end++ {
		if scan.IsSpace(line[end]) && scan.IsSpace(line[end+1]) {
			return end, start
		}
	}
	if end == start {
		return i, i
	}
	return end, start
}

// beginsWithLine reports whether text is `FILE:LINE FUNCTION`.
func beginsWithLine(text []byte) bool {
	for i := 1; i < len(text); i++ {
		k := bytes.IndexByte(text[i:], ':')
		if k < 0 {
			break
		}
		i += k
		if _, end, ok := scan.Decimal(text, i+1); ok && text[i-1] != ':' && end+1 < len(text) && text[end] == ' ' {
			return bytes.IndexByte(text[:i], '.') >= 0 || bytes.IndexByte(text[:i], '/') >= 0
		}
	}
	return false
}

// frameSize reports whether text is Abseil's column for the size of the stack frame.
func frameSize(text []byte) bool {
	if string(text) == "(unknown)" {
		return true
	}
	_, e, ok := scan.Decimal(text, 0)
	return ok && e == len(text)
}
