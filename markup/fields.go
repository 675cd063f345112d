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
	ReturnAddress               // "ra": the address behind the call
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
	// Message is what Fuchsia writes behind the type ("from CFI") or in its place ("sp 0x3f540e65ef0"); nil where there is
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
func (e *Element) BT() (BTFields, error) {
	f, ok := scanBT(e.Body)
	if !ok {
		return BTFields{}, e.explain()
	}
	return f, nil
}

// PC reads the fields of a pc element; fields behind the type are ignored. The error is a *FieldError.
func (e *Element) PC() (PCFields, error) {
	f, ok := scanPC(e.Body)
	if !ok {
		return PCFields{}, e.explain()
	}
	return f, nil
}

// Data reads the address of a data element; further fields are ignored. The error is a *FieldError.
func (e *Element) Data() (uint64, error) {
	addr, ok := scanData(e.Body)
	if !ok {
		return 0, e.explain()
	}
	return addr, nil
}

// Symbol reads the name in a symbol element, which may be empty; further fields are ignored. The error is a *FieldError.
func (e *Element) Symbol() ([]byte, error) {
	if e.Body == nil {
		return nil, e.explain()
	}
	return e.Body[:symbolEnd(e.Body)], nil
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

// Dumpfile reads the type and the name of a dumpfile element. The name reaches to the element's end, for files' names hold colons.
// The error is a *FieldError.
func (e *Element) Dumpfile() (kind, name []byte, err error) {
	kind, name, more := cut(e.Body)
	if more && len(kind) == 0 { // of which the grammar would say that a name has one field too many
		return nil, nil, &FieldError{Offset: e.BodyStart, Msg: "expected dump file type; found ''"}
	}
	if !more {
		return nil, nil, e.explain()
	}
	return kind, name, nil
}

// wellFormed reports whether the element has a known tag and all that the tag asks for.
func (e *Element) wellFormed() (ok bool) {
	switch e.Tag {
	case Reset:
		return true
	case Module:
		_, ok = scanModule(e.Body)
	case MMap:
		_, ok = scanMMap(e.Body)
	case BT:
		_, ok = scanBT(e.Body)
	case PC:
		_, ok = scanPC(e.Body)
	case Data:
		_, ok = scanData(e.Body)
	case Symbol:
		ok = len(e.Body) > 0
	case Hexdict:
		ok = scanHexdict(e.Body)
	case Dumpfile:
		kind, name, _ := cut(e.Body)
		ok = len(kind) > 0 && len(name) > 0
	}
	return ok
}

func scanBT(body []byte) (f BTFields, ok bool) {
	var more bool
	f.NumText, body, _ = cut(body)
	if f.Num, ok = scan.Number(f.NumText, 10); !ok {
		return f, false
	}
	f.AddrText, body, more = cut(body)
	if f.Addr, ok = scanAddress(f.AddrText); !ok || !more {
		return f, ok
	}
	kind, rest, _ := cut(body)
	if f.Type = scanType(kind); f.Type == Unmarked {
		rest = body
	}
	if len(rest) > 0 {
		f.Message = rest
	}
	return f, true
}

func scanPC(body []byte) (f PCFields, ok bool) {
	addr, rest, more := cut(body)
	if f.Addr, ok = scanAddress(addr); !ok || !more {
		return f, ok
	}
	kind, _, _ := cut(rest)
	f.Type = scanType(kind)
	return f, f.Type != Unmarked
}

func scanData(body []byte) (uint64, bool) {
	addr, _, _ := cut(body)
	return scanAddress(addr)
}

func scanType(field []byte) PCType {
	switch string(field) {
	case "ra":
		return ReturnAddress
	case "pc":
		return Exact
	}
	return Unmarked
}

// moduleSpan holds a module's ID and where its other fields are.
type moduleSpan struct {
	id            uint64
	name, buildID []byte // the build ID as hexadecimal digits
}

var elf = []byte(":elf:")

// scanModule splits at the last ":elf:" with a build ID behind it, for names may hold colons (Fuchsia's "<VMO#1:x>"), and so may
// fields that are ignored.
func scanModule(body []byte) (m moduleSpan, ok bool) {
	id, rest, more := cut(body)
	if m.id, ok = scanInteger(id); !ok || !more {
		return m, false
	}
	for end := len(rest); ; {
		i := bytes.LastIndex(rest[:end], elf)
		if i < 0 {
			return m, false
		}
		m.name = rest[:i]
		if m.buildID, _, _ = cut(rest[i+len(elf):]); scan.IsHexField(m.buildID) {
			return m, true
		}
		end = i + len(elf) - 1 // the colon behind may be that before
	}
}

// mmapSpan holds the fields of an mmap element, its mode as written.
type mmapSpan struct {
	start, size, moduleID, rel uint64
	mode                       []byte
}

func scanMMap(body []byte) (m mmapSpan, ok bool) {
	var f [6][]byte
	more := true
	for i := range f {
		if !more {
			return m, false
		}
		f[i], body, more = cut(body)
	}
	var start, size, id, rel bool
	m.start, start = scanAddress(f[0])
	m.size, size = scanInteger(f[1])
	m.moduleID, id = scanInteger(f[3])
	m.mode = f[4]
	m.rel, rel = scanAddress(f[5])
	return m, start && size && string(f[2]) == "load" && id && isMode(m.mode) && rel
}

// scanDump wants what dumps of registers look like: `RIP: 0x6ee17076fb80 RSP: 0`, with blanks between the pairs.
func scanDump(body []byte) bool {
	words := 0
	for {
		key, rest, more := cut(body)
		if key = bytes.TrimLeft(key, " \t"); !more {
			return words > 0 && len(key) == 0
		}
		value := bytes.TrimLeft(rest, " \t")
		n := bytes.IndexAny(value, " \t:")
		if n < 0 {
			n = len(value)
		}
		if _, ok := scanAddress(value[:n]); !ok || len(key) == 0 || bytes.ContainsAny(key, " \t") || n < len(value) && value[n] == ':' {
			return false
		}
		body = value[n:]
		words++
	}
}

// scanHexdict wants pairs of a key and a value, the values being addresses.
func scanHexdict(body []byte) bool {
	for more := true; more; {
		var value []byte
		if _, body, more = cut(body); !more {
			return false
		}
		value, body, more = cut(body)
		if _, ok := scanAddress(value); !ok {
			return false
		}
	}
	return true
}
