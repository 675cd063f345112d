package cxxname

import "strings"

// fewBytes is the length of template arguments that stay, with their brackets: `<int>` says more than `<…>`.
const fewBytes = len("<int>")

// Outline returns the outline of a function's name: its template arguments are the ellipsis, and its parameters and the type that it
// returns are left out.
//
//	void std::_Destroy<std::string*>(std::string*, std::string*)  →  std::_Destroy<…>
//	std::function<void (int)>::operator()(int) const              →  std::function<…>::operator()
//	(anonymous namespace)::f(int)                                 →  (anonymous namespace)::f
//
// A name that is no C++ has no such parts, and stays as it is. So does one whose brackets do not match.
func Outline(name, ellipsis string) string {
	if len(name) > maxShort || strings.HasPrefix(name, "<") || strings.HasPrefix(name, "-[") || strings.HasPrefix(name, "+[") {
		return name // of Rust, where a type stands before the function, or of Objective-C
	}
	var out []byte
	for i := 0; i < len(name); {
		switch c := name[i]; {
		case isNameByte(c):
			r := nameReader{s: name, pos: i}
			out = append(out, r.word()...)
			i = r.pos
		case c == '<' && opensTemplate(out):
			end := closed(name, i)
			if end < 0 {
				return name
			}
			if end-i <= fewBytes {
				out = append(out, name[i:end]...)
			} else {
				out = append(append(append(out, '<'), ellipsis...), '>')
			}
			i = end
		case c == '(':
			end := closed(name, i)
			switch inside := name[i:max(i, end)]; {
			case end < 0:
				return name
			case inside == "(anonymous namespace)" || len(out) == 0 || out[len(out)-1] == '.': // a method of Go: pkg.(*T).f
				out = append(out, inside...)
			}
			i = end
		case c == ' ' && len(out) > 0 && !keptSpace(out, name[i+1:]):
			// What came before was the type that is returned.
			out, i = out[:0], i+1
		default:
			out = append(out, c)
			i++
		}
	}
	text := string(out)
	for _, end := range [...]string{"&", " const", " volatile"} {
		text = strings.TrimSuffix(text, end)
	}
	return strings.TrimRight(text, " ")
}

// qualifiers follow the parameters of a method.
var qualifiers = []string{"const", "volatile", "&", "[clone"}

// keptSpace reports whether a space after that text belongs to the name: `operator new`, `operator bool`, `unsigned int` after an operator,
// or one before what follows parameters.
func keptSpace(before []byte, after string) bool {
	text := string(before)
	at := strings.LastIndex(text, "operator")
	if at >= 0 && (at == 0 || !isNameByte(text[at-1])) {
		sign := text[at+len("operator"):]
		if sign == "" || isNameByte(sign[0]) || sign[0] == ' ' || strings.HasPrefix(after, "<") { // `operator<< <char>`
			return true
		}
	}
	if strings.HasSuffix(text, "(anonymous") {
		return true
	}
	for _, word := range qualifiers {
		if strings.HasPrefix(after, word) {
			return true
		}
	}
	return after == ""
}

// closed returns the index after the bracket that closes the one at name[at], or -1.
func closed(name string, at int) int {
	depth := 0
	for i := at; i < len(name); {
		switch c := name[i]; {
		case isNameByte(c):
			r := nameReader{s: name, pos: i}
			r.word()
			i = r.pos
			continue
		case c == '<' || c == '(' || c == '[' || c == '{':
			depth++
		case c == '>' && i > 0 && name[i-1] == '-':
		case c == '>' || c == ')' || c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}
