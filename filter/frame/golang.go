package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readGo reads the program counter of a Go program's fault, `PC=0x4a0232 m=0 sigcode=1` (sighandler in Go's runtime/signal_unix.go) and
// `[signal SIGSEGV: … pc=0x49e471]` (printpanics in runtime/panic.go), and of Java's `SIGSEGV (0xb) at pc=0x00007f4ee736d0f9, pid=1`
// (VMError::report): the instruction itself. `0x` stands at line[at]. Any other program may print `pc=` for anything: the machine
// code decides. The frames of goroutines, which end in ` fp=0x1 sp=0x2 pc=0x3`, have their place already.
func readGo(s *Search, line []byte, at, from int, f *Frame) bool {
	start := at - len("pc=")
	if start < from || !scan.Has(line, start, "pc=") && !scan.Has(line, start, "PC=") ||
		start > from && !scan.IsSpace(line[start-1]) && line[start-1] != '[' && line[start-1] != '(' {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || e < len(line) && bytes.IndexByte([]byte(" \t\r\n],)\\"), line[e]) < 0 {
		return false
	}
	if scan.EndsWith(line, from, start, " ") && bytes.Contains(line[max(from, start-64):start], []byte(" fp=0x")) {
		return false
	}
	s.spendFast(min(len(line)-e, maxModule))
	if bytes.Contains(line[e:min(len(line), e+maxModule)], offset0x) {
		// A field of a sanitizer's frame.
		return false
	}
	*f = Frame{Whole: span(start, e), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Headline: true}
	if scan.Has(line, start, "PC=") && scan.Has(line, e, " m=") || scan.Has(line, e, ", pid=") ||
		bytes.Contains(line[max(from, start-maxSignal):start], signalWord) {
		f.Convention = Exact
	}
	f.answer(s, line, e)
	return true
}

// signalWord begins the line of a fault that became a panic, and maxSignal bounds what is between it and the program counter.
var signalWord = []byte("[signal ")

const maxSignal = 128
