// Package parse reads what a line says: who wrote it, its markup, its frames. It knows no process and no file.
//
//	parser.go    the Parser, and what it keeps from line to line: headers of logcat -v long
//	segment.go   a text that is treated as one line
//	prefix.go    loggers' prefixes
//	elements.go  symbolizer markup; dump.go, a dump of registers over several lines
//	find.go      frames of other formats, with escape sequences out of sight
//	json.go      the strings of a line that is a JSON object
package parse

import (
	"qss-filter/filter/frame"
	"qss-filter/filter/prefix"
)

// Parser reads what lines say: who wrote them, their elements, their frames.
type Parser struct {
	// Frames and elems are those of the text that was read last.
	Frames   []Frame
	Elements []Element
	// reader reads loggers' prefixes, and prefix is that of the text at hand. long is set once headers of logcat -v long were met:
	// lines without a prefix may be theirs.
	reader prefix.Reader
	Prefix prefix.Prefix
	Long   bool
	// Quoted is set inside a JSON string.
	Quoted bool
	search frame.Search
	// Texts without escapes, and where their bytes stand in the text.
	strip       []byte
	stripPos    []int32
	unquoted    []byte
	unquotedPos []int32
}

// Footprint returns how many bytes of memory the parser keeps between lines.
func (p *Parser) Footprint() int {
	return cap(p.unquoted) + cap(p.strip) + 4*(cap(p.stripPos)+cap(p.unquotedPos))
}
