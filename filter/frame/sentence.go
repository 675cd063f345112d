package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

var (
	summaryWord  = []byte("SUMMARY: ")
	locationWord = []byte("Location is global ")
	nullLocation = []byte("Location is global '<null>' at ")
	recordWord   = []byte("record:0x")
	newFuncWord  = []byte("NEW_FUNC[")
	newPCWord    = []byte("NEW_PC: 0x")
	runtimeError = []byte(": runtime error:")
)

// readSentence reads the `(elf+0xoff)` of a sanitizer's sentences; `+` stands at line[plus]:
//
//	SUMMARY: AddressSanitizer: heap-use-after-free (elf+0xoff) (BuildId: id)
//	(elf+0xoff): runtime error: signed integer overflow
//	record_addr:0x7d record:0x7b24d90a08  (elf+0xoff) (BuildId: id)         HWASan: where a function begins
//	NEW_FUNC[1/3]: 0x5590a4c3  (elf+0xoff) (BuildId: id)                    libFuzzer: a function or a place that is new
//	NEW_PC: 0x5590a4c3 in f (elf+0xoff) (BuildId: id)
//	Location is global '<null>' at 0x55 (elf+0xoff) (BuildId: id)           TSan: the address of a variable
//	Location is global '<null>' at 0x55 (<null>+0x0)                        beside frames that are markup
//
// The addresses of code lie in the call already, as in the report's frames. Other sentences with such a pair are left alone: it may be
// the address of data.
func readSentence(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != ')' {
		return false
	}
	end := e + 1
	from = max(from, plus-maxModule)
	before := line[from:plus]
	var said int
	var data, exact bool
	if !s.hasSentence() {
		if !bytes.HasPrefix(line[end:], runtimeError) {
			return false
		}
	} else if k := s.lastIndex(before, summaryWord); k >= 0 {
		said = k + len(summaryWord)
	} else if k := s.lastIndex(before, locationWord); k >= 0 {
		said, data = k+len(locationWord), true
	} else if k := s.lastIndex(before, recordWord); k >= 0 {
		said, exact = k+len(recordWord), true
	} else if k := max(s.lastIndex(before, newFuncWord), s.lastIndex(before, newPCWord)); k >= 0 {
		colon := k + bytes.IndexByte(before[k:], ':')
		_, addrEnd, ok := scan.Address(line, from+colon+len(": "))
		if colon < k || !ok {
			return false
		}
		said, exact = addrEnd-from, true
	} else if !bytes.HasPrefix(line[end:], runtimeError) {
		return false
	}
	open := s.openParen(line, from+said, plus)
	if open < 0 || open+1 >= plus {
		return false
	}
	*f = Frame{Shape: Pair, Whole: span(open, end), Gap: span(open, open), Off: span(plus+1, e), Offset: off, Data: data, Convention: Moved}
	f.setModule(line, open+1, plus)
	if data || exact {
		f.Convention = Exact
	}
	if name := from + said + len(inWord); bytes.HasPrefix(line[from+said:open], inWord) && name < open-1 {
		f.Whole.Start, f.Gap, f.Hint = name, span(name, open), span(name, scan.BackSpaces(line, name, open))
	}
	// After the pair the runtimes name the function, where they know it: then only the file is missing.
	f.Done = s.endsWithLine(line[from+said : open])
	if data {
		readLocation(line, from+said-len(locationWord), open, f)
	}
	if id, e, ok := scan.BuildID(line, end); ok {
		f.setBuildID(id)
		f.Whole.End = e
	}
	return true
}

// hasSentence reports whether the line at hand holds one of the words that such a sentence begins with.
func (s *Search) hasSentence() bool {
	if s.sentence == unsearched {
		s.sentence = absent
		for _, word := range [...][]byte{summaryWord, locationWord, recordWord, newFuncWord, newPCWord} {
			if bytes.Contains(s.line, word) {
				s.sentence = present
			}
		}
	}
	return s.sentence == present
}

// presence reports whether a line holds something, once that has been searched for.
type presence uint8

const (
	unsearched presence = iota
	absent
	present
)

// readLocation reads the address in TSan's sentence about a variable, line[start:open]. The name of one that the runtime
// knows needs no answer, and neither does a line that has one before the parenthesis.
func readLocation(line []byte, start, open int, f *Frame) {
	f.Done = true
	if !bytes.HasPrefix(line[start:], nullLocation) {
		return
	}
	p := start + len(nullLocation)
	addr, e, ok := scan.Address(line, p)
	if !ok {
		return
	}
	f.Addr, f.Whole.Start = span(p, e), p
	f.Done = scan.Spaces(line, e) != open
	if bytes.Equal(f.Module.Of(line), nullName) {
		f.Base, f.Offset, f.Off, f.Module = Absolute, addr, f.Addr, Span{}
	}
}
