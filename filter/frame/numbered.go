package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readNumbered reads `#N addr [in] [func] (elf+0xoff) [(BuildId: id)]`: sanitizers, gcc and clang, Tizen, LLVM's own
// stack traces; TSan's `#N <null> <null> (elf+0xoff)` and Chromium's `#N (elf+0xoff)    func` without an address.
func readNumbered(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, end, ok := scan.Decimal(line, at+1)
	if !ok || end >= len(line) || !scan.IsSpace(line[end]) {
		return false
	}
	num := span(at+1, end)
	p := scan.Spaces(line, end)
	var addr Span
	if _, e, ok := scan.Address(line, p); ok {
		addr, end = span(p, e), e
		if end < len(line) && !scan.IsSpace(line[end]) {
			return false
		}
	} else if p < len(line) && line[p] == '(' {
		return s.moduleFirst(line, at, p, num, n, f)
	} else if !bytes.HasPrefix(line[p:], nullName) {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: num, Number: n, Addr: addr, Counts: true}
	return s.module(line, end, s.nextNumber(line, end), f)
}

// moduleFirst reads the rest of `#N (elf+0xoff)    func`, whose parenthesis stands at open.
func (s *Search) moduleFirst(line []byte, at, open int, num Span, n uint64, f *Frame) bool {
	limit := s.nextNumber(line, open)
	o, plus, off, end, ok := s.modulePair(line, open, limit)
	if !ok || o != open {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: num, Number: n, Off: span(plus+1, end-1), Offset: off, Gap: span(end, end), Convention: Raw}
	f.setModule(line, o+1, plus)
	if id, e, ok := scan.BuildID(line[:limit], end); ok {
		f.setBuildID(id)
		f.Whole.End, f.Gap = e, span(e, e)
	}
	end = f.Whole.End
	f.answer(s, line[:limit], end)
	if nameEnd := s.textEnd(line[:limit], end); !f.Done && s.isName(line[end:nameEnd]) {
		f.Gap.End, f.Whole.End = nameEnd, nameEnd
		f.Done = s.endsWithLine(line[end:nameEnd])
	}
	return true
}

var nullName = []byte("<null>")

// nextNumber returns where the next `#N 0x` begins, or the next line of a JSON string, so that frames that share a line do not
// take each other's module.
func (s *Search) nextNumber(line []byte, from int) int {
	line = line[:lineBreak(line, from, min(len(line), from+4*maxModule))]
	s.spendFast(len(line) - from)
	for i := from; ; i++ {
		k := bytes.IndexByte(line[i:], '#')
		if k < 0 {
			return len(line)
		}
		i += k
		if !s.spendFast(k) {
			return i
		}
		if _, end, ok := scan.Decimal(line, i+1); ok && end < len(line) && scan.IsSpace(line[end]) {
			if _, _, ok := scan.Address(line, scan.Spaces(line, end)); ok {
				return i
			}
		}
	}
}

// lineBreak returns the first line break in line[from:to], to where there is none.
func lineBreak(line []byte, from, to int) int {
	if k := bytes.IndexByte(line[from:to], '\n'); k >= 0 {
		return from + k
	}
	return to
}

// module reads what follows the address: the name in the log, the module's parenthesis and the build ID.
func (s *Search) module(line []byte, addrEnd, limit int, f *Frame) bool {
	open, plus, off, end, ok := s.modulePair(line, addrEnd, limit)
	if !ok {
		return false
	}
	gapEnd := open
	for gapEnd > addrEnd && scan.IsSpace(line[gapEnd-1]) {
		gapEnd--
	}
	hint := line[addrEnd:gapEnd]
	f.Gap = span(addrEnd, gapEnd)
	f.Offset = off
	f.setModule(line, open+1, plus)
	f.Off, f.Offset = span(plus+1, end-1), off
	f.Whole.End = end
	f.Done = s.endsWithLine(hint)
	f.Convention = spelling(f, hint, open-gapEnd)
	if id, e, ok := scan.BuildID(line[:limit], end); ok {
		f.setBuildID(id)
		f.Whole.End = e
	}
	return true
}

// spelling returns the convention of the program that printed a frame, by its looks. The sanitizer runtimes' own printer writes two
// spaces, or "<null>", in the place of a name it does not know; what this filter inserts keeps the spaces, so that its output is read
// the same way again. They are compiler-rt's (`#%n %p %F %L` in sanitizer_stacktrace_printer.cpp), which prints what
// GetPreviousInstructionPc returns; gcc's 12 does the same. LLVM's PrettyStackTrace writes 16 digits and a name without "in", and a
// return address in frame 0 too.
func spelling(f *Frame, hint []byte, spaces int) Convention {
	switch {
	case spaces == 2, bytes.Contains(hint, nullName):
		return Moved
	case f.Addr.End-f.Addr.Start == len("0x0123456789abcdef") && len(hint) > 0 && !bytes.HasPrefix(hint, inWord):
		return Raw
	}
	return Sanitizers
}

// setModule sets the module to line[start:end], without the architecture that follows the name on Darwin, `lib.dylib:x86_64h`.
func (f *Frame) setModule(line []byte, start, end int) {
	f.Module = span(start, end)
	colon := end - 1
	for low := max(start, end-len(":x86_64h")); colon > low && line[colon] != ':'; {
		colon--
	}
	if colon > start && line[colon] == ':' {
		for _, arch := range darwinArchs {
			if string(line[colon+1:end]) == arch {
				f.Module.End, f.Arch = colon, arch
				f.Space = symsrc.InImage
				if f.Offset >= darwinStart { // of the file; older runtimes count from where the image begins
					f.Space = symsrc.Linked
				}
			}
		}
	}
}

// setBuildID sets the build ID that stands after the module. On Darwin the runtimes of LLVM 14 to 16 print 32 bytes: those of the UUID, and
// 16 of the next load command of the file, which most often says for what system it was linked.
func (f *Frame) setBuildID(id Span) {
	const uuidDigits = 32
	if f.BuildID = id; f.Arch != "" && id.End-id.Start == 2*uuidDigits {
		f.BuildID.End = id.Start + uuidDigits
	}
}

// darwinArchs are the architectures that compiler-rt knows on Darwin (ModuleArchToString in its sanitizer_common).
var darwinArchs = [...]string{"i386", "x86_64", "x86_64h", "armv6", "armv7", "armv7s", "armv7k", "arm64", "arm64e"}

// maxModule bounds the text of a module in bytes, beyond any path (PATH_MAX is 4096), and maxTries how many offsets without
// a module before them are passed over: otherwise a line of nothing but parentheses would take the square of its length.
const (
	maxModule = 8192
	maxTries  = 16
)

// modulePair finds `(elf+0xoff)` in line[from:limit]: the first `+0xHEX)` that has a parenthesis before it. Paths may hold
// `+`, spaces and parentheses. It returns the offsets of `(`, of `+`, and of the end.
func (s *Search) modulePair(line []byte, from, limit int) (open, plus int, off uint64, end int, ok bool) {
	p := indexFrom(line[:limit], plus0x, from)
	for tries := 0; p >= 0 && tries < maxTries && s.spendFast(p-from); p = indexFrom(line[:limit], plus0x, p+1) {
		v, e, okNum := scan.Address(line[:limit], p+1)
		if !okNum || e >= limit || line[e] != ')' {
			continue
		}
		tries++
		o := s.openParen(line, max(from, p-maxModule), p)
		if o < 0 || o+1 >= p {
			continue
		}
		return o, p, v, e + 1, true
	}
	return 0, 0, 0, 0, false
}

// openParen finds the parenthesis that opens the module whose `+` stands at plus. An absolute path begins at the first
// "(/" after a space, whatever parentheses it holds; otherwise at the one that balances.
func (s *Search) openParen(line []byte, from, plus int) int {
	b := line[from:plus]
	for i := 0; i+1 < len(b) && s.spend(1); i++ {
		if b[i] == '(' && b[i+1] == '/' && (i == 0 || scan.IsSpace(b[i-1])) {
			return from + i
		}
	}
	depth := 0
	for i := len(b) - 1; i >= 0 && s.spend(1); i-- {
		switch b[i] {
		case ')':
			depth++
		case '(':
			if depth == 0 {
				if i > 0 && !scan.IsSpace(b[i-1]) {
					return -1
				}
				return from + i
			}
			depth--
		}
	}
	return -1
}
