package mappings

import (
	"bytes"

	"qss-filter/filter/scan"
)

// fields takes a line apart.
type fields struct{ rest []byte }

// word takes the next word, and the spaces after it.
func (s *fields) word() []byte {
	n := bytes.IndexAny(s.rest, " \t")
	if n < 0 {
		n = len(s.rest)
	}
	w := s.rest[:n]
	s.rest = bytes.TrimLeft(s.rest[n:], " \t")
	return w
}

// byte takes c if it is next.
func (s *fields) byte(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// address takes a hexadecimal number, with or without 0x, whose digits an apostrophe may divide, and the spaces after it, but no
// tab.
func (s *fields) address() (v uint64, prefixed, ok bool) {
	b := bytes.TrimLeft(s.rest, " ")
	if bytes.HasPrefix(b, []byte("0x")) {
		prefixed, b = true, b[2:]
	}
	v, n, ok := scan.Hex(b, 0)
	for ok && n < len(b) && b[n] == '\'' {
		low, end, more := scan.Hex(b, n+1)
		if digits := end - n - 1; more {
			ok = v>>max(0, 64-4*digits) == 0
			v = v<<(4*digits) | low
		} else {
			ok = digits == 0 // after a last apostrophe
		}
		n = end
	}
	if !ok || n < len(b) && b[n] != ' ' && b[n] != '-' && b[n] != '\t' {
		return 0, prefixed, false
	}
	s.rest = bytes.TrimLeft(b[n:], " ")
	return v, prefixed, true
}

func isDecimal(b []byte) bool {
	for _, c := range b {
		if !scan.IsDigit(c) {
			return false
		}
	}
	return true
}

// permissions reads `r-xp`, or `r-x` without the last letter.
func permissions(b []byte) (mode string, ok bool) {
	if len(b) != 3 && len(b) != 4 || len(b) == 4 && b[3] != 'p' && b[3] != 's' {
		return "", false
	}
	set := 0
	for i, c := range b[:3] {
		switch c {
		case "rwx"[i]:
			set |= 1 << i
		case '-':
		default:
			return "", false
		}
	}
	return modes[set], true
}

// modes are the permissions by their bits: 1 for r, 2 for w, 4 for x.
var modes = [...]string{"", "r", "w", "rw", "x", "rx", "wx", "rwx"}

// cutNotes takes the notes off an Android path: ` (BuildId: hex)`, ` (load bias 0x…)`.
func cutNotes(b []byte) (path []byte, buildID string) {
	if i := bytes.LastIndex(b, []byte(" (load bias ")); i >= 0 {
		b = b[:i]
	}
	mark := []byte(" (BuildId: ")
	i := bytes.LastIndex(b, mark)
	if i < 0 || b[len(b)-1] != ')' {
		return b, ""
	}
	digits := b[i+len(mark) : len(b)-1]
	id, ok := scan.AppendBytes(nil, digits)
	if len(digits)%2 == 1 || !ok && len(digits) > 0 {
		return b, ""
	}
	return b[:i], string(id)
}

// unescapeOctal reads `\040` and the like, as proc(5) writes spaces and line breaks of a path.
func unescapeOctal(b []byte) []byte {
	if bytes.IndexByte(b, '\\') < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] == '\\' && len(b) >= 4 && b[1]-'0' <= 3 && b[2]-'0' <= 7 && b[3]-'0' <= 7 {
			out = append(out, (b[1]-'0')<<6|(b[2]-'0')<<3|(b[3]-'0'))
			b = b[4:]
			continue
		}
		out = append(out, b[0])
		b = b[1:]
	}
	return out
}
