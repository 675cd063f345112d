package demangle

import (
	"strings"

	"qss-filter/symsrc/demangle/itanium"
	"qss-filter/symsrc/demangle/msvc"
)

// Symbol returns the readable form of a name that stands by itself, as sanitizers print them: that of Demangle, but with
// result and calling convention where Microsoft's compiler has them in a name, or that of a mangled type. Other names stay.
func Symbol(name string) string {
	if strings.HasPrefix(name, "?") || strings.HasPrefix(name, ".?") {
		if s, ok := msvc.Demangle(name, false); ok {
			return s
		}
		return name
	}
	return Type(Demangle(name))
}

// Type returns the readable form of a mangled C++ type without the `_Z` of a symbol, as type_info::name and
// sanitizers' `{{{symbol:1C}}}` have it, and everything else unchanged: `3Foo` is Foo, `N2ns1CE` ns::C, `PKc` char const*.
//
// Every single letter, and many a short word, is such a type too (`i` is int, `Pi` int*, `So` std::ostream, `K1f` f const).
// A plain word must never change, so the whole name has to parse as a type that begins with
//
//   - a length: `3Foo`, no identifier begins so; or
//   - N or St with a length in it: `N2ns1CE`, `St9exception`; or
//   - a standard abbreviation with template arguments: `SaIcE`; or
//   - P, perhaps more of P, K and V, and then one of the above, or, after a K or V, the letter of a built-in type: `P3Foo`,
//     `PKc`. Without a K or V the name is at least two letters long.
//
// References and qualifiers at the front are left alone: type_info has no such names.
func Type(name string) string {
	if len(name) < 2 || len(name) > maxName || !plausibleType(name) {
		return name
	}
	// The name of a type_info object is that of the type after _ZTI.
	s, _ := itanium.Demangle("_ZTI"+name, itanium.Standard)
	if s, ok := strings.CutPrefix(s, "typeinfo for "); ok {
		return s
	}
	return name
}

// plausibleType does the cheap tests of Type.
func plausibleType(name string) bool {
	if !isWord(name) {
		return false
	}
	rest := name
	if name[0] == 'P' {
		rest = strings.TrimLeft(name, "PKV")
	}
	qualified := strings.ContainsAny(name[:len(name)-len(rest)], "KV")
	switch {
	case rest == "":
		return false
	case rest[0] >= '1' && rest[0] <= '9':
		oneLetter := len(rest) == 2
		return len(rest) == len(name) || qualified || !oneLetter
	case len(rest) == 1:
		return qualified
	case rest[0] == 'N', strings.HasPrefix(rest, "St"):
		return strings.ContainsAny(rest, "123456789")
	case rest[0] == 'S':
		return len(rest) > 3 && rest[2] == 'I'
	}
	return false
}

// isWord reports whether s has only the characters of mangled names.
func isWord(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '$' && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}
