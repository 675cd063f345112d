package scan

import "bytes"

// Literal is a text without which a line means nothing to a recognizer. A stream is searched for the literals of all recognizers in
// one pass, with the machine's vector instructions; only lines that hold one are looked at.
type Literal struct {
	// Text is the literal. AnyNumber stands for `#` and any digit.
	Text string
	// Pair is the offset in Text of the two bytes that the vector search looks for: rare ones.
	Pair int
	// Set is the set of pairs, 0 to 7, that this one is in. Literals share a set if neither the bytes of their pairs nor the halves of
	// these bytes make up other pairs that are frequent in logs.
	Set uint8
	// When says in which states of the reader the literal counts.
	When When
}

// AnyNumber is the text that stands for `#` and any digit.
const AnyNumber = "#0"

// When is a set of states in which a literal counts.
type When uint8

// The states of a reader.
const (
	Always      When = 1 << iota
	Renumbering      // frames without a module count: their numbers move
	Absolute         // mappings of a process are known: absolute addresses count
	Coloring         // the log's own colors must be known, to be restored after those that are added
)

// In reports whether line holds the literal.
func (l *Literal) In(line []byte) bool {
	if l.Text != AnyNumber {
		return bytes.Contains(line, []byte(l.Text))
	}
	for i, c := range line {
		if c == '#' && i+1 < len(line) && IsDigit(line[i+1]) {
			return true
		}
	}
	return false
}
