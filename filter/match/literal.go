package match

import "bytes"

// Literal is a text without which a line means nothing to a recognizer.
type Literal struct {
	// Text is the literal, at least two bytes, or one with an After.
	Text string
	// After is what the byte after the text must be.
	After Class
	// When says in which states of the reader the literal counts.
	When When
	// Fits reports whether the literal at line[at:] may mean something, by what stands around it in the line, which has no end. It is right
	// to report true. nil stands for any surroundings. A line with escapes is asked about as it is, and without them.
	Fits func(line []byte, at int) bool
	// Hides is set for the beginning of a reference of XML, which may hide a part of any other literal: it means something where the line without its
	// references holds one.
	Hides bool
}

// Class is a class of bytes.
type Class uint8

// The classes of bytes.
const (
	Any   Class = iota
	Digit       // a decimal digit
	Hex         // a hexadecimal digit
)

// Holds reports whether a byte is of the class.
func (c Class) Holds(b byte) bool {
	switch c {
	case Digit:
		return b-'0' <= 9
	case Hex:
		return b-'0' <= 9 || b|0x20 >= 'a' && b|0x20 <= 'f'
	default:
		return true
	}
}

// When is a set of states in which a literal counts.
type When uint8

// The states of a reader.
const (
	Always      When = 1 << iota
	Renumbering      // frames without a module count: their numbers move
	Absolute         // mappings of a process are known: absolute addresses count
	Coloring         // the log's own colors must be known, to be restored after those that are added
	Seeking          // maps of names of Java may be found, once there are frames of it
	Retracing        // maps of names of Java are known
	Document         // the lines are of a document of XML
	Stacked          // a stack of React Native's without the names of scripts has begun
)

// States is the number of sets of states.
const States = 1 << 8

// place is where the bytes stand in a literal that are searched for, and the set that they are in.
type place struct{ at, set int }

// Placed reports whether a place was chosen for the literal, and which. Others are found as well, but may stop the search often.
func (l *Literal) Placed() (at, set int, ok bool) {
	p, ok := places[l.Text]
	return p.at, p.set, ok
}

// Bytes returns what the literal may have at an offset of its text, or after it.
func (l *Literal) Bytes(i int) []byte {
	switch {
	case i < len(l.Text):
		return []byte{l.Text[i]}
	case i > len(l.Text):
		return members[Any]
	default:
		return members[l.After]
	}
}

// members are the bytes of each class.
var members = func() (of [Hex + 1][]byte) {
	for class := range of {
		for c := range 256 {
			if Class(class).Holds(byte(c)) {
				of[class] = append(of[class], byte(c))
			}
		}
	}
	return of
}()

// stands reports whether the text of the literal stands at b[at:], with the byte that it needs after it.
func (l *Literal) stands(b []byte, at int) bool {
	if at < 0 || len(b)-at < len(l.Text) || string(b[at:at+len(l.Text)]) != l.Text {
		return false
	}
	end := at + len(l.Text)
	return l.After == Any || end < len(b) && l.After.Holds(b[end])
}

// fits reports whether the literal at line[at:] may mean something.
func (l *Literal) fits(line []byte, at int, p *plain) bool {
	return l.Fits == nil || l.Fits(line, at) || p.fits(l, line, at)
}

// In reports whether line, without its end, holds the literal where it may mean something.
func (l *Literal) In(line []byte) bool {
	var p plain
	defer p.release()
	for at := 0; ; at++ {
		i := bytes.Index(line[at:], []byte(l.Text))
		if i < 0 {
			return false
		}
		if at += i; l.stands(line, at) && l.fits(line, at, &p) {
			return true
		}
	}
}
