package frame

import "bytes"

// readSeastarPath reads an address of a list that names its module, `/opt/lib/libc.so.6+0x3fe5f`; `+` stands at line[plus].
// Seastar prints them one by one or many on a line, and of the program itself the address alone. It subtracts 1 itself.
func readSeastarPath(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := hexNumber(line, plus+1)
	if !ok || !wordEnd(line, e) {
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
	if !s.standsInList(line, start, atEnd(line, e) || has(line, e, " in ")) {
		return false
	}
	*f = Frame{Whole: Span{start, e}, Module: Span{start, plus}, Off: Span{plus + 1, e}, Offset: off, Convention: Moved}
	f.answer(s, line, e)
	return true
}

// readSeastarAddress reads an address of such a list without a module; `0x` stands at line[at]:
//
//	Reactor stalled for 8 ms on shard 0. Backtrace: 0x3c53042 0x3c52380
//	scylla[10612]: 0x0000000003163dc2
//	   0x3c53042                               nothing else on the line
func readSeastarAddress(s *Search, line []byte, at, _ int, f *Frame) bool {
	if !wordStart(line, 0, at) {
		return false
	}
	addr, e, ok := hexNumber(line, at)
	if !ok || e < at+len("0x1000") || !wordEnd(line, e) {
		return false
	}
	// A number alone behind a prefix is an address where it has all its digits.
	alone := atEnd(line, e) || has(line, e, " in ")
	if endsWith(line, 0, backBlanks(line, 0, at), "]:") {
		alone = alone && e-at == len("0x0123456789abcdef")
	} else if p := backBlanks(line, 0, at); p > 0 && line[p-1] != '\n' {
		alone = false
	}
	if !s.standsInList(line, at, alone) {
		return false
	}
	*f = Frame{Whole: Span{at, e}, Addr: Span{at, e}, Off: Span{at, e}, Offset: addr, Space: Absolute, Convention: Moved}
	f.answer(s, line, e)
	return true
}

// standsInList reports whether an address at start is one of a list: alone on its line but for a prefix, the first behind
// "Backtrace:", or behind others that are.
func (s *Search) standsInList(line []byte, start int, alone bool) bool {
	p := backBlanks(line, 0, start)
	if alone && (p == 0 || bytes.IndexByte([]byte("\n|:]>"), line[p-1]) >= 0) {
		return true
	}
	for range maxList {
		if p == start || endsWith(line, 0, p, "acktrace:") {
			return p < start
		}
		word := backToken(line, 0, p)
		if !s.spend(start - word) {
			return false
		}
		k := s.lastIndex(line[word:p], hexPrefix)
		if k < 0 || k > 0 && line[word] != '/' {
			return false
		}
		if _, e, ok := hexNumber(line, word+k); !ok || e != p {
			return false
		}
		start, p = word, backBlanks(line, 0, word)
	}
	return false
}

// maxList is how many addresses of a list on one line are looked at.
const maxList = 256
