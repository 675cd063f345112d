package parse

import (
	"bytes"

	"qss-filter/filter/prefix"
	"qss-filter/filter/scan"
)

// ReadPrefix returns the loggers' prefixes of a text, valid until the next call.
func (p *Parser) ReadPrefix(text []byte) *prefix.Prefix {
	p.Prefix = p.reader.Read(text)
	p.Long = p.Long || p.Prefix.Kind == prefix.LogcatLong
	return &p.Prefix
}

// Repeats reports whether a line begins with a prefix that came before, at another time; see prefix.Reader.Again.
func (p *Parser) Repeats(h *prefix.Head, line []byte) bool { return p.reader.Again(h, line) }

// recent is how many bytes at the end of passing lines are searched for headers: the last message of logcat -v long.
const recent = 4 << 10

// Skip looks at n lines without frames, the first of that number. They may have the header of logcat -v long, which stands on a line of its
// own above the lines of its process, or be of a document of XML.
func (p *Parser) Skip(lines []byte, number, n int) {
	p.skipXML(number, n, lines)
	if n := len(lines) - recent; n > 0 {
		lines = lines[n+bytes.IndexByte(lines[n:], '\n')+1:]
	}
	if !p.Long && !bytes.Contains(lines, longHeader) {
		return
	}
	for len(lines) > 0 {
		n := bytes.IndexByte(lines, '\n') + 1
		if n == 0 {
			n = len(lines)
		}
		if body, _ := scan.CutEnd(lines[:n]); len(body) == 0 || prefix.IsHeader(body) {
			p.Long = true
			p.reader.Read(body)
		}
		lines = lines[n:]
	}
}

// longHeader begins a header of logcat -v long.
var longHeader = []byte("[ ")
