package parse

import (
	"bytes"

	"qss-filter/filter/match"
)

// Segment is a piece of text that is treated as one line: a line without its end, or a part of a JSON string.
type Segment struct {
	Text []byte
	// Sep stands between the lines that a frame with inlined functions becomes.
	Sep []byte
	// JSON is set in a string of JSON, and XML says where in a document of XML the text stands: added text must be escaped.
	JSON bool
	XML  XML
	// Start is where the program's own words begin after the loggers' prefixes. End is where they end and a logger's suffix
	// begins. Either is 0 if there are no other words there.
	Start, End int
	// Left is how much of Text has left with earlier parts of a line that a logger has split, and Settled up to where all of that is
	// done. If More is set, frames that begin at Wait or after it wait for the next part.
	Left, Settled, Wait int
	More                bool
}

// Own returns the text without what has left.
func (s *Segment) Own() []byte { return s.Text[s.Left:] }

// MarkupWords are in a text that may hold a markup element.
var MarkupWords = match.Subscribe(string(OpenBraces), string(openAngles))

// HasMarkup reports whether text may hold a markup element.
func HasMarkup(text []byte) bool {
	return bytes.Contains(text, OpenBraces) || bytes.Contains(text, openAngles)
}

// OpenBraces begins an element of markup.
var OpenBraces = []byte("{{{")

// openAngles begins one in its other form.
var openAngles = []byte("<<<")
