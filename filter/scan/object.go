package scan

import "bytes"

// Member is a member of a JSON object: the inside of its key, and its value, without the quotes if Quoted is set.
type Member struct {
	Key, Value Span
	Quoted     bool
}

// Bounds of an object that is read: members, bytes, and bytes of a member that is an object or an array itself.
const (
	maxMembers = 24
	maxObject  = 64 << 10
	maxNested  = 4 << 10
)

// Object is a JSON object.
type Object struct {
	// Nests is set by the caller where members may be objects or arrays themselves, which are not taken apart.
	Nests bool
	// Whole is the object with its braces.
	Whole   Span
	members [maxMembers]Member
	n       int
}

// Read reads the object that begins at b[open]. It reports false for any other text, for objects that hold others where Nests is not set, and for those that
// hold too much.
func (o *Object) Read(b []byte, open int) bool {
	o.n = 0
	b = b[:min(len(b), open+maxObject)]
	if open >= len(b) || b[open] != '{' {
		return false
	}
	for i := Spaces(b, open+1); o.n < maxMembers; i = Spaces(b, i+1) {
		m := &o.members[o.n]
		var ok bool
		if m.Key, i, ok = quoted(b, i); !ok {
			return false
		}
		if i = Spaces(b, i); i >= len(b) || b[i] != ':' {
			return false
		}
		i = Spaces(b, i+1)
		start := i
		if o.Nests {
			i = nested(b, start)
		}
		if m.Value, m.Quoted = (Span{start, i}), false; i > start {
			// a member that is not taken apart
		} else if m.Value, i, m.Quoted = quoted(b, i); !m.Quoted {
			for i < len(b) && (IsLetter(b[i]) || IsDigit(b[i]) || b[i] == '-' || b[i] == '+' || b[i] == '.') {
				i++
			}
			if m.Value = (Span{start, i}); i == start {
				return false
			}
		}
		o.n++
		switch i = Spaces(b, i); {
		case i < len(b) && b[i] == '}':
			o.Whole = Span{open, i + 1}
			return true
		case i >= len(b) || b[i] != ',':
			return false
		}
	}
	return false
}

// Get returns the member of a key, nil if there is none.
func (o *Object) Get(b []byte, key string) *Member {
	for i := range o.members[:o.n] {
		if string(o.members[i].Key.Of(b)) == key {
			return &o.members[i]
		}
	}
	return nil
}

// Text returns the value of a member that is a string without escapes. It is empty for any other.
func (o *Object) Text(b []byte, key string) Span {
	m := o.Get(b, key)
	if m == nil || !m.Quoted {
		return Span{}
	}
	for _, c := range m.Value.Of(b) {
		if c == '\\' {
			return Span{}
		}
	}
	return m.Value
}

// Path is Text for what may have slashes and backslashes that are escaped; UnescapePath returns what it means.
func (o *Object) Path(b []byte, key string) Span {
	m := o.Get(b, key)
	if m == nil || !m.Quoted {
		return Span{}
	}
	text := m.Value.Of(b)
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		if i++; text[i] != '/' && text[i] != '\\' {
			return Span{}
		}
	}
	return m.Value
}

// UnescapePath returns a text of Path without its escapes.
func UnescapePath(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	plain := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			i++
		}
		plain = append(plain, text[i])
	}
	return plain
}

// Members returns the members in their order.
func (o *Object) Members() []Member { return o.members[:o.n] }

// nested returns where the object or the array at b[i] ends, and i if there is none.
func nested(b []byte, i int) int {
	if i >= len(b) || b[i] != '[' && b[i] != '{' {
		return i
	}
	b = b[:min(len(b), i+maxNested)]
	depth := 0
	for end := i; end < len(b); end++ {
		switch b[end] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return end + 1
			}
		case '"':
			_, after, ok := quoted(b, end)
			if !ok {
				return i
			}
			end = after - 1
		}
	}
	return i
}

// quoted reads a string in quotes at b[i]: its inside, and where what follows it begins.
func quoted(b []byte, i int) (inside Span, end int, ok bool) {
	if i >= len(b) || b[i] != '"' {
		return Span{}, i, false
	}
	for end = i + 1; end < len(b) && b[end] != '"'; end++ {
		if b[end] == '\\' {
			end++
		}
	}
	if end >= len(b) {
		return Span{}, i, false
	}
	return Span{i + 1, end}, end + 1, true
}
