package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// addr2lineWord begins a command that programs print for the reader to run.
const addr2lineWord = "addr2line -e "

// What stands beside the command: FoundationDB's options, and the words of CmBacktrace and RT-Thread.
const foundationOptions, runWord, useWord = " -p -C -f -i 0x", "run: ", "please use: "

// ofStack reports whether the command that begins at the place is one of a stack.
func ofStack(line []byte, at int) bool {
	return scan.EndsWith(line, 0, at, runWord) || scan.EndsWith(line, 0, at, useWord) || bytes.Contains(line[at:], []byte(foundationOptions))
}

// readAddr2line reads an address of a command that FoundationDB prints in the place of a stack; `0x` stands at line[at]:
//
//	Backtrace="addr2line -e fdbserver.debug -p -C -f -i 0x1479f46 0x14786b7"
//
// or of RT-Thread, whose program is that of a board:
//
//	please use: addr2line -e rtthread.elf -a -f 0x60012344 0x60023456
//
// FoundationDB's are return addresses of the process, less where the program begins (format_backtrace in its flow/Platform.actor.cpp): those of libraries are
// far beyond its end, and one of these may be where a signal's handler returns to. The first one of RT-Thread's may be that of a fault
// (rt_backtrace_frame in its src/kservice.c).
func readAddr2line(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, end, ok := scan.Address(line, at)
	if !ok {
		return false
	}
	c, ok := s.command(line, at)
	if !ok || !endsArgument(line, end) {
		return false
	}
	if scan.EndsWith(line, 0, s.needed, useWord) {
		*f = Frame{Whole: span(at, end), Addr: span(at, end), Off: span(at, end), Offset: addr, Base: Absolute, Machines: AArch64 | RISCV, Convention: Traced}
		if c.n == 0 {
			f.Convention = TracedFirst
		}
		f.answer(s, line, end)
		return true
	}
	if !scan.Has(line, c.file.End, foundationOptions) {
		return false
	}
	if addr>>32 != 0 {
		*f = Frame{Shape: NumberOnly, Whole: span(at, end), Convention: Raw}
		return true
	}
	*f = Frame{Whole: span(at, end), Module: c.file, Off: span(at, end), Offset: addr, Convention: Raw}
	if c.before>>32 != 0 {
		f.Convention = Either
	}
	f.answer(s, line, end)
	return true
}

// readAddr2lineBoard reads one of the command that CmBacktrace prints, and what is derived from it; ` 08` or ` 000` begins at line[at]:
//
//	Show more call stack info by run: addr2line -e CmBacktrace.axf -a -f 08001ce2 08001dad 08002698
//
// The first one is that of the fault, if there was one. The others come from return addresses in Thumb code, less 4 in old versions, which are odd,
// and less 1 in later ones (cm_backtrace_call_stack in its cm_backtrace.c): they are made return addresses again.
func readAddr2lineBoard(s *Search, line []byte, at, from int, f *Frame) bool {
	const digits = len("08001ce2")
	start := at + 1
	addr, end, ok := scan.Hex(line, start)
	if !ok || end-start != digits {
		return false
	}
	c, ok := s.command(line, start)
	if !ok || !endsArgument(line, end) || !scan.EndsWith(line, 0, s.needed, runWord) {
		return false
	}
	*f = Frame{Whole: span(start, end), Addr: span(start, end), Off: span(start, end), Offset: addr, Base: Absolute, Machines: ARM, Convention: Returning}
	switch {
	case addr&1 != 0:
		f.Offset += 4
	case c.n == 0:
		f.Convention = Branching
	case c.odd || oddFollows(line, end):
		return false // an old version prints what else is on the stack
	default:
		f.Offset |= 1
	}
	f.answer(s, line, end)
	return true
}

// oddFollows reports whether one of the addresses that follow line[:i] is odd.
func oddFollows(line []byte, i int) bool {
	for range maxList {
		const digits = len("08001ce2")
		v, end, ok := scan.Hex(line, i+1)
		if !ok || line[i] != ' ' || end-i-1 != digits {
			break
		}
		if v&1 != 0 {
			return true
		}
		i = end
	}
	return false
}

// command is what stands of a command before one of its addresses.
type command struct {
	file Span
	// n is how many addresses there are, before is the last one, and odd is set where one is odd.
	n      int
	before uint64
	odd    bool
}

// command returns the command that the number at line[at] is an argument of.
func (s *Search) command(line []byte, at int) (c command, ok bool) {
	start := s.needed + len(addr2lineWord)
	if s.needed < 0 || at <= start || at-start > maxList*len(" 0x0123456789abcdef") || !s.spend(at-start) {
		return c, false
	}
	for i := start; i < at; {
		end := i
		for end < at && line[end] > ' ' && bytes.IndexByte([]byte("\"'`|;<>&"), line[end]) < 0 {
			end++
		}
		switch {
		case end == i || end == at || line[end] != ' ':
			return c, false
		case i == start:
			c.file = span(i, end)
		case line[i] == '-' && c.n == 0:
		default:
			n := i
			if scan.Has(line, i, "0x") {
				n += len("0x")
			}
			v, e, ok := scan.Hex(line, n)
			if !ok || e != end {
				return c, false
			}
			c.n, c.before, c.odd = c.n+1, v, c.odd || v&1 != 0
		}
		i = end + 1
	}
	return c, true
}

// endsArgument reports whether an argument may end before line[i:].
func endsArgument(line []byte, i int) bool {
	return mayEnd(line, i) || scan.WordEnd(line, i) || line[i] == '\\'
}
