package breakpad

import (
	"bytes"
	"math"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// row is a line record: which line some code is of. Its zero value covers nothing.
type row struct{ lo, size, line, file uint64 }

// call is a function inlined into another one, by the part of its code that covers the address.
type call struct{ lo, line, file, origin uint64 }

// maxNested bounds how deep calls are inlined into each other, as symsrc/object does.
const maxNested = 1000

// function reads the records of a function.
func (f *File) function(r *record, addr uint64, q *budget.Question) ([]symsrc.Frame, error) {
	head := f.fields(r)
	head.skip("m")
	head.hex()
	head.hex()
	head.hex()
	var at row
	var memory [16]call
	calls := memory[:0]
	err := f.below(r, q, func(x row) {
		if addr-x.lo < x.size {
			at = x
		}
	}, func(x fields) { calls = inlined(x, addr, calls) })
	if err != nil {
		return nil, err
	}
	approx := false
	if at.size > 0 && at.line == 0 {
		scope := r.addr
		if n := len(calls); n > 0 {
			scope = calls[n-1].lo
		}
		if approx, err = f.before(r, q, &at, scope); err != nil {
			return nil, err
		}
	}
	frames, err := f.chain(head.rest(), at, calls, q)
	if err != nil {
		return nil, err
	}
	frames[0].Approx = approx && frames[0].Line > 0
	return frames, nil
}

// counted is how much of a function's records is read between two looks at the budget, and stepsPerByte what a byte of them takes.
const (
	counted      = 16 << 10
	stepsPerByte = 4
)

// below goes over the records below a function.
func (f *File) below(r *record, q *budget.Question, line func(row), inline func(fields)) error {
	text := f.text[r.off:]
	if len(text) > maxFunction {
		text = text[:maxFunction]
	}
	told := len(text)
	for text = nextLine(text); len(text) > 0; text = nextLine(text) {
		if read := told - len(text); read > counted {
			if err := q.Spend(stepsPerByte * read); err != nil {
				return err
			}
			told = len(text)
		}
		x := fields{text: text}
		if x.skip("INLINE") {
			inline(x)
			continue
		}
		at := row{lo: x.hex(), size: x.hex(), line: x.decimal(), file: x.decimal()}
		if x.bad || len(x.text) == 0 {
			break // the function's records end, or what is read of them
		}
		line(at)
	}
	return q.Spend(stepsPerByte * (told - len(text)))
}

// before sets the line of a row without one to that of the nearest row before it, of the same file and of code from scope on: what
// symsrc/object does.
func (f *File) before(r *record, q *budget.Question, at *row, scope uint64) (found bool, err error) {
	var best row
	err = f.below(r, q, func(x row) {
		if x.lo < at.lo && x.lo+x.size > scope && x.line != 0 && x.file == at.file && (!found || x.lo > best.lo) {
			best, found = x, true
		}
	}, func(fields) {})
	if found {
		at.line = best.line
	}
	return found, err
}

// inlined takes an INLINE record where it covers the address: `depth line file origin`, and pairs of address and size. A call
// stands before those within it; of several of a depth the last one counts.
func inlined(x fields, addr uint64, calls []call) []call {
	depth := x.decimal()
	c := call{line: x.decimal(), file: x.decimal(), origin: x.decimal()}
	if x.bad || depth > uint64(len(calls)) || depth >= maxNested {
		return calls
	}
	for {
		lo, n := x.hex(), x.hex()
		if x.bad || len(x.text) == 0 { // the number may have been cut off
			return calls
		}
		if addr-lo < n {
			c.lo = lo
			return append(calls[:depth], c)
		}
	}
}

// chain makes the frames.
func (f *File) chain(outer []byte, at row, calls []call, q *budget.Question) ([]symsrc.Frame, error) {
	frames := make([]symsrc.Frame, 0, len(calls)+1)
	known, file, line := at.size > 0, at.file, at.line
	add := func(frame symsrc.Frame) error {
		if known {
			frame.File = f.files.text(f.text, file)
		}
		if frame.File != "" && line <= math.MaxInt32 {
			frame.Line = int(line)
		}
		frames = append(frames, frame)
		return q.Say(len(frame.Func) + len(frame.File))
	}
	for i := len(calls) - 1; i >= 0; i-- {
		c := &calls[i]
		if err := add(named(f.origins.text(f.text, c.origin))); err != nil {
			return nil, err
		}
		known, file, line = true, c.file, c.line
	}
	return frames, add(named(string(outer)))
}

// fields reads the fields of the line at the start of a text, which single blanks part. What is no such field makes it bad, and
// all that are read afterwards are 0.
type fields struct {
	text []byte
	bad  bool
}

// fields are those of a record behind its kind.
func (f *File) fields(r *record) fields {
	x := fields{text: f.text[r.off:]}
	if !x.skip("FUNC") {
		x.skip("PUBLIC")
	}
	return x
}

// skip goes over the word that is the next field, and reports whether it is.
func (x *fields) skip(word string) bool {
	if n := len(word); len(x.text) > n && string(x.text[:n]) == word && x.text[n] == ' ' {
		x.text = x.text[n+1:]
		return true
	}
	return false
}

// hex reads a hexadecimal number of 64 bits.
func (x *fields) hex() uint64 { return x.number(16) }

// decimal reads a decimal number of 64 bits.
func (x *fields) decimal() uint64 { return x.number(10) }

func (x *fields) number(base uint64) (v uint64) {
	if x.bad {
		return 0
	}
	i := 0
	for ; i < len(x.text); i++ {
		d := uint64(digits[x.text[i]])
		if d >= base {
			break
		}
		if v > (^uint64(0)-d)/base {
			x.bad = true
			return 0
		}
		v = v*base + d
	}
	if i == 0 || i < len(x.text) && x.text[i] > ' ' {
		x.bad = true
		return 0
	}
	if i < len(x.text) && x.text[i] == ' ' {
		i++
	}
	x.text = x.text[i:]
	return v
}

// digits is the value of each hexadecimal digit, and 0xff of every other byte.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range 16 {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = byte(i), byte(i)
	}
	return t
}()

// rest is what is left of the line, as much as tells that it is no name where it is longer than one; nil where it is bad.
func (x *fields) rest() []byte {
	if x.bad {
		return nil
	}
	s := x.text[:min(len(x.text), maxName+len("?\r\n"))]
	if n := bytes.IndexByte(s, '\n'); n >= 0 {
		s = s[:n]
	}
	return bytes.TrimSuffix(s, []byte("\r"))
}

// nextLine is the text from the next line on.
func nextLine(text []byte) []byte {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return text[n+1:]
	}
	return nil
}

// wholeLines is the text without a last line that has no end: it may have been cut off within a number.
func wholeLines(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }
