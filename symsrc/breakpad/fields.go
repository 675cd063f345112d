package breakpad

import "bytes"

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
