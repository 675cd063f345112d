package sourcemap

import "bytes"

// What sources in TypeScript have besides JavaScript is skipped where it is between the parameters of a function and its body.

// maxType bounds a type, in bytes.
const maxType = 1 << 10

// skipGenerics returns the offset after the parameters of types at an offset, and the blanks around them.
func skipGenerics(text []byte, i int) int {
	i = blanks(text, i)
	if i >= len(text) || text[i] != '<' {
		return i
	}
	depth := 0
	for k := i; k < min(len(text), i+maxType); k++ {
		switch c := text[k]; {
		case c == '<':
			depth++
		case c == '>' && text[k-1] != '=':
			if depth--; depth == 0 {
				return blanks(text, k+1)
			}
		}
	}
	return i
}

// typeEnd returns the offset of what follows the type at an offset: the brace of a body, an equals sign, or the arrow of the function whose
// result it is, if that is one. It returns the length of the text for other signs.
func typeEnd(text []byte, i int, ofArrow bool) int {
	depth, operand := 0, true // whether the next one is expected
	for end := min(len(text), i+maxType); i < end; i++ {
		switch c := text[i]; {
		case c <= ' ':
		case c == '=' && bytes.HasPrefix(text[i:], []byte("=>")):
			if depth == 0 && ofArrow {
				return i
			}
			i++
			operand = true
		case c == '{' && depth == 0 && !operand, c == '=' && depth == 0:
			return i
		case c == '{', c == '(', c == '[', c == '<':
			depth++
		case c == '}', c == ')', c == ']', c == '>':
			if depth--; depth < 0 {
				return len(text)
			}
			operand = false
		case c == ';' && depth == 0, c == ',' && depth == 0:
			return len(text)
		case c == '"', c == '\'', c == '`':
			n := bytes.IndexByte(text[i+1:], c)
			if n < 0 {
				return len(text)
			}
			i += 1 + n
			operand = false
		case wordBytes[c]:
			word := text[i:wordEnd(text, i)]
			switch string(word) {
			case "is", "extends", "keyof", "typeof", "readonly", "infer", "asserts", "unique", "new", "abstract":
				operand = true
			default:
				operand = false
			}
			i += len(word) - 1
		case c == '.':
		default:
			operand = true
		}
	}
	return len(text)
}

// typed reads the type of a function's result, if it follows the colon after the parentheses that were closed last.
func (l *lexer) typed() bool {
	if !l.types || l.after != afterParenthesis {
		return false
	}
	end := len(l.text)
	if l.closed.function || l.closed.maybe {
		end = typeEnd(l.text, l.at+1, false)
		if end < len(l.text) && l.text[end] != '{' {
			end = len(l.text)
		}
	}
	if top := l.top(); end == len(l.text) && (top == nil || top.choices == 0) {
		if end = typeEnd(l.text, l.at+1, true); !bytes.HasPrefix(l.text[end:], []byte("=>")) {
			end = len(l.text)
		}
	}
	if end == len(l.text) {
		return false
	}
	l.at = end
	return true
}
