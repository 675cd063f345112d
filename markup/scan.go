// Package markup finds symbolizer markup, {{{tag:field:…}}}, in the lines of a log and reads its fields.
//
// scan.go finds elements. grammar.go states the fields of each tag, as a grammar for participle, which also explains what is
// wrong with a malformed element. When the program starts, layout.go makes a table from the same grammar, by which the fields of
// every line are read without allocation. A fuzz test compares the two. fields.go has the fields of presentation and of context
// elements, and reads a value for the table and for the grammar.
package markup

import "bytes"

// Tag is the kind of an element.
type Tag uint8

// The tags of the symbolizer markup format. Only Reset, Module and MMap change the context.
const (
	Unknown  Tag = iota // a well-formed tag, a-z, that is none of the following
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
	// Body is the text between the tag's colon and the closing braces; nil where there is no colon.
	Body []byte
	// BodyStart is the offset of Body in the line.
	BodyStart int
	// Alias is set where the element is written <<<…>>>.
	Alias bool
	// Terse asks the readers of fields for ErrMalformed in place of an error that says what is wrong: to find that takes a
	// thousand times as long as to see that something is.
	Terse bool
}

// Contextual reports whether the element changes the context: reset, module and mmap do.
func (e *Element) Contextual() bool { return e.Tag == Reset || e.Tag == Module || e.Tag == MMap }

var (
	openBraces, closeBraces = []byte("{{{"), []byte("}}}")
	openAngles, closeAngles = []byte("<<<"), []byte(">>>")
)

// window is how far ahead, in bytes, one kind of opening is looked for before the other kind is. It keeps a line that
// holds thousands of the one kind and none of the other from being scanned to its end for every element.
const window = 4096

// maxTorn bounds how many elements that were cut short by another one are looked into before the next closing braces.
const maxTorn = 64

// Next finds the first element of line that starts at or after from.
//
// An element reaches from "{{{" to the first "}}}" after it; nesting is not known, and an opening that is never closed is
// text. So is one whose tag is empty or has anything but a-z. Then the search goes on at the opening's second brace, so
// that {{{{bt:0:0x1}}}} and "{{{x {{{bt:0:0x1}}}" still have their inner element. For the same reason an element that could
// only be passed on as it is, because its tag is unknown or its fields are malformed, yields to an opening inside it:
// two processes wrote at once, and the one that was not torn is good.
//
// <<<…>>> is an element only where its tag is known and its fields are well formed: logs hold conflict markers, heredocs
// and C++.
func Next(line []byte, from int) (e Element, ok bool) {
	s := scanner{line: line, brace: -1, angle: -1}
	for at, alias := opening(line, from); at >= 0; at, alias = opening(line, at+1) {
		if s.element(&e, at, alias) {
			return e, true
		}
		if s.brace == len(line) && s.angle == len(line) {
			break // nothing that follows is ever closed
		}
	}
	return Element{}, false
}

// opening returns the offset of the first "{{{" or "<<<" at or after from, and whether it is the latter; -1 is none.
func opening(line []byte, from int) (at int, alias bool) {
	for from = max(from, 0); from < len(line); {
		end := min(from+window, len(line))
		w := line[from:end]
		brace := bytes.Index(w, openBraces)
		if brace >= 0 {
			w = w[:brace]
		}
		if angle := bytes.Index(w, openAngles); angle >= 0 {
			return from + angle, true
		}
		if brace >= 0 {
			return from + brace, false
		}
		if end == len(line) {
			break
		}
		from = end - 2 // an opening may lie across the window's end
	}
	return -1, false
}

// scanner remembers, for one call of Next, where the next closings are, so that a line of many openings is searched for
// them once. An offset of -1 is not known yet, one of len(line) is none.
type scanner struct {
	line         []byte
	brace, angle int
	torn         int
}

// element reads the element whose opening is at an offset, and reports whether it is one.
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
		return e.Tag != Unknown && e.plain() && (e.wellFormed() || e.isDump())
	}
	return !s.givesWay(e)
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

// givesWay reports whether a {{{ element is better read as text before another opening in its body.
func (s *scanner) givesWay(e *Element) bool {
	if s.torn == maxTorn || !bytes.Contains(e.Body, openBraces) || e.wellFormed() {
		return false
	}
	s.torn++
	return true
}

// plain reports whether the body is free of openings.
func (e *Element) plain() bool {
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
