package markup

import (
	"bytes"

	"qss-filter/filter/scan"
)

// PCType says how a code address came about.
type PCType uint8

const (
	Unmarked      PCType = iota // the element does not say
	Exact                       // "pc": the address of the instruction itself
	ReturnAddress               // "ra": the address after the call
)

// BTFields are the fields of a bt element.
type BTFields struct {
	// Num is the frame number, NumText its digits as written.
	Num     uint64
	NumText []byte
	// Addr is the address, AddrText its digits as written, with their 0x.
	Addr     uint64
	AddrText []byte
	Type     PCType
	// Message is what Fuchsia writes after the type ("from CFI") or in its place ("sp 0x3f540e65ef0"); nil where there is
	// none.
	Message []byte
}

// PCFields are the fields of a pc element.
type PCFields struct {
	Addr uint64
	Type PCType
}

// BT reads the fields of a bt element. A third field that is no type is a message, and so is all that follows the type.
// The error is a *FieldError.
func (e *Element) BT() (f BTFields, err error) {
	if !e.scanBT(&f) {
		return BTFields{}, e.explain()
	}
	return f, nil
}

// PC reads the fields of a pc element; fields after the type are ignored. The error is a *FieldError.
func (e *Element) PC() (PCFields, error) {
	var v [maxFields]value
	if !layouts[PC].scan(e.Body, &v) {
		return PCFields{}, e.explain()
	}
	return PCFields{v[0].number, TypeOf(v[1].of(e.Body))}, nil
}

// Data reads the address of a data element; further fields are ignored. The error is a *FieldError.
func (e *Element) Data() (uint64, error) {
	var v [maxFields]value
	if !layouts[Data].scan(e.Body, &v) {
		return 0, e.explain()
	}
	return v[0].number, nil
}

// Symbol reads the name in a symbol element, which may be empty; further fields are ignored. The error is a *FieldError.
func (e *Element) Symbol() ([]byte, error) {
	var v [maxFields]value
	if e.Body == nil || !layouts[Symbol].scan(e.Body, &v) {
		return nil, e.explain()
	}
	return v[0].of(e.Body), nil
}

// Dumpfile reads the type and the name of a dumpfile element. The name reaches to the element's end, for files' names hold colons;
// it may be empty. The error is a *FieldError.
func (e *Element) Dumpfile() (kind, name []byte, err error) {
	var v [maxFields]value
	if !layouts[Dumpfile].scan(e.Body, &v) {
		return nil, nil, e.explain()
	}
	return v[0].of(e.Body), v[1].of(e.Body), nil
}

// symbolEnd returns where the name ends that the body of a symbol element begins with: before its first colon. A mangled name has
// none of its own, but a readable one has: two of them between scopes, and any within the brackets of an Objective-C method.
func symbolEnd(body []byte) int {
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case i == 0 && isMangled(body):
			return colonOrEnd(body)
		case i == 1 && c == '[' && (body[0] == '-' || body[0] == '+'):
			if k := bytes.IndexByte(body, ']'); k > 0 {
				i = k
			}
		case c == ':' && i > 0 && i+2 < len(body) && body[i+1] == ':' && body[i+2] != ':':
			i++
		case c == ':':
			return i
		}
	}
	return len(body)
}

// isMangled reports whether a name begins as the mangled ones of C++, Rust, D or Microsoft's compiler do.
func isMangled(name []byte) bool {
	if name[0] == '?' || name[0] == '.' && len(name) > 1 && name[1] == '?' {
		return true
	}
	bare := bytes.TrimLeft(name, "_")
	return len(bare) < len(name) && len(bare) > 1 && (bare[0] == 'Z' || (bare[0] == 'R' || bare[0] == 'D') && bare[1]-'a' > 'z'-'a')
}

func colonOrEnd(body []byte) int {
	if i := bytes.IndexByte(body, ':'); i >= 0 {
		return i
	}
	return len(body)
}

// wellFormed reports whether the element has a known tag and all that the tag asks for. A name is not to be empty.
func (e *Element) wellFormed() bool {
	var v [maxFields]value
	if e.Tag == Unknown || !layouts[e.Tag].scan(e.Body, &v) {
		return false
	}
	switch e.Tag {
	case Symbol:
		return len(e.Body) > 0
	case Dumpfile:
		return v[1].end > v[1].start
	}
	return true
}

// isDump reports whether the element is a dump of registers.
func (e *Element) isDump() bool {
	d := layouts[e.Tag].dump
	return d != nil && d.scan(e.Body, new([maxFields]value))
}

func (e *Element) scanBT(f *BTFields) bool {
	var v [maxFields]value
	if !layouts[BT].scan(e.Body, &v) {
		return false
	}
	f.set(e.Body, &v)
	return true
}

func (f *BTFields) set(body []byte, v *[maxFields]value) {
	f.Num, f.NumText = v[0].number, v[0].of(body)
	f.Addr, f.AddrText = v[1].number, v[1].of(body)
	f.Type = TypeOf(v[2].of(body))
	if message := v[3].of(body); len(message) > 0 {
		f.Message = message
	}
}

var btStart = []byte("{{{bt:")

// BTLine reads a line that is a bt element and nothing else, without a message, such as "{{{bt:0:0x7f52731c130:pc}}}\n". end is the
// line's end. ok is false for any other line, and for one without an end.
func BTLine(line []byte) (f BTFields, end []byte, ok bool) {
	eol := len(line) - 1
	if !bytes.HasPrefix(line, btStart) || line[eol] != '\n' {
		return f, nil, false
	}
	if line[eol-1] == '\r' {
		eol--
	}
	close := eol - len(closeBraces)
	if close < len(btStart) || string(line[close:eol]) != "}}}" {
		return f, nil, false
	}
	var v [maxFields]value
	body := line[len(btStart):close]
	if !layouts[BT].scan(body, &v) || v[3].start > 0 || v[1].end-v[1].start < int32(len("0x0")) || body[v[1].start+1] != 'x' {
		return f, nil, false
	}
	f.set(body, &v)
	return f, line[eol:], true
}

// TypeOf returns the type that a field names, Unmarked for any other.
func TypeOf(field []byte) PCType {
	switch string(field) {
	case "ra":
		return ReturnAddress
	case "pc":
		return Exact
	}
	return Unmarked
}

var elf = []byte(":elf:")

// moduleNameEnd returns where the name of a module ends that b begins with: before the last ":elf:" that a build ID follows, for names
// may hold colons (Fuchsia's "<VMO#1:x>"), and so may fields that are ignored. Without one it is before the last ":elf:", and without
// that before the first colon.
func moduleNameEnd(b []byte) int {
	last, best := -1, -1
	for at := 0; ; {
		i := bytes.Index(b[at:], elf)
		if i < 0 {
			break
		}
		last = at + i
		if id, _, _ := cut(b[last+len(elf):]); scan.IsHexField(id) {
			best = last
		}
		at = last + len(elf) - 1 // the colon after it may be the one before another
	}
	switch {
	case best >= 0:
		return best
	case last >= 0:
		return last
	}
	return colonOrEnd(b)
}
