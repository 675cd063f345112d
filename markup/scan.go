// Package markup finds symbolizer markup, {{{tag:field:…}}}, in the lines of a log and reads its fields.
//
// scan.go finds elements. grammar.go specifies the fields of each tag, as a grammar for participle, which parses malformed elements to
// explain their errors. At program start, layout.go derives a table from the grammar, with which the fields of each line are read without
// allocation. A fuzz test compares both. fields.go has the fields of presentation and context elements, and the conversion of values.
package markup

import "bytes"

// Tag is the kind of an element.
type Tag uint8

// The tags of the symbolizer markup format. Only Reset, Module and MMap change the context.
const (
	Unknown  Tag = iota // any other tag of letters a-z
	Reset               // {{{reset}}}
	Module              // {{{module:id:name:elf:build ID}}}
	MMap                // {{{mmap:address:size:load:module ID:mode:address in the module}}}
	BT                  // {{{bt:frame number:address:type}}}
	PC                  // {{{pc:address:type}}}
	Data                // {{{data:address}}}
	Symbol              // {{{symbol:linkage name}}}
	Hexdict             // {{{hexdict:key:value:key:value}}}
	Dumpfile            // {{{dumpfile:type:name}}}
)

// An Element is one markup element of a line. Its slices share the line's memory.
type Element struct {
	// Start and End are the element's span in the line, braces included.
	Start, End int
	Tag        Tag
	// Name is the tag as written.
	Name []byte
	// Body is the text between the tag's colon and the closing braces; nil if there is no colon.
	Body []byte
	// BodyStart is the offset of Body in the line.
	BodyStart int
	// Alias is set if the element is written <<<…>>>.
	Alias bool
	// Terse makes the methods that return fields return ErrMalformed in place of a *FieldError, which takes a thousand times as long
	// to find as the fact that the element is malformed.
	Terse bool
}

// Contextual reports whether the element changes the context: reset, module and mmap do.
func (e *Element) Contextual() bool { return e.Tag == Reset || e.Tag == Module || e.Tag == MMap }

var (
	openBraces, closeBraces = []byte("{{{"), []byte("}}}")
	openAngles, closeAngles = []byte("<<<"), []byte(">>>")
)

// window is the number of bytes in which both kinds of openings are searched before the search continues. Without it, a line with
// thousands of openings of one kind and none of the other would be scanned to its end for every element.
const window = 4096

// maxTorn bounds the number of interrupted elements that are examined in one call of Next.
const maxTorn = 64

// Next returns the first element of line that starts at or after from.
//
// An element extends from "{{{" to the first "}}}" after it. There is no nesting. An opening that is never closed is text, as is one whose
// tag is empty or has other characters than a-z. The search then continues at the opening's second brace, so that the inner elements of
// {{{{bt:0:0x1}}}} and "{{{x {{{bt:0:0x1}}}" are found. For the same reason, an element that would be unchanged in the output, because its
// tag is unknown or its fields are malformed, is text if there is another opening in it: two processes wrote at the same time, and the
// inner element is complete.
//
// <<<…>>> is an element only if its tag is known and its fields are well formed, because logs contain conflict markers, here-documents
// and C++.
func Next(line []byte, from int) (e Element, ok bool) {
	s := scanner{line: line, brace: -1, angle: -1}
	for at, alias := opening(line, from); at >= 0; at, alias = opening(line, at+1) {
		if s.element(&e, at, alias) {
			return e, true
		}
		if s.brace == len(line) && s.angle == len(line) {
			break // no further opening is closed
		}
	}
	return Element{}, false
}

// opening returns the offset of the first "{{{" or "<<<" at or after from, or -1, and whether it is "<<<". Of more than three in a row it is
// the last one: no tag begins so.
func opening(line []byte, from int) (at int, alias bool) {
	for from = max(from, 0); from < len(line); {
		end := min(from+window, len(line))
		w := line[from:end]
		brace := bytes.Index(w, openBraces)
		if brace >= 0 {
			w = w[:brace]
		}
		if angle := bytes.Index(w, openAngles); angle >= 0 {
			return lastOf(line, from+angle, '<'), true
		}
		if brace >= 0 {
			return lastOf(line, from+brace, '{'), false
		}
		if end == len(line) {
			break
		}
		from = end - 2 // an opening may extend across the end of the window
	}
	return -1, false
}

// lastOf returns the offset of the last three of those bytes in a row, of which the first is at an offset.
func lastOf(line []byte, at int, c byte) int {
	for at+len(openBraces) < len(line) && line[at+len(openBraces)] == c {
		at++
	}
	return at
}

// scanner is the state of one call of Next. It stores the offsets of the next closings, so that a line with many openings is searched for
// them once. An offset of -1 is not known yet; len(line) means that there is none.
type scanner struct {
	line         []byte
	brace, angle int
	torn         int // number of interrupted elements; see isTorn
}

// element sets e to the element whose opening is at an offset. It returns false if there is no element.
func (s *scanner) element(e *Element, at int, alias bool) bool {
	tag := at + 3
	name := tagEnd(s.line, tag)
	if name == tag || name == len(s.line) {
		return false
	}
	end := s.closing(tag, alias)
	if end == len(s.line) || name != end && s.line[name] != ':' {
		return false
	}
	*e = Element{Start: at, End: end + 3, Tag: tagOf(s.line[tag:name]), Name: s.line[tag:name], BodyStart: name, Alias: alias}
	if name < end {
		e.BodyStart = name + 1
		e.Body = s.line[name+1 : end : end]
	}
	if alias {
		return e.Tag != Unknown && e.hasNoOpening() && (e.wellFormed() || e.isDump())
	}
	return !s.isTorn(e)
}

// closing returns the offset of the first closing at or after from.
func (s *scanner) closing(from int, alias bool) int {
	known, pattern := &s.brace, closeBraces
	if alias {
		known, pattern = &s.angle, closeAngles
	}
	if *known < from {
		*known = len(s.line)
		if i := bytes.Index(s.line[from:], pattern); i >= 0 {
			*known = from + i
		}
	}
	return *known
}

// isTorn reports whether a {{{ element was probably interrupted by another one, whose opening is in its body.
func (s *scanner) isTorn(e *Element) bool {
	if s.torn == maxTorn || !bytes.Contains(e.Body, openBraces) || e.wellFormed() {
		return false
	}
	s.torn++
	return true
}

// hasNoOpening reports whether the body contains no opening.
func (e *Element) hasNoOpening() bool {
	at, _ := opening(e.Body, 0)
	return at < 0
}

// tagEnd returns the offset of the first byte at or after i that is not a-z.
func tagEnd(line []byte, i int) int {
	for i < len(line) && 'a' <= line[i] && line[i] <= 'z' {
		i++
	}
	return i
}

// tagOf returns the tag with a name, or Unknown.
func tagOf(name []byte) Tag {
	switch string(name) {
	case "bt":
		return BT
	case "pc":
		return PC
	case "data":
		return Data
	case "symbol":
		return Symbol
	case "module":
		return Module
	case "mmap":
		return MMap
	case "reset":
		return Reset
	case "hexdict":
		return Hexdict
	case "dumpfile":
		return Dumpfile
	}
	return Unknown
}
