package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readSeastarPath reads an address of a list that names its module, `/opt/lib/libc.so.6+0x3fe5f`; `+` stands at line[plus].
// Seastar prints them one by one or many on a line, and of the program itself the address alone. Its backtrace() takes 1 from every
// address that the unwinder returns (seastar's src/util/backtrace.cc: `func(decorate(ip - 1))`), also from those that a signal
// interrupted. PerFlow prints return addresses, and others anything: mostly what glibc's backtrace returns.
func readSeastarPath(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || !scan.WordEnd(line, e) {
		return false
	}
	start := plus
	for low := max(from, plus-maxModule); start > low && line[start-1] > ' ' && line[start-1] != '"'; {
		start--
	}
	s.spend(plus - start)
	if start+1 >= plus || line[start] != '/' || bytes.IndexByte(line[start+1:plus], '/') < 0 {
		return false
	}
	if !s.standsInList(line, start, scan.LineEnd(line, e) || scan.Has(line, e, " in ")) {
		return false
	}
	*f = Frame{Whole: span(start, e), Module: span(start, plus), Off: span(plus+1, e), Offset: off, Convention: Listed}
	f.answer(s, line, e)
	return true
}

// readSeastarAddress reads an address of such a list without a module; `0x` stands at line[at]:
//
//	Reactor stalled for 8 ms on shard 0. Backtrace: 0x3c53042 0x3c52380
//	scylla[10612]: 0x0000000003163dc2
//	   0x3c53042                               nothing else on the line
func readSeastarAddress(s *Search, line []byte, at, _ int, f *Frame) bool {
	if !scan.WordStart(line, 0, at) {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || e < at+len("0x1000") || !scan.WordEnd(line, e) {
		return false
	}
	// A number alone after a prefix is an address where it has all its digits.
	alone := scan.LineEnd(line, e) || scan.Has(line, e, " in ")
	if scan.BackSpaces(line, 0, at) <= s.begin {
		// The prefix is known to be one. Others write where a fault was behind theirs, as Bugly does: that is no address of a program that lies where it
		// was linked to, nor one with all its digits, and a list is indented.
		alone = alone && (s.begin == 0 || at > s.begin || e-at <= len("0x01234567") || e-at == len("0x0123456789abcdef"))
	} else if p := scan.BackSpaces(line, 0, at); scan.EndsWith(line, 0, p, "]:") {
		alone = alone && (e-at == len("0x0123456789abcdef") || at-p == len("   "))
	} else if p > s.begin && line[p-1] != '\n' {
		alone = false
	}
	if !s.standsInList(line, at, alone) {
		return false
	}
	*f = Frame{Whole: span(at, e), Addr: span(at, e), Off: span(at, e), Offset: addr, Base: Absolute, Convention: Listed}
	f.answer(s, line, e)
	return true
}

// standsInList reports whether an address at start is one of a list: alone on its line but for a prefix, the first after
// "Backtrace:", or after others that are.
func (s *Search) standsInList(line []byte, start int, alone bool) bool {
	p := scan.BackSpaces(line, 0, start)
	if alone && (p <= s.begin || bytes.IndexByte([]byte("\n|:]>"), line[p-1]) >= 0) {
		return true
	}
	s.list.at, s.list.is = start, s.follows(line, start, p)
	return s.list.is
}

// largeAlloc is in the lines of tcmalloc that have a stack, `tcmalloc: large alloc 3011936256 bytes == 0x5bbf0000 @  0x7feed825d1e7 0x4f9ba9`
// (ReportLargeAlloc in gperftools' src/tcmalloc.cc).
var largeAlloc = []byte("tcmalloc: large alloc ")

// follows reports whether the word at start, before which only spaces stand after p, is the first after "Backtrace:", or after others
// that are. What was found of the last one is known.
func (s *Search) follows(line []byte, start, p int) bool {
	for range maxList {
		if p == start || scan.EndsWith(line, 0, p, "acktrace:") || scan.EndsWith(line, 0, p, " @") && bytes.Contains(line[:p], largeAlloc) {
			return p < start
		}
		word := scan.BackToken(line, 0, p)
		if word == s.list.at {
			return s.list.is
		}
		if !s.spend(start - word) {
			return false
		}
		k := s.lastIndex(line[word:p], hexPrefix)
		if k < 0 || k > 0 && line[word] != '/' {
			return false
		}
		if _, e, ok := scan.Address(line, word+k); !ok || e != p {
			return false
		}
		start, p = word, scan.BackSpaces(line, 0, word)
	}
	return false
}

// maxList is how many addresses of a list on one line are looked at.
const maxList = 256
