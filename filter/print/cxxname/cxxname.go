// Package cxxname writes C++ names as source code has them.
//
//	cxxname.go    reading a name
//	templates.go  the template arguments that are left out, and the short names of the standard library
package cxxname

import (
	"bytes"
	"slices"
	"strings"

	"qss-filter/symsrc/demangle"
)

// Shorten returns a demangled C++ name as source code has it. It leaves out inline namespaces, ABI tags, default template
// arguments and the suffixes of copies that the compiler made, and writes the standard library's own short names:
//
//	std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >  →  std::string
//	std::__1::vector<int, std::__1::allocator<int>>::push_back[abi:v160006](int&&)   →  std::vector<int>::push_back(int&&)
//	f(int) (.isra.0.cold)                                                            →  f(int)
//
// A name that it cannot read to its end keeps its template arguments.
func Shorten(name string) string {
	if len(name) > maxShort {
		return name
	}
	name = dropInlineNamespaces(dropTags(dropClone(name)))
	if !strings.Contains(name, "<") || !strings.Contains(name, "std::") && !strings.Contains(name, "boost::") {
		return name
	}
	r := nameReader{s: name}
	if short := r.text(""); !r.bad && r.pos == len(name) {
		return short
	}
	return name
}

// maxShort is the length of the longest name that is shortened, in bytes.
const maxShort = 1 << 14

// dropClone cuts off the suffixes of copies: ` (.isra.0)`, ` [clone .isra.0]` or, after a C name, `.isra.0`.
func dropClone(name string) string {
	for _, form := range [...][2]string{{" (.", ")"}, {" [clone .", "]"}} {
		for strings.HasSuffix(name, form[1]) {
			at := strings.LastIndex(name, form[0])
			if at <= 0 || !demangle.IsCloneSuffix(name[at+len(form[0])-1:len(name)-1]) {
				break
			}
			name = name[:at]
		}
	}
	if at := strings.IndexByte(name, '.'); at > 0 && demangle.IsCloneSuffix(name[at:]) {
		name = name[:at]
	}
	return name
}

// dropTags removes ABI tags: libc++ puts one on every function, as [abi:v160006].
func dropTags(name string) string {
	for {
		before, rest, found := strings.Cut(name, "[abi:")
		_, after, closed := strings.Cut(rest, "]")
		if !found || !closed {
			return name
		}
		name = before + after
	}
}

// inlineNamespaces are the inline namespaces of the standard libraries: libc++ (of Android and Chromium, too) and libstdc++.
var inlineNamespaces = []string{"__1", "__2", "__ndk1", "__Cr", "__u", "__fs", "__cxx11", "_V2", "__7"}

// dropInlineNamespaces removes inline namespaces from the names that begin with std::.
func dropInlineNamespaces(name string) string {
	const std = "std::"
	var out strings.Builder
	for {
		at := strings.Index(name, std)
		if at < 0 {
			out.WriteString(name)
			return out.String()
		}
		inside := at > 0 && (isNameByte(name[at-1]) || name[at-1] == ':')
		out.WriteString(name[:at+len(std)])
		if name = name[at+len(std):]; inside {
			continue
		}
		for {
			part, rest, more := strings.Cut(name, "::")
			if !more || strings.ContainsFunc(part, func(r rune) bool { return r >= 0x80 || !isNameByte(byte(r)) }) {
				break
			}
			if !slices.Contains(inlineNamespaces, part) {
				out.WriteString(part + "::")
			}
			name = rest
		}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c == '$' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

// maxNesting is how deep brackets are followed.
const maxNesting = 100

// nameReader reads a demangled name, and returns it with short template arguments.
type nameReader struct {
	s     string
	pos   int
	depth int
	bad   bool
}

// text reads up to one of the bytes of stop outside of brackets, or to the end.
func (r *nameReader) text(stop string) string {
	if r.depth++; r.depth > maxNesting {
		r.bad = true
	}
	defer func() { r.depth-- }()
	var out []byte
	for r.pos < len(r.s) && !r.bad {
		c := r.s[r.pos]
		switch {
		case c == '>' && len(out) > 0 && out[len(out)-1] == '-': // the arrow before a type
		case strings.IndexByte(stop, c) >= 0:
			return string(out)
		case c == '(' || c == '[' || c == '{':
			out = append(out, r.group(c)...)
			continue
		case c == '<' && opensTemplate(out):
			out = r.template(out)
			continue
		case c == ')' || c == ']' || c == '}':
			r.bad = true
		case isNameByte(c):
			out = append(out, r.word()...)
			continue
		}
		out = append(out, c)
		r.pos++
	}
	if stop != "" {
		r.bad = true
	}
	return string(out)
}

// opensTemplate reports whether a `<` after that text opens a list, and is not an operator: `operator< <int>` has one of each.
func opensTemplate(before []byte) bool {
	return !bytes.HasSuffix(before, []byte(" ")) || bytes.HasSuffix(before, []byte("operator< ")) || bytes.HasSuffix(before, []byte("operator<< "))
}

// word reads an identifier, or the word operator with its sign.
func (r *nameReader) word() string {
	start := r.pos
	for r.pos < len(r.s) && isNameByte(r.s[r.pos]) {
		r.pos++
	}
	if r.s[start:r.pos] == "operator" {
		r.pos += len(operatorSign(r.s[r.pos:]))
	}
	return r.s[start:r.pos]
}

// operatorSign returns the sign that the text after the word operator begins with, if it has brackets.
func operatorSign(s string) string {
	for _, sign := range [...]string{"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<=", ">=", "<<", ">>", "<", ">"} {
		if !strings.HasPrefix(s, sign) {
			continue
		}
		// `operator<<int>(` is `operator<` with a template argument; `operator<<(` and `operator<<<int>(` are not.
		if rest := s[len(sign):]; sign == "<<" && rest != "" && rest[0] != '(' && rest[0] != '<' && rest[0] != ' ' {
			return "<"
		}
		return sign
	}
	return ""
}

// group reads a bracket with its contents.
func (r *nameReader) group(open byte) string {
	closing := map[byte]string{'(': ")", '[': "]", '{': "}"}[open]
	r.pos++
	inside := r.text(closing)
	r.pos++
	return string(open) + inside + closing
}

// template reads template arguments, and appends them to the name before them.
func (r *nameReader) template(out []byte) []byte {
	var args []string
	for r.pos < len(r.s) && r.s[r.pos] != '>' && !r.bad {
		r.pos++ // the bracket, or a comma
		args = append(args, strings.TrimSpace(r.text(",>")))
	}
	r.pos++
	start := len(out)
	for start > 0 && (isNameByte(out[start-1]) || out[start-1] == ':') {
		start--
	}
	name := string(out[start:])
	return append(out[:start], shortTemplate(name, args)...)
}
