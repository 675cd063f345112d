// Package parse reads a line: its loggers' prefixes, its markup, its frames. It knows no process and no file.
//
//	line.go      a line, segment by segment
//	parser.go    the Parser, and what it keeps from line to line: headers of logcat -v long
//	segment.go   a text that is treated as one line
//	prefix.go    loggers' prefixes
//	elements.go  symbolizer markup
//	dump.go      a dump of registers over several lines
//	find.go      frames of other formats, without escape sequences
//	ahead.go     frames of lines that were looked at ahead
//	found.go     the frames of texts that come again
//	json.go      the strings of a line that is a JSON object
//	xml.go       the texts of a document of XML
//	joint.go     lines that a logger has split
package parse

import (
	"unsafe"

	"qss-filter/filter/frame"
	"qss-filter/filter/prefix"
)

// Parser reads lines: their loggers' prefixes, their elements, their frames.
type Parser struct {
	// Frames and Elements are those of the text that was read last.
	Frames   []Frame
	Elements []Element
	reader   prefix.Reader
	// Prefix has the loggers' prefixes of the text at hand.
	Prefix prefix.Prefix
	// Long is set once there were headers of logcat -v long: lines without a prefix may belong to one.
	Long bool
	// Quoted is set inside a JSON string.
	Quoted bool
	// Stacked is set where a stack of React Native's without the names of scripts may go on.
	Stacked bool
	// Ahead, if not nil, has the frames of lines that were looked at ahead.
	Ahead  *Ahead
	search frame.Search
	found  found
	line   Line
	whole  []byte // the text of a part after what has left of the parts before it
	// strip and unquoted are texts without escapes. stripPos and unquotedPos are the offsets of their bytes in the text.
	strip       []byte
	stripPos    []int32
	unquoted    []byte
	unquotedPos []int32
	documents   documents
	object      object
}

// Footprint returns how many bytes of memory the parser keeps between lines.
func (p *Parser) Footprint() int {
	return p.Ahead.footprint() + cap(p.unquoted) + cap(p.strip) + cap(p.whole) + p.found.footprint() + cap(p.object.text) + (cap(p.object.all)+cap(p.object.narrow))*int(unsafe.Sizeof(piece{})) + 4*(cap(p.stripPos)+cap(p.unquotedPos))
}
