package rust

import (
	"math/bits"
	"strings"
)

// DemangleLegacy returns the readable form of a name of the scheme before v0: `_ZN`, length-prefixed components with escapes
// (`$LT$` for <, `..` for ::), a hash (`17h` and 16 digits), `E`, and an optional suffix (`.llvm.123`). The hash is kept, as
// in llvm. It returns false for names without a hash, which are C++ names.
func DemangleLegacy(name string) (string, bool) {
	body, ok := strings.CutPrefix(name, "_ZN")
	if !ok || !strings.Contains(body, "17h") {
		return "", false
	}
	out := make([]byte, 0, len(name)+8)
	for {
		n, digits := 0, 0
		for digits < len(body) && digits < 5 && body[digits]-'0' < 10 {
			n = n*10 + int(body[digits]-'0')
			digits++
		}
		if n == 0 || digits+n >= len(body) {
			return "", false
		}
		component := body[digits : digits+n]
		body = body[digits+n:]
		if body[0] == 'E' && isLegacyHash(component) {
			out = append(out, component...)
			break
		}
		out = append(appendUnescaped(out, component), "::"...)
	}
	switch suffix := body[1:]; {
	case suffix == "":
	case suffix[0] == '.':
		out = append(append(append(out, " ("...), suffix...), ')')
	default:
		return "", false
	}
	return string(out), true
}

// isLegacyHash reports whether s is a hash such as `h0123456789abcdef`. A real hash has at least five different digits; other
// demanglers use the same test to exclude C++ names of that shape.
func isLegacyHash(s string) bool {
	if len(s) != 17 || s[0] != 'h' {
		return false
	}
	var seen uint16
	for _, c := range []byte(s[1:]) {
		v := hexValue(c)
		if v < 0 {
			return false
		}
		seen |= 1 << v
	}
	return bits.OnesCount16(seen) >= 5
}

// legacyEscapes maps the named escapes, without the dollar signs, to their characters.
var legacyEscapes = map[string]byte{
	"SP": '@', "BP": '*', "RF": '&', "LT": '<', "GT": '>', "LP": '(', "RP": ')', "C": ',',
}

// Unescape returns a name that was read as one of C++, so that it has the escapes of legacy Rust names, without these: `<a::T as b::U>::f` for
// `_$LT$a..T$u20$as$u20$b..U$GT$::f`. Another name is returned as it is.
func Unescape(name string) string {
	if !strings.Contains(name, "$") || strings.Contains(name, "_ZN") || !hasEscapes(name) { // or a mangled name
		return name
	}
	parts := strings.Split(name, "::")
	for i, part := range parts {
		if hasEscapes(part) {
			parts[i] = string(appendUnescaped(nil, part))
		}
	}
	return strings.Join(parts, "::")
}

// hasEscapes reports whether a name has one of the escapes that names of other languages do not have.
func hasEscapes(name string) bool {
	for _, escape := range [...]string{"$LT$", "$GT$", "$RF$", "$BP$", "$u20$", "$u7b$", "$u7d$"} {
		if strings.Contains(name, escape) {
			return true
		}
	}
	return false
}

// appendUnescaped appends one component with its escapes decoded. After an unknown escape, which is kept, nothing is decoded.
func appendUnescaped(dst []byte, s string) []byte {
	if strings.HasPrefix(s, "_$") {
		s = s[1:] // rustc adds it so that the component does not begin with a dollar sign
	}
	for s != "" {
		switch {
		case strings.HasPrefix(s, ".."):
			dst = append(dst, "::"...)
			s = s[2:]
		case s[0] == '$':
			code, rest, ok := strings.Cut(s[1:], "$")
			c := escaped(code)
			if !ok || c == 0 {
				return append(dst, s...)
			}
			dst = append(dst, c)
			s = rest
		default:
			dst = append(dst, s[0])
			s = s[1:]
		}
	}
	return dst
}

// escaped returns the character of an escape, or 0 if it is unknown: `<` for LT, `{` for u7b.
func escaped(code string) byte {
	if len(code) == 3 && code[0] == 'u' {
		if v := hexValue(code[1])<<4 | hexValue(code[2]); v >= ' ' && v <= '~' {
			return byte(v)
		}
		return 0
	}
	return legacyEscapes[code]
}

// hexValue returns the value of a lower-case hexadecimal digit, or -1 for any other byte.
func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
