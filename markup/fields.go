package markup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

	"qss-filter/filter/scan"
)

// PCType is the type of a code address.
type PCType uint8

const (
	Unmarked      PCType = iota // the element has no type
	Exact                       // "pc": the address of the instruction itself
	ReturnAddress               // "ra": the address after the call
)

// BTFields are the fields of a bt element.
type BTFields struct {
	// Num is the frame number, NumText its text.
	Num     uint64
	NumText []byte
	// Addr is the address, AddrText its text, including the 0x.
	Addr     uint64
	AddrText []byte
	Type     PCType
	// Message is the text that Fuchsia writes after the type ("from CFI") or in its place ("sp 0x3f540e65ef0"), or nil.
	Message []byte
}

// PCFields are the fields of a pc element.
type PCFields struct {
	Addr uint64
	Type PCType
}

// BT returns the fields of a bt element. A third field that is not a type is a message, as is all text after the type. The error is a
// *FieldError.
func (e *Element) BT() (f BTFields, err error) {
	if !e.scanBT(&f) {
		return BTFields{}, e.explain()
	}
	return f, nil
}

// PC returns the fields of a pc element. It ignores fields after the type. The error is a *FieldError.
func (e *Element) PC() (PCFields, error) {
	var v [maxFields]value
	if !layouts[PC].scan(e.Body, &v) {
		return PCFields{}, e.explain()
	}
	return PCFields{v[0].number, TypeOf(v[1].of(e.Body))}, nil
}

// Data returns the address of a data element. It ignores further fields. The error is a *FieldError.
func (e *Element) Data() (uint64, error) {
	var v [maxFields]value
	if !layouts[Data].scan(e.Body, &v) {
		return 0, e.explain()
	}
	return v[0].number, nil
}

// Symbol returns the name in a symbol element, which may be empty. It ignores further fields. The error is a *FieldError.
func (e *Element) Symbol() ([]byte, error) {
	var v [maxFields]value
	if e.Body == nil || !layouts[Symbol].scan(e.Body, &v) {
		return nil, e.explain()
	}
	return v[0].of(e.Body), nil
}

// Dumpfile returns the type and the name of a dumpfile element. The name extends to the end of the element, because file names may contain
// colons; it may be empty. The error is a *FieldError.
func (e *Element) Dumpfile() (kind, name []byte, err error) {
	var v [maxFields]value
	if !layouts[Dumpfile].scan(e.Body, &v) {
		return nil, nil, e.explain()
	}
	return v[0].of(e.Body), v[1].of(e.Body), nil
}

// symbolEnd returns the length of the name at the start of the body of a symbol element: up to the first colon that is not a part of it.
// A mangled name has no colons. A readable one may have two colons between scopes, and any in the brackets of an Objective-C method.
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

// isMangled reports whether a name has the prefix of a mangled name of C++, Rust, D or Microsoft's compiler.
func isMangled(name []byte) bool {
	if name[0] == '?' || name[0] == '.' && len(name) > 1 && name[1] == '?' {
		return true
	}
	bare := bytes.TrimLeft(name, "_")
	return len(bare) < len(name) && len(bare) > 1 && (bare[0] == 'Z' || (bare[0] == 'R' || bare[0] == 'D') && bare[1]-'a' > 'z'-'a')
}

// colonOrEnd returns the index of the first colon, or the length of body.
func colonOrEnd(body []byte) int {
	if i := bytes.IndexByte(body, ':'); i >= 0 {
		return i
	}
	return len(body)
}

// wellFormed reports whether the element has a known tag and well-formed fields. A name must not be empty.
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

// isDump reports whether the body of the element is a dump of registers.
func (e *Element) isDump() bool {
	d := layouts[e.Tag].dump
	return d != nil && d.scan(e.Body, new([maxFields]value))
}

// scanBT sets f to the fields of a bt element. It returns false if they are malformed.
func (e *Element) scanBT(f *BTFields) bool {
	var v [maxFields]value
	if !layouts[BT].scan(e.Body, &v) {
		return false
	}
	f.set(e.Body, &v)
	return true
}

// set sets f to the values of the fields in body.
func (f *BTFields) set(body []byte, v *[maxFields]value) {
	f.Num, f.NumText = v[0].number, v[0].of(body)
	f.Addr, f.AddrText = v[1].number, v[1].of(body)
	f.Type = TypeOf(v[2].of(body))
	if message := v[3].of(body); len(message) > 0 {
		f.Message = message
	}
}

var btStart = []byte("{{{bt:")

// BTLine returns the fields of a line that consists of a bt element without a message, such as "{{{bt:0:0x7f52731c130:pc}}}\n", and its
// line ending. It returns false for any other line, and for one without a line ending.
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

// TypeOf returns the type in a field, or Unmarked if it is not a type.
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

// moduleNameEnd returns the length of the module name at the start of b. It ends before the last ":elf:" that precedes a build ID, because
// names (Fuchsia's "<VMO#1:x>") and ignored fields may contain colons. Otherwise it ends before the last ":elf:", or before the first colon.
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
		at = last + len(elf) - 1 // its last colon may be the first one of another ":elf:"
	}
	switch {
	case best >= 0:
		return best
	case last >= 0:
		return last
	}
	return colonOrEnd(b)
}

// The types of the grammar's fields. Their Capture methods implement participle.Capture; the errors complete "expected …; found …".
type (
	decimal  uint64
	integer  uint64
	pointer  uint64
	hexBytes string
	lower    string
)

// wrongValue is the error of a field whose digits are of the right kind but not a valid value.
type wrongValue string

// Error returns what was expected.
func (w wrongValue) Error() string { return string(w) }

// Capture reads a %d.
func (d *decimal) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 10, 64)
	*d = decimal(n)
	return wrap(err, "frame number of at most 64 bits")
}

// Capture reads a %i. strconv's base 0 is the same as llvm's getAsInteger(0) except for 0O and underscores, which the class excludes.
func (i *integer) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 0, 64)
	*i = integer(n)
	if errors.Is(err, strconv.ErrSyntax) {
		return wrongValue("octal digits after a leading 0")
	}
	return wrap(err, "number of at most 64 bits")
}

// Capture reads a %p.
func (p *pointer) Capture(s []string) error {
	digits, prefixed := strings.CutPrefix(s[0], "0x")
	if !prefixed {
		return nil // only zeros
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	*p = pointer(n)
	return wrap(err, "address of at most 64 bits")
}

// Capture reads a %x.
func (h *hexBytes) Capture(s []string) error {
	digits := s[0]
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	raw, err := hex.DecodeString(digits)
	*h = hexBytes(raw)
	return wrap(err, "build ID")
}

// Capture reads a mode.
func (l *lower) Capture(s []string) error {
	*l = lower(strings.ToLower(s[0]))
	return nil
}

// wrap replaces an error with a wrongValue.
func wrap(err error, expected string) error {
	if err == nil {
		return nil
	}
	return wrongValue(expected)
}

// cut splits b at its first colon; more reports whether there is one.
func cut(b []byte) (field, rest []byte, more bool) {
	if i := bytes.IndexByte(b, ':'); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// Address returns the value of an address field: 0x and hexadecimal digits of at most 64 bits without leading zeros, or only zeros.
func Address(b []byte) (uint64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		return scan.Number(b[2:], 16)
	}
	return 0, isZeros(b)
}

// isZeros reports whether b consists of one or more zeros.
func isZeros(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return len(b) > 0
}

// Integer returns the value of a field with a number whose prefix is its base, as in llvm's getAsInteger: decimal, hexadecimal after 0x,
// octal after 0, and the other prefixes of integerDigits.
func Integer(b []byte) (uint64, bool) {
	digits, base := integerDigits(b)
	return scan.Number(digits, base)
}

// integerDigits returns the digits of a %i, and their base. The prefixes are 0x, and 0 for octal; and 0X, 0b, 0B and 0o, which llvm's
// getAsInteger accepts, too.
func integerDigits(b []byte) (digits []byte, base uint64) {
	if len(b) < 2 || b[0] != '0' {
		return b, 10
	}
	switch b[1] {
	case 'x', 'X':
		return b[2:], 16
	case 'b', 'B':
		return b[2:], 2
	case 'o':
		return b[2:], 8
	}
	return b[1:], 8
}

// allIn reports whether b consists of one or more digits of a base.
func allIn(b []byte, base uint64) bool {
	for _, c := range b {
		if _, ok := scan.Number([]byte{c}, base); !ok {
			return false
		}
	}
	return len(b) > 0
}

// modeEnd returns the index after the letters r, w and x at b[at], each at most once, in this order, in upper or lower case.
func modeEnd(b []byte, at int) int {
	for _, letter := range []byte("rwx") {
		if at < len(b) && b[at]|0x20 == letter {
			at++
		}
	}
	return at
}

// Mode returns the mode in a field, in lower case. It returns false if the field is not one or more of the letters "rwx" in this order.
func Mode(field []byte) (mode string, ok bool) {
	if modeC.accepts(field) {
		return modeOf(field), true
	}
	return "", false
}

// ModuleFields are the fields of a module element.
type ModuleFields struct {
	ID uint64
	// Name is the module's file name, for display; it may be empty and may contain colons.
	Name string
	// BuildID is raw bytes.
	BuildID string
}

// MMapFields are the fields of an mmap element.
type MMapFields struct {
	Start, Size, ModuleID uint64
	// Mode is one or more of "rwx", in this order and in lower case.
	Mode string
	// Rel is the address in the module's own address space (p_vaddr) that is mapped at Start.
	Rel uint64
}

// ParseModule returns the fields of a module element. The name ends before the last ":elf:" that precedes a build ID. It ignores fields after
// the build ID. The error is a *FieldError.
func ParseModule(e *Element) (ModuleFields, error) {
	if e.Tag != Module {
		return ModuleFields{}, e.wrongTag("module")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[Module].scan(e.Body, &v) {
		return ModuleFields{}, e.explain()
	}
	return ModuleFields{ID: v[0].number, Name: string(v[1].of(e.Body)), BuildID: decodeHex(v[3].of(e.Body))}, nil
}

// ParseMMap returns the fields of an mmap element. It ignores further fields, and does not check whether the range exceeds the address
// space. The error is a *FieldError.
func ParseMMap(e *Element) (MMapFields, error) {
	if e.Tag != MMap {
		return MMapFields{}, e.wrongTag("mmap")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[MMap].scan(e.Body, &v) {
		return MMapFields{}, e.explain()
	}
	return MMapFields{v[0].number, v[1].number, v[3].number, modeOf(v[4].of(e.Body)), v[5].number}, nil
}

// decodeHex returns the bytes of hexadecimal digits. An odd number of digits gets a leading zero.
func decodeHex(digits []byte) string {
	var buffer [64]byte
	raw := buffer[:0]
	raw, _ = scan.AppendBytes(raw, digits)
	return string(raw)
}

// modeOf returns a mode in lower case, without an allocation for the seven valid ones.
func modeOf(written []byte) string {
	for _, mode := range [...]string{"r", "rx", "rw", "rwx", "w", "wx", "x"} {
		if bytes.EqualFold(written, []byte(mode)) {
			return mode
		}
	}
	return string(bytes.ToLower(written))
}
