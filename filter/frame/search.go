package frame

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
)

// Search finds the frames of one line after another. It keeps what each text found ahead of the others, so that the
// time for a line grows with its length whatever it holds.
type Search struct {
	table *Table
	line  []byte
	ahead []ahead // by the table's texts
	marks match.Places
	texts []int // the numbers of those that stand in the line
	// needed is where the text that the format at hand needs stands the last time before its mark.
	needed int
	// begin is where the program's own words begin.
	begin int
	// word is where the first of them stands behind spaces, -1 before that was looked for.
	word int
	// left is how many bytes readers may still look at beside the frames that they find, below 0 where the line's are used up.
	left int
	// unopened is up to where no parenthesis of a function's opens, for the readers that search backward for one.
	unopened int
	// list is whether the last address that was looked at, at that offset, is one of a list.
	list listed
	// exception is the same for lists of the stack of an exception.
	exception listed
	// traceback is where the next address of a stack of Ada stands, and how much the emitter has taken from all.
	traceback struct {
		next  int
		taken uint64
	}
	// sentence is whether the line holds a word that begins a sanitizer's sentence.
	sentence presence
	// closedIDs is whether it holds a build ID that closedID reads.
	closedIDs presence
	// object is the one of JSON that was read last.
	object scan.Object
}

// listed is whether the address at an offset is one of a list.
type listed struct {
	at int
	is bool
}

// ahead is what a Search has found of a text.
type ahead struct {
	next  Frame
	found bool
	// clear is up to where no frame of the text begins.
	clear int
}

// Search returns a Search for the formats of the table; the zero Search is one for Formats.
func (t *Table) Search() *Search {
	return &Search{table: t, ahead: make([]ahead, len(t.texts))}
}

// Reset turns to another line, which must not change while it is searched.
func (s *Search) Reset(line []byte) {
	if s.table == nil {
		*s = *known.Search()
	}
	s.line, s.begin, s.unopened, s.list.at = line, 0, 0, -1
	s.exception, s.traceback.next, s.word = listed{}, -1, -1
	s.table.marks().Find(line, &s.marks)
	s.texts = s.marks.Found()
	for i, number := range s.texts {
		if number >= len(s.ahead) { // one that formats need, and so are all after it
			s.texts = s.texts[:i]
			break
		}
		s.ahead[number].found, s.ahead[number].clear = false, 0
	}
	s.sentence, s.closedIDs = unsearched, unsearched
	s.left = leastLook + lookPerByte*len(line)
}

// Begin says where the program's own words begin in the line at hand, after the prefixes of loggers. Some frames are told by having
// these for themselves.
func (s *Search) Begin(at int) { s.begin, s.word = at, -1 }

// wordsBegin returns where the first of the program's own words stands in the line at hand.
func (s *Search) wordsBegin() int {
	if s.word < 0 {
		s.word = scan.Spaces(s.line, s.begin)
	}
	return s.word
}

// Spent reports whether a line held so much that is almost a frame that the search ended before the line did.
func (s *Search) Spent() bool { return s.left < 0 }

// spend counts bytes that a reader looks at, and reports whether it may.
func (s *Search) spend(n int) bool {
	s.left -= n
	return s.left >= 0
}

// spendFast is spend for bytes that are looked at 16 at a time.
func (s *Search) spendFast(n int) bool { return s.spend(n>>4 + 1) }

// lastIndex is bytes.LastIndex.
func (s *Search) lastIndex(b, sep []byte) int {
	i := bytes.LastIndex(b, sep)
	s.spend(len(b) - max(0, i))
	return i
}

const (
	// minFrame is the length of the shortest frame in bytes, `pc=0x1`.
	minFrame = 6
	// leastLook and lookPerByte bound the bytes that readers look at to tell a frame: some look back or ahead by maxModule. What
	// logs hold takes a tenth of that (TestLook).
	leastLook   = 1 << 12
	lookPerByte = 8
)

// lastIndexByte is bytes.LastIndexByte.
func (s *Search) lastIndexByte(b []byte, c byte) int {
	i := bytes.LastIndexByte(b, c)
	s.spend(len(b) - max(0, i))
	return i
}

// Next returns the first frame at or after from, nil where there is none; from must not go back. The Frame is good until
// the next call. It allocates nothing.
func (s *Search) Next(from int) *Frame {
	limit := len(s.line)
	if limit-from < minFrame {
		return nil
	}
	var first *Frame
	for _, i := range s.texts {
		// A frame that is found bounds the search for those before it; those of rare marks stand alone.
		if first != nil && (limit-from < minFrame || i >= otherTexts) {
			break
		}
		a := &s.ahead[i]
		if a.found && a.next.Whole.Start < from {
			a.found = false
		}
		if !a.found {
			s.scan(i, from, limit)
		}
		if a.found && (first == nil || a.next.Whole.Start < limit) {
			first, limit = &a.next, a.next.Whole.Start
		}
	}
	return first
}

// scan looks for the next frame of a text in line[from:limit].
func (s *Search) scan(i, from, limit int) {
	line, a, text := s.line[:limit], &s.ahead[i], &s.table.texts[i]
	at := max(from, a.clear)
	for s.spend(1) {
		if at = s.marks.Next(i, at); at < 0 || at+len(text.literal) > limit {
			a.clear = max(a.clear, limit)
			return
		}
		if i == hexText {
			a.found = s.readHex(line, at, from, &a.next)
		} else {
			a.found = s.readAny(text.formats, line, at, from, &a.next)
		}
		if s.Spent() {
			break // what was read beyond the budget does not count
		}
		if a.found {
			return
		}
		at++
	}
	a.found, a.clear = false, len(s.line)
}

// readAny asks one format after another.
func (s *Search) readAny(formats []row, line []byte, at, from int, f *Frame) bool {
	for i := range formats {
		if format := &formats[i]; s.has(format, at) && format.Read(s, line, at, from, f) {
			f.Family = format.Name
			return true
		}
	}
	return false
}

// has reports whether the text that a format needs stands before line[at].
func (s *Search) has(r *row, at int) bool {
	if r.needs > 0 {
		s.needed = s.marks.Last(r.needs, at)
	}
	return r.needs == 0 || s.needed >= 0
}

// readHex asks those formats that the bytes beside the number at line[at] allow.
func (s *Search) readHex(line []byte, at, from int, f *Frame) bool {
	before := byte(' ')
	if at > 0 {
		before = line[at-1]
	}
	may := s.table.byHex[before]
	if digit := at + len("0x"); len(may) == 0 || digit == len(line) || !scan.IsHex(line[digit]) {
		return false
	}
	var next byte
	if before == '+' {
		next = nextByte(line, at)
	}
	for i := range may {
		format, start := &may[i], at
		if format.Next != 0 && format.Next != next || !s.has(format, at) {
			continue
		}
		if n := len(format.Mark) - len("0x"); n > 1 || before == '+' {
			if start -= n; start < from || n > 1 && !scan.Has(line, start, format.Mark) {
				continue
			}
		}
		if format.Read(s, line, start, from, f) {
			f.Family = format.Name
			return true
		}
	}
	return false
}

// nextByte returns the byte after the number at line[at], 0 at the end.
func nextByte(line []byte, at int) byte {
	if at = scan.HexEnd(line, at+len("0x")); at == len(line) {
		return 0
	}
	return line[at]
}

// The texts that readers look for in a line.
var (
	hexPrefix   = []byte("0x")
	plus0x      = []byte("+0x")
	plusSpace0x = []byte("+ 0x")
	offset0x    = []byte("offset=0x")
)
