package ctxstate

import (
	"bytes"
	"encoding/hex"
	"math"
)

// form is the layout of a list of mappings.
type form uint8

const (
	procMaps    form = iota // 55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /path
	tombstone               // 0000006d'682c1000-0000006d'6838ffff r-x  0  cf000  /path (BuildId: …) (load bias 0x4000)
	tizenMaps               // b7461000 b75d2000 r-xp /lib/libc-2.13.so
	sanitizer               // 	0x55cf1954f000-0x55cf19550000	/path
	gdbMappings             // 0x555555554000  0x555555555000  0x1000  0x0  r--p  /path
)

// listed is one line of a list of mappings. last is inclusive.
type listed struct {
	form        form
	start, last uint64
	offset      uint64
	mode        string
	path        []byte
	written     []byte // the path with its escapes
	buildID     string // raw bytes
}

// maxListed bounds the length of a line that is looked at: a path is at most 4096 bytes.
const maxListed = 4096 + 256

// parseMapping reads a line of a list of mappings.
func parseMapping(text []byte) (m listed, ok bool) {
	text = bytes.Trim(text, " \t\r")
	if len(text) < 20 || len(text) > maxListed {
		return m, false
	}
	text = bytes.TrimPrefix(text, []byte("--->")) // where the fault was
	s := &fields{text}
	var prefixed bool
	if m.start, prefixed, ok = s.address(); !ok {
		return m, false
	}
	dash := s.byte('-')
	switch {
	case dash && prefixed:
		return m.sanitizer(s)
	case dash:
		return m.ranged(s)
	case prefixed:
		return m.gdb(s)
	}
	return m.tizen(s)
}

// sanitizer reads what follows `0xA-` in the sanitizers' own list.
func (m listed) sanitizer(s *fields) (listed, bool) {
	end, prefixed, ok := s.address()
	if !ok || !prefixed || len(s.rest) < 2 || s.rest[0] != '\t' {
		return m, false
	}
	m.form, m.path = sanitizer, bytes.TrimLeft(s.rest, "\t ")
	return m.until(end)
}

// ranged reads what follows `A-` in /proc/PID/maps and in Android's list, whose end is inclusive.
func (m listed) ranged(s *fields) (listed, bool) {
	end, prefixed, ok := s.address()
	if !ok || prefixed {
		return m, false
	}
	perms := s.word()
	var isPerms bool
	m.mode, isPerms = permissions(perms)
	offset, _, okOffset := s.address()
	if !isPerms || !okOffset {
		return m, false
	}
	m.offset = offset
	if len(perms) == 3 {
		if _, _, ok := s.address(); !ok { // the size
			return m, false
		}
		m.form, m.last = tombstone, end
		m.path, m.buildID = cutNotes(s.rest)
		return m, m.last >= m.start
	}
	if dev := s.word(); bytes.IndexByte(dev, ':') < 0 {
		return m, false
	}
	for _, c := range s.word() { // the inode
		if c < '0' || c > '9' {
			return m, false
		}
	}
	m.form, m.path = procMaps, unescapeOctal(s.rest)
	if len(m.path) < len(s.rest) {
		m.written = s.rest
	}
	return m.until(end)
}

// gdb reads what follows the start address: end, size and offset, perhaps permissions, path.
func (m listed) gdb(s *fields) (listed, bool) {
	end, _, ok := s.address()
	size, _, okSize := s.address()
	offset, prefixed, okOffset := s.address()
	if !ok || !okSize || !okOffset || !prefixed || end-m.start != size {
		return m, false
	}
	before := s.rest
	var isPerms bool
	if m.mode, isPerms = permissions(s.word()); !isPerms {
		m.mode, s.rest = "rx", before
	}
	m.form, m.offset, m.path = gdbMappings, offset, s.rest
	return m.until(end)
}

// tizen reads what follows the start address: end, permissions, path.
func (m listed) tizen(s *fields) (listed, bool) {
	end, prefixed, ok := s.address()
	perms := s.word()
	mode, isPerms := permissions(perms)
	if !ok || prefixed || !isPerms || len(perms) != 4 || len(s.rest) == 0 || s.rest[0] != '/' && s.rest[0] != '[' {
		return m, false
	}
	m.form, m.mode, m.path = tizenMaps, mode, s.rest
	if mode != "rx" { // without offsets nothing can be said of it
		m.path = nil
	}
	return m.until(end)
}

// until sets the end, which is exclusive.
func (m listed) until(end uint64) (listed, bool) {
	m.last = end - 1
	return m, end > m.start
}

// fields takes a line apart.
type fields struct{ rest []byte }

// word takes the next word, and the blanks behind it.
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

// address takes a hexadecimal number, with or without 0x, whose digits an apostrophe may divide, and the blanks behind it; in
// front of a tab it leaves that.
func (s *fields) address() (v uint64, prefixed, ok bool) {
	b := bytes.TrimLeft(s.rest, " ")
	if bytes.HasPrefix(b, []byte("0x")) {
		prefixed, b = true, b[2:]
	}
	n := 0
	for ; len(b) > 0 && (isHex(b[0]) || b[0] == '\'' && n > 0); b = b[1:] {
		if b[0] == '\'' {
			continue
		}
		if v > math.MaxUint64>>4 {
			return 0, prefixed, false
		}
		v = v<<4 | uint64(hexValue(b[0]))
		n++
	}
	if n == 0 || len(b) > 0 && b[0] != ' ' && b[0] != '-' && b[0] != '\t' {
		return 0, prefixed, false
	}
	s.rest = bytes.TrimLeft(b, " ")
	return v, prefixed, true
}

func isHex(c byte) bool { return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'f' }

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c | 0x20 - 'a' + 10
}

// permissions reads `r-xp`, or `r-x` without the last letter.
func permissions(b []byte) (letters string, ok bool) {
	if len(b) != 3 && len(b) != 4 || len(b) == 4 && b[3] != 'p' && b[3] != 's' {
		return "", false
	}
	var set [3]byte
	n := 0
	for i, c := range b[:3] {
		switch c {
		case "rwx"[i]:
			set[n] = c
			n++
		case '-':
		default:
			return "", false
		}
	}
	return mode(string(set[:n])), true
}

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
	id, err := hex.DecodeString(string(b[i+len(mark) : len(b)-1]))
	if err != nil {
		return b, ""
	}
	return b[:i], string(id)
}

// unescapeOctal reads `\040` and its like, as proc(5) writes blanks and line breaks of a path.
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
