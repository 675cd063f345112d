package filter

import (
	"errors"

	"qss-filter/markup"
)

// readElements reads the elements of a text, and says which are malformed.
func (f *Filter) readElements(text []byte) {
	f.parser.ReadElements(text, f.faults.left(f.line, f.objects != nil))
	for i := range f.parser.Elements {
		if err := f.parser.Elements[i].Err; err != nil && f.malformed(text, err) {
			f.out.Malformed(err)
		}
	}
}

// malformed warns of a bad element, with line, column, and a caret under it: once per cause, since a log repeats itself. explained is
// false for one of too many.
func (f *Filter) malformed(text []byte, err error) (explained bool) {
	if errors.Is(err, markup.ErrMalformed) || f.faults.left(f.line, f.objects != nil) <= 0 {
		return false
	}
	f.faults.explained(f.line)
	cause := err.Error()
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		cause = fe.Msg
	}
	f.warn(cause, markup.Explain(f.line, text, err))
	return true
}

// faults counts the malformed elements that were explained, in all and of one line: an explanation costs a thousand times what
// the element does. It counts the bytes of long mangled names of a line, too, whose time grows with the square of their length.
type faults struct{ all, line, ofLine, mangledLine, mangled int }

const (
	maxFaults       = 10_000 // of a stream, where they are said once per cause
	maxFaultsOfLine = 16
	longMangled     = 512
	maxMangled      = 32 << 10 // of the long names of a line
)

// demangles reports whether one more mangled name of a line, of n bytes, is made readable, and counts it.
func (c *faults) demangles(line, n int) bool {
	if n <= longMangled {
		return true
	}
	if c.mangledLine != line {
		c.mangledLine, c.mangled = line, 0
	}
	c.mangled += n
	return c.mangled <= maxMangled
}

// left returns how many more malformed elements of a line are explained. In records each line has its own.
func (c *faults) left(line int, recorded bool) int {
	n := maxFaultsOfLine
	if c.line == line {
		n -= c.ofLine
	}
	if !recorded {
		n = min(n, maxFaults-c.all)
	}
	return n
}

// explained counts an explanation.
func (c *faults) explained(line int) {
	if c.line != line {
		c.line, c.ofLine = line, 0
	}
	c.all++
	c.ofLine++
}
