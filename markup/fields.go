package markup

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strconv"
	"strings"

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

// The values of fields. Their errors complete "expected …; found …".
type (
	decimal  uint64
	integer  uint64
	pointer  uint64
	hexBytes string
	lower    string
)

// wrongValue is a field whose digits are of the right kind but do not make a value.
type wrongValue string

func (w wrongValue) Error() string { return string(w) }

func (d *decimal) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 10, 64)
	*d = decimal(n)
	return wrap(err, "frame number of at most 64 bits")
}

// Capture of a %i. strconv's base 0 is llvm's getAsInteger(0) but for 0O and underscores, which no class lets in.
func (i *integer) Capture(s []string) error {
	n, err := strconv.ParseUint(s[0], 0, 64)
	*i = integer(n)
	if errors.Is(err, strconv.ErrSyntax) {
		return wrongValue("octal digits after a leading 0")
	}
	return wrap(err, "number of at most 64 bits")
}

func (p *pointer) Capture(s []string) error {
	digits, prefixed := strings.CutPrefix(s[0], "0x")
	if !prefixed {
		return nil // zeros alone
	}
	n, err := strconv.ParseUint(digits, 16, 64)
	*p = pointer(n)
	return wrap(err, "address of at most 64 bits")
}

func (h *hexBytes) Capture(s []string) error {
	digits := s[0]
	if len(digits)%2 != 0 {
		digits = "0" + digits
	}
	raw, err := hex.DecodeString(digits)
	*h = hexBytes(raw)
	return wrap(err, "build ID")
}

func (l *lower) Capture(s []string) error {
	*l = lower(strings.ToLower(s[0]))
	return nil
}

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

// Address returns the value of a field that is an address: 0x and hexadecimal digits, or zeros alone. Leading zeros do not count to
// the 64 bits.
func Address(b []byte) (uint64, bool) {
	if len(b) > 2 && b[0] == '0' && b[1] == 'x' {
		return scan.Number(b[2:], 16)
	}
	return 0, isZeros(b)
}

func isZeros(b []byte) bool {
	for _, c := range b {
		if c != '0' {
			return false
		}
	}
	return len(b) > 0
}

// Integer returns the value of a field that is a number of a base of its own: decimal, hexadecimal after 0x, octal after 0, and
// what else llvm's getAsInteger takes.
func Integer(b []byte) (uint64, bool) {
	digits, base := integerDigits(b)
	return scan.Number(digits, base)
}

// integerDigits returns the digits of a %i, and their base: decimal, 0x, or 0 for octal; and 0X, 0b, 0B and 0o, which llvm's
// getAsInteger takes as well.
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

// allIn reports whether b is digits of a base.
func allIn(b []byte, base uint64) bool {
	for _, c := range b {
		if _, ok := scan.Number([]byte{c}, base); !ok {
			return false
		}
	}
	return len(b) > 0
}

// modeEnd returns where the letters r, w and x end that stand at b[at], each at most once, in this order and of either case.
func modeEnd(b []byte, at int) int {
	for _, letter := range []byte("rwx") {
		if at < len(b) && b[at]|0x20 == letter {
			at++
		}
	}
	return at
}

// Mode returns a field that is a mode in lower case, one or more of "rwx".
func Mode(field []byte) (mode string, ok bool) {
	if modeC.accepts(field) {
		return modeOf(field), true
	}
	return "", false
}

// ModuleFields are the fields of a module element.
type ModuleFields struct {
	ID uint64
	// Name is the module's file name, for people; it may be empty and may hold colons.
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

// ParseModule reads the fields of a module element. The last ":elf:" ends the name; fields after the build ID are
// ignored. The error is a *FieldError.
func ParseModule(e *Element) (ModuleFields, error) {
	if e.Tag != Module {
		return ModuleFields{}, e.otherTag("module")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[Module].scan(e.Body, &v) {
		return ModuleFields{}, e.explain()
	}
	return ModuleFields{ID: v[0].number, Name: string(v[1].of(e.Body)), BuildID: decodeHex(v[3].of(e.Body))}, nil
}

// ParseMMap reads the fields of an mmap element; fields after the last one are ignored. The error is a *FieldError. It
// says nothing of a range that leaves the address space.
func ParseMMap(e *Element) (MMapFields, error) {
	if e.Tag != MMap {
		return MMapFields{}, e.otherTag("mmap")
	}
	var v [maxFields]value
	if e.End-e.Start > maxInside || !layouts[MMap].scan(e.Body, &v) {
		return MMapFields{}, e.explain()
	}
	return MMapFields{v[0].number, v[1].number, v[3].number, modeOf(v[4].of(e.Body)), v[5].number}, nil
}

// decodeHex returns the bytes that hexadecimal digits stand for; an odd number of them has a zero in front.
func decodeHex(digits []byte) string {
	var buffer [64]byte
	raw := buffer[:0]
	raw, _ = scan.AppendBytes(raw, digits)
	return string(raw)
}

// modeOf returns a mode in lower case, without allocating: there are only seven.
func modeOf(written []byte) string {
	for _, mode := range [...]string{"r", "rx", "rw", "rwx", "w", "wx", "x"} {
		if bytes.EqualFold(written, []byte(mode)) {
			return mode
		}
	}
	return string(bytes.ToLower(written))
}
