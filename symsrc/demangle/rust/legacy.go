package rust

import (
	"math/bits"
	"strings"
)

// DemangleLegacy returns the readable form of a name from before the v0 scheme: `_ZN`, length-prefixed components with escapes
// (`$LT$` for <, `..` for ::), a hash (`17h` and 16 digits), `E`, perhaps a suffix (`.llvm.123`). The hash is kept, as
// llvm does. It refuses names without a hash, which are C++.
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

// isLegacyHash reports whether s is `h0123456789abcdef`. A real hash has at least five different digits; that keeps C++
// names of that shape apart, as other demanglers do.
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

// legacyEscapes are the named escapes, without their dollars.
var legacyEscapes = map[string]byte{
	"SP": '@', "BP": '*', "RF": '&', "LT": '<', "GT": '>', "LP": '(', "RP": ')', "C": ',',
}

// appendUnescaped appends one component. An escape that is not known leaves the rest of the component as it is.
func appendUnescaped(dst []byte, s string) []byte {
	if strings.HasPrefix(s, "_$") {
		s = s[1:] // put there so that the component does not begin with a dollar
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

// escaped is the character an escape stands for, 0 where it stands for none: LT is <, u7b is {.
func escaped(code string) byte {
	if len(code) == 3 && code[0] == 'u' {
		if v := hexValue(code[1])<<4 | hexValue(code[2]); v >= ' ' && v <= '~' {
			return byte(v)
		}
		return 0
	}
	return legacyEscapes[code]
}

// hexValue is the value of a lower-case hexadecimal digit, -1 of anything else.
func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	}
	return -1
}
