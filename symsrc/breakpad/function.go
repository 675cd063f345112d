package breakpad

import (
	"bytes"
	"math"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// row is a line record. Its zero value covers no addresses.
type row struct{ lo, size, line, file uint64 }

// call is an inlined call; lo is the start of its range that covers the address.
type call struct{ lo, line, file, origin uint64 }

// maxNested bounds the depth of inlined calls, as in symsrc/object.
const maxNested = 1000

// function returns the frames of an address in a function.
func (f *File) function(r *record, addr uint64, q *budget.Query) ([]symsrc.Frame, error) {
	head := f.fields(r)
	head.skip("m")
	head.hex()
	head.hex()
	head.hex()
	var at row
	var memory [16]call
	calls := memory[:0]
	err := f.eachRecord(r, q, func(x row) {
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
		if approx, err = f.lineBefore(r, q, &at, scope); err != nil {
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

// countEvery is the number of bytes of records that are read before they are counted, and stepsPerByte the steps per byte.
const (
	countEvery   = 16 << 10
	stepsPerByte = 4
)

// eachRecord calls line and inline for the records that belong to a function.
func (f *File) eachRecord(r *record, q *budget.Query, line func(row), inline func(fields)) error {
	text := f.text[r.off:]
	if len(text) > maxFunction {
		text = text[:maxFunction]
	}
	counted := len(text)
	for text = nextLine(text); len(text) > 0; text = nextLine(text) {
		if read := counted - len(text); read > countEvery {
			if err := q.Spend(stepsPerByte * read); err != nil {
				return err
			}
			counted = len(text)
		}
		x := fields{text: text}
		if x.skip("INLINE") {
			inline(x)
			continue
		}
		at := row{lo: x.hex(), size: x.hex(), line: x.decimal(), file: x.decimal()}
		if x.bad || len(x.text) == 0 {
			break // the end of the function's records, or of the part that is read
		}
		line(at)
	}
	return q.Spend(stepsPerByte * (counted - len(text)))
}

// lineBefore sets the line of a row with line 0 to that of the nearest row before it that has the same file and is not before scope, as in
// symsrc/object. It reports whether there is one.
func (f *File) lineBefore(r *record, q *budget.Query, at *row, scope uint64) (found bool, err error) {
	var best row
	err = f.eachRecord(r, q, func(x row) {
		if x.lo < at.lo && x.lo+x.size > scope && x.line != 0 && x.file == at.file && (!found || x.lo > best.lo) {
			best, found = x, true
		}
	}, func(fields) {})
	if found {
		at.line = best.line
	}
	return found, err
}

// inlined adds the call of an INLINE record to calls if it covers the address. The fields are `depth line file origin` and pairs of address
// and size. A call precedes the calls nested in it; of several calls with one depth, the last one counts.
func inlined(x fields, addr uint64, calls []call) []call {
	depth := x.decimal()
	c := call{line: x.decimal(), file: x.decimal(), origin: x.decimal()}
	if x.bad || depth > uint64(len(calls)) || depth >= maxNested {
		return calls
	}
	for {
		lo, n := x.hex(), x.hex()
		if x.bad || len(x.text) == 0 { // the number may be truncated
			return calls
		}
		if addr-lo < n {
			c.lo = lo
			return append(calls[:depth], c)
		}
	}
}

// chain returns the frames of a function with the name outer and the calls inlined into it, the innermost one first.
func (f *File) chain(outer []byte, at row, calls []call, q *budget.Query) ([]symsrc.Frame, error) {
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
		return q.AddBytes(len(frame.Func) + len(frame.File))
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

// fields reads the fields of the first line of text, which are separated by single spaces. A malformed field sets bad, and all fields
// read afterwards are 0.
type fields struct {
	text []byte
	bad  bool
}

// fields returns the fields of a record after its keyword.
func (f *File) fields(r *record) fields {
	x := fields{text: f.text[r.off:]}
	if !x.skip("FUNC") {
		x.skip("PUBLIC")
	}
	return x
}

// skip skips the next field if it is word, and reports whether it was.
func (x *fields) skip(word string) bool {
	if n := len(word); len(x.text) > n && string(x.text[:n]) == word && x.text[n] == ' ' {
		x.text = x.text[n+1:]
		return true
	}
	return false
}

// hex reads a 64-bit hexadecimal number.
func (x *fields) hex() uint64 { return x.number(16) }

// decimal reads a 64-bit decimal number.
func (x *fields) decimal() uint64 { return x.number(10) }

// number reads a 64-bit number.
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

// digits maps each hexadecimal digit to its value, and every other byte to 0xff.
var digits = func() (t [256]byte) {
	for i := range t {
		t[i] = 0xff
	}
	for i := range 16 {
		t["0123456789abcdef"[i]], t["0123456789ABCDEF"[i]] = byte(i), byte(i)
	}
	return t
}()

// rest returns the rest of the line, truncated so that a name is still recognizable as longer than maxName; nil if bad is set.
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

// nextLine returns the text after the first line.
func nextLine(text []byte) []byte {
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		return text[n+1:]
	}
	return nil
}

// wholeLines returns the text without an unterminated last line, which may be truncated in a number.
func wholeLines(text []byte) []byte { return text[:bytes.LastIndexByte(text, '\n')+1] }
