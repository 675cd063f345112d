package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readGlibc reads glibc's backtrace_symbols and backtrace_symbols_fd, and execinfo clones; `+` stands at line[plus]:
//
//	bin/bt/bt-pie(+0x11b9)[0x56235714a1b9]              an address in the module
//	bin/bt/bt-rdynamic(exported_fn+0x5)[0x55f32546c255] an offset in a function
//	  #0 bin/misc/gwp(+0x3b59) [0x5626818ecb59]         GWP-ASan and scudo
//	 > /usr/lib/libc.so.6(__write+0x10) [0xf8350]        strace -k
//	(EE) 1: /usr/lib/xorg/Xorg (_init+0x139) [0x55d8c5a6b2f9]              X.Org's server
//	(EE) 2: /usr/lib/xorg/Xorg (?+0x0) [0x55d8c5a6b2f9]                    the same, of an unknown function
//	(EE) 3: /usr/lib/xorg/Xorg (0x55d8c58a5000+0x1234) [0x55d8c58a6234]    the same, from where the module begins
//
// The addresses are what backtrace() returns: return addresses, and what a signal interrupted after the frame of its trampoline. The first
// number is the distance from l_addr, an address of the file (debug/backtracesymsfd.c in glibc); TestPlaces runs it. X.Org's server (its
// os/backtrace.c) has libunwind, or backtrace() and dladdr(): return addresses too.
func readGlibc(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != ')' {
		return false
	}
	addr, end, ok := bracketed(line, e+1)
	if !ok {
		return false
	}
	open := plus - 1
	if open >= from && line[open] != '(' {
		// Where a search from before came to its end without one, this one would, too.
		low := max(from, plus-maxModule)
		if open = s.balanced(line, max(low, s.unopened), plus); open < 0 {
			s.unopened = plus
		}
	}
	start, nameEnd := s.program(line, from, open)
	if start < 0 {
		return false
	}
	*f = Frame{Whole: span(start, end), Module: span(start, nameEnd), Off: span(plus+1, e), Offset: off, Addr: addr, Convention: Raw}
	if open+1 < plus {
		f.Base, f.Symbol = FromSymbol, span(open+1, plus)
	}
	if line[open-1] == ' ' {
		return s.xorg(line, plus, f)
	}
	if scan.EndsWith(line, from, start, " > ") {
		f.Convention, f.Run = Strace, Adjacent
	}
	glibcNumber(line, from, f)
	f.answer(s, line, end)
	f.sourced(s, line, end)
	return true
}

// xorg reads the rest of a frame of X.Org's server, which has a space before the parenthesis.
func (s *Search) xorg(line []byte, plus int, f *Frame) bool {
	for f.Module.End > f.Module.Start && line[f.Module.End-1] == ' ' {
		f.Module.End--
	}
	f.answer(s, line, f.Whole.End)
	from := f.Symbol.Of(line)
	if _, e, ok := scan.Address(line, f.Symbol.Start); ok && e == plus {
		f.Base, f.Symbol, f.Space = InModule, Span{}, symsrc.InImage // dli_fbase
	} else if string(from) == "?" {
		f.Base, f.Symbol, f.Off = Absolute, Span{}, f.Addr
		f.Offset, _, _ = scan.Address(line, f.Addr.Start)
	}
	return !f.Module.Empty()
}

// glibcNumber takes in the `#N ` before a frame.
func glibcNumber(line []byte, from int, f *Frame) {
	p := scan.BackSpaces(line, from, f.Whole.Start)
	d := scan.BackDigits(line, from, p)
	if p == f.Whole.Start || d == p || d == from || line[d-1] != '#' {
		return
	}
	if n, _, ok := scan.Decimal(line, d); ok {
		f.Num, f.Number, f.Whole.Start = span(d, p), n, d-1
	}
}

// bracketed reads `[0xHEX]`, perhaps after a space, at i.
func bracketed(b []byte, i int) (addr Span, end int, ok bool) {
	if i < len(b) && b[i] == ' ' {
		i++
	}
	if i >= len(b) || b[i] != '[' {
		return Span{}, i, false
	}
	_, e, ok := scan.Address(b, i+1)
	if !ok || e >= len(b) || b[e] != ']' {
		return Span{}, i, false
	}
	return span(i+1, e), e + 1, true
}

// balanced finds the parenthesis that opens what stands before b[end], −1 where none does.
func (s *Search) balanced(b []byte, from, end int) int {
	depth := 0
	for i := end - 1; i >= from && s.spend(1); i-- {
		switch b[i] {
		case ')':
			depth++
		case '(':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// program finds where the path stands that ends before line[end], as pathStart does. A server that shows its address in the list of
// processes writes that over its own name, from which glibc has the path: `./redis-server *:6379 [cluster](main+0x46d)[0x59e41eeb955d]`.
// The file of its configuration may follow.
func (s *Search) program(line []byte, from, end int) (start, nameEnd int) {
	if low := max(from, end-4*maxTitle); scan.EndsWith(line, from, end, ".conf") {
		if space := low + s.lastIndexByte(line[low:end], ' '); space > low && line[space+1] == '/' {
			if start, nameEnd = s.titled(line, from, space); start >= 0 && nameEnd < space {
				return start, nameEnd
			}
		}
	}
	return s.titled(line, from, end)
}

// titled is program for a title without the file of a configuration.
func (s *Search) titled(line []byte, from, end int) (start, nameEnd int) {
	nameEnd = end
	low := max(from, end-maxTitle)
	if end > low && line[end-1] == ']' {
		if i := s.lastIndexByte(line[low:end], '['); i > 0 && line[low+i-1] == ' ' {
			nameEnd = low + i - 1
		}
	}
	digits := scan.BackDigits(line, low, nameEnd)
	if end <= low || digits == nameEnd || digits == low || line[digits-1] != ':' {
		start = s.pathStart(line, from, end)
		if start < 0 || line[start] != '/' && line[start] != '.' {
			if k := s.title(line, from, end); k >= 0 {
				return k, k + len("postgres")
			}
		}
		return start, end
	}
	space := low + s.lastIndexByte(line[low:digits], ' ')
	if space <= low || !isHost(line[space+1:digits-1]) {
		return s.pathStart(line, from, end), end
	}
	start = s.pathStart(line, from, space)
	return start, space
}

// maxTitle bounds what a server writes after its name, in bytes.
const maxTitle = 64

// title finds the name of PostgreSQL in what a server process of it writes over its own name, which ends before line[end], −1 where it is not:
// `postgres: user db [local] SELECT(ExceptionalCondition+0xbb)[0x563bd6ea5b0d]` (set_ps_display in its src/backend/utils/misc/ps_status.c).
func (s *Search) title(line []byte, from, end int) int {
	low := max(from, end-4*maxTitle)
	if end <= low {
		return -1
	}
	if k := s.lastIndex(line[low:end], titleWord); k >= 0 && scan.WordStart(line, from, low+k) {
		return low + k
	}
	return -1
}

// titleWord begins the title of a process of PostgreSQL.
var titleWord = []byte("postgres: ")

// isHost reports whether a word is where a server listens: `*`, or an address.
func isHost(word []byte) bool {
	for _, c := range word {
		if c != '*' && c != '.' && c != ':' && !scan.IsHex(c) {
			return false
		}
	}
	return len(word) > 0 && (word[0] == '*' || bytes.IndexByte(word, '.') > 0 || bytes.IndexByte(word, ':') >= 0)
}

// pathStart finds where the path begins that ends before line[end], −1 where none does: an absolute one, or one from "./",
// may hold spaces; of others the last word is taken. A log's own prefix ends in punctuation and a space.
func (s *Search) pathStart(line []byte, from, end int) int {
	from = max(from, end-maxModule)
	word := -1
	for i := end - 1; i >= from && s.spend(1); i-- {
		c := line[i]
		if c < ' ' || c == '"' || c == '|' || c == '\\' {
			return firstWord(word, i+1, end)
		}
		if c == ' ' {
			if word < 0 {
				word = i + 1
			}
			if i > from && isPunctuation(line[i-1]) {
				return firstWord(word, i+1, end)
			}
			continue
		}
		if (i == from || line[i-1] == ' ') && (c == '/' || scan.Has(line, i, "./") || scan.Has(line, i, "../")) {
			return i
		}
	}
	return firstWord(word, from, end)
}

// firstWord returns the start of the last word before end: word, or the text's start if that is −1.
func firstWord(word, start, end int) int {
	if word < 0 {
		word = start
	}
	if word >= end {
		return -1
	}
	return word
}

// isPunctuation reports whether c ends what stands before a path.
func isPunctuation(c byte) bool {
	switch c {
	case ':', ']', ')', '>', ',', ';', '=', '\'':
		return true
	}
	return false
}

// readGlibcPlain reads what glibc prints in a program that is not position-independent, where it knows no function:
// `prog[0x4011a6]`, older `./prog() [0x4011a6]`; `0x` stands at line[at]. Such an address is the ELF's own. A bracket in a
// sentence may be anything: the frame has the rest of the line for itself.
//
// What `strace -k` prints of code without a symbol looks the same after a sign, ` > /usr/bin/echo() [0x60c4]`. Built with libunwind, as
// Debian's, it writes the offset in the file (`ip - start_addr + mmap_offset` in strace's unwind-libunwind.c); built with libdw, an
// address of the module that lies in the call (`pc--` and dwfl_module_relocate_address in unwind-libdw.c). A stack begins with
// the instruction that a system call or a signal interrupted. TestLiveStrace runs it.
func readGlibcPlain(s *Search, line []byte, at, from int, f *Frame) bool {
	if at < from+2 || line[at-1] != '[' {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	end := e + 1
	if !scan.LineEnd(line, end) && !scan.Has(line, end, " in ") && !(scan.Has(line, end, noPlace) && scan.LineEnd(line, end+len(noPlace))) {
		return false
	}
	nameEnd := at - 1
	if scan.EndsWith(line, from, nameEnd, "() ") {
		nameEnd -= len("() ")
	} else if scan.EndsWith(line, from, nameEnd, "()") {
		nameEnd -= len("()")
	} else if scan.IsSpace(line[nameEnd-1]) && s.title(line, from, nameEnd) < 0 {
		return false
	}
	start, moduleEnd := s.program(line, from, nameEnd)
	if start < 0 || isPunctuation(line[nameEnd-1]) {
		return false
	}
	straced := nameEnd+len("() [") == at && scan.EndsWith(line, from, start, " > ")
	if !straced && e-at < len("0x1000") {
		return false // a small number may be anything
	}
	if start != scan.Spaces(line, 0) && bytes.IndexByte(line[start:nameEnd], '/') < 0 && !follows(line, from, start, line[at:e]) &&
		(nameEnd == at-1 || !s.itemized(line, from, start)) {
		return false
	}
	if line[start] != '/' && line[start] != '.' && bytes.Contains(line[start:nameEnd], []byte("::")) {
		return false // a function of C++, as Chromium and Boost write them
	}
	*f = Frame{Whole: span(start, end), Module: span(start, moduleEnd), Off: span(at, e), Offset: addr, Addr: span(at, e), Convention: Raw}
	if straced {
		f.Space, f.Convention, f.Run = symsrc.InFile, Strace, Adjacent
	}
	glibcNumber(line, from, f)
	f.answer(s, line, end)
	return true
}

// follows reports whether the address of a frame stands before it, as in Varnish's `0x438537: varnishd() [0x438537]`.
func follows(line []byte, from, start int, addr []byte) bool {
	const colon = ": "
	return scan.EndsWith(line, from, start, colon) && bytes.HasSuffix(line[from:start-len(colon)], addr)
}

// itemized reports whether the frame has a number and its line for itself, as in UCX's ` 3  a.out() [0x40f110]`.
func (s *Search) itemized(line []byte, from, start int) bool {
	end := scan.BackSpaces(line, from, start)
	digits := scan.BackDigits(line, from, end)
	return start-end > 1 && digits < end && scan.BackSpaces(line, from, digits) <= s.begin
}

// noPlace is what Godot's crash handler has from addr2line for an address that it knows nothing of.
const noPlace = " (??:0)"

// readStraceOther reads what else strace -k prints in a stack, ` > [vdso]() [0xa2c]` or ` > anonymous [0x7f12]`: there is nothing to
// look up.
func readStraceOther(s *Search, line []byte, at, from int, f *Frame) bool {
	_, e, ok := scan.Address(line, at)
	from = max(from, s.begin)
	if !ok || e >= len(line) || line[e] != ']' || !scan.LineEnd(line, e+1) || !scan.Has(line, from, " > ") || at < from+len(" > [") {
		return false
	}
	*f = Frame{Shape: NumberOnly, Whole: span(from+len(" > "), e+1), Run: Adjacent}
	return true
}
