// Package demangle turns mangled names into readable ones. Demangle is for the names in frames, Symbol for names on their own, Type
// for C++ types, and LLVM returns what llvm prints in either place. PlainName returns the form in which names from different readers
// can be compared.
//
// Each mangling scheme has its own package: itanium (C++ except on Windows), msvc (C++ on Windows), rust and d.
package demangle

import (
	"strings"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/demangle/d"
	"qss-filter/symsrc/demangle/itanium"
	"qss-filter/symsrc/demangle/msvc"
	"qss-filter/symsrc/demangle/rust"
)

// maxName is the longest name, in bytes, that is demangled. Real names of over 1000 bytes are rare; beyond a few thousand the
// depth of recursion is a risk.
const maxName = 4096

// Demangle returns the readable form of a C++ (Itanium ABI or Microsoft), Rust (v0 or legacy) or D symbol in llvm's style, and
// every other name unchanged. Names longer than 4096 bytes, and names whose readable form is longer than 64 KiB, are also
// unchanged. Functions compiled by Microsoft's compiler are written without access specifier, return type and calling
// convention, as in llvm's frames.
//
// It differs from llvm where llvm omits something or is wrong: template parameters in lambdas and in local names refer to
// the right template, the escapes of legacy Rust names are decoded (`Vec<T>` for `Vec$LT$T$GT$`), and the names of old
// gcc versions and transaction clones are demangled. Apple's extra leading underscore is accepted. A clone suffix follows
// in parentheses: `f() (.cold)`.
func Demangle(name string) string {
	if len(name) < 3 || name[0] != '_' && name[0] != '?' || len(name) > maxName {
		return name
	}
	mangled := name
	if strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "__R") || strings.HasPrefix(name, "____Z") {
		mangled = name[1:]
	}
	s, ok := "", false
	switch {
	case mangled[0] == '?':
		s, ok = msvc.Demangle(mangled, true)
	case strings.HasPrefix(mangled, "_D"):
		s, ok = d.Demangle(mangled)
	case strings.HasPrefix(mangled, "_R"):
		s, ok = rust.Demangle(mangled)
	case strings.HasPrefix(mangled, "_Z"):
		if s, ok = rust.DemangleLegacy(mangled); !ok {
			s, ok = itanium.Demangle(mangled, itanium.Standard)
		}
	case strings.HasPrefix(mangled, "___Z"): // a block: ___Z3foov_block_invoke_2
		s, ok = itanium.Demangle(mangled, itanium.Standard)
	}
	if !ok || s == "" {
		return name
	}
	return s
}

// Unescape returns a name without the escapes of legacy Rust names (`$LT$`, `..`), which demanglers that know only C++ leave there.
func Unescape(name string) string { return rust.Unescape(name) }

// LLVM returns what llvm prints for a symbol, also where Demangle returns more or where llvm is wrong: template parameters in
// lambdas and in local names refer to the template that llvm chooses, the escapes of legacy Rust names (`Vec$LT$T$GT$`) and
// the names of transaction clones are unchanged, a dot before the name is kept, and the readable form ends before a NUL.
//
// With underscore set, one additional leading underscore is accepted, as in llvm::demangle. Without it, the result is the
// name in a frame: no additional underscore is accepted, and Microsoft's names are written in their short form.
func LLVM(name string, underscore bool) string {
	mangled, dot := strings.CutPrefix(name, ".")
	s, ok := demangleLLVM(mangled)
	if !ok && underscore && strings.HasPrefix(name, "_") {
		s, ok = demangleLLVM(name[1:])
	}
	switch {
	case !ok && name != "" && (name[0] == '?' || dot && underscore):
		if s, ok = msvc.Demangle(name, !underscore); ok {
			s, _, _ = strings.Cut(s, "\x00")
			return s
		}
		return name
	case !ok:
		return name
	case dot:
		return "." + s
	}
	return s
}

// demangleLLVM chooses the scheme by the prefix of the name.
func demangleLLVM(name string) (s string, ok bool) {
	if len(name) > maxName {
		return "", false
	}
	switch {
	case strings.HasPrefix(strings.TrimLeft(name, "_"), "Z"):
		s, ok = itanium.Demangle(name, itanium.LLVM)
	case strings.HasPrefix(name, "_R"):
		s, ok = rust.Demangle(name)
	case strings.HasPrefix(name, "_D"):
		s, ok = d.Demangle(name)
	}
	s, _, _ = strings.Cut(s, "\x00")
	return s, ok
}

// Symbol returns the readable form of a name that is not part of a frame, as in the messages of sanitizers: the result of
// Demangle or Type, except that Microsoft's names keep return type and calling convention. Other names are unchanged.
func Symbol(name string) string {
	if strings.HasPrefix(name, "?") || strings.HasPrefix(name, ".?") {
		if s, ok := msvc.Demangle(name, false); ok {
			return s
		}
		return name
	}
	return Type(Demangle(name))
}

// Type returns the readable form of a mangled C++ type without the `_Z` of a symbol, as in type_info::name and in
// sanitizers' `{{{symbol:1C}}}`: `3Foo` is Foo, `N2ns1CE` is ns::C, `PKc` is char const*. Everything else is unchanged.
//
// Every single letter and many short words are also valid mangled types (`i` is int, `Pi` is int*, `So` is std::ostream,
// `K1f` is f const). A plain word must never change, so the whole name has to parse as a type that begins with
//
//   - a length: `3Foo`, because no identifier begins with a digit; or
//   - N or St, with a length in it: `N2ns1CE`, `St9exception`; or
//   - a standard abbreviation with template arguments: `SaIcE`; or
//   - P, optionally more of P, K and V, and then one of the above or, after a K or V, the letter of a builtin type: `P3Foo`,
//     `PKc`. Without a K or V the name has at least two letters.
//
// Types that begin with a reference or a qualifier are unchanged, because type_info has no such names.
func Type(name string) string {
	if len(name) < 2 || len(name) > maxName || !plausibleType(name) {
		return name
	}
	// The mangled name of a type_info object is _ZTI and the mangled type.
	s, _ := itanium.Demangle("_ZTI"+name, itanium.Standard)
	if s, ok := strings.CutPrefix(s, "typeinfo for "); ok {
		return s
	}
	return name
}

// plausibleType reports whether name may be a type that Type demangles. It is a cheap test before the parse.
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

// isWord reports whether s consists of characters that occur in mangled names.
func isWord(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && c != '$' && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return true
}

// PlainName returns a function's name in a form that does not depend on the tool that printed it: demangled, without
// parameters, symbol version, spaces and clone suffixes. It returns "" for a name that has no such form.
func PlainName(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 && strings.HasPrefix(name[at:], "@plt") {
		return "" // the file that defines the function may have a stub for it, too
	}
	name = bin.Unversioned(name)
	if strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") || strings.HasPrefix(name, "__Z") {
		readable := Demangle(name)
		if readable == name {
			return ""
		}
		name = readable
	}
	for _, mark := range [...]string{" (.", " [clone "} {
		name, _, _ = strings.Cut(name, mark)
	}
	for {
		at := strings.LastIndexByte(name, '.')
		if at <= 0 || !isCloneWord(name[at+1:]) {
			break
		}
		name = name[:at]
	}
	if strings.Contains(name, "operator") || strings.Contains(name, "decltype") || strings.HasPrefix(name, "?") {
		return ""
	}
	name = strings.ReplaceAll(name, "(anonymous namespace)", "{anonymous}")
	if at := parameters(name); at >= 0 {
		if name = name[:at]; strings.HasSuffix(name, " ") { // the parenthesis belongs to a function pointer
			return ""
		}
	}
	return strings.ReplaceAll(name, " ", "")
}

// parameters returns the index of the parameter list of a demangled name, or -1 if it has none.
func parameters(name string) int {
	depth := 0
	for i := range len(name) {
		switch name[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// cloneSuffixes are the words that compilers append to the name of a copy or a part of a function, as in `f.isra.0.cold`.
// part is set for the words that name a part of a coroutine; they are kept in shortened names.
var cloneSuffixes = map[string]struct{ part bool }{
	"isra":       {}, // gcc -fipa-sra
	"part":       {}, // gcc -fpartial-inlining
	"cold":       {}, // gcc -freorder-functions, LLVM's hot-cold splitting
	"warm":       {}, // BOLT
	"constprop":  {}, // gcc -fipa-cp
	"clone":      {}, // gcc, before the words above
	"lto_priv":   {}, // gcc -flto
	"localalias": {}, // gcc
	"llvm":       {}, // LLVM's promotion of local names in ThinLTO
	"__uniq":     {}, // clang -funique-internal-linkage-names
	"resume":     {part: true},
	"destroy":    {part: true},
	"cleanup":    {part: true},
	"actor":      {part: true},
}

// IsCloneSuffix reports whether s, such as `.isra.0.cold`, consists only of clone suffixes, each optionally followed by
// numbers. The suffixes of coroutines do not count, because they name a part of the function.
func IsCloneSuffix(s string) bool {
	words := strings.Split(s, ".")
	if words[0] != "" || len(words) < 2 {
		return false
	}
	for i, word := range words[1:] {
		suffix, known := cloneSuffixes[word]
		number := i > 0 && word != "" && isNumber(word)
		if !number && (!known || suffix.part) {
			return false
		}
	}
	return true
}

// isCloneWord reports whether word is part of a clone suffix, those of coroutines included.
func isCloneWord(word string) bool {
	_, known := cloneSuffixes[word]
	return known || isNumber(word)
}

// isNumber reports whether s consists of digits; it may be empty.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
