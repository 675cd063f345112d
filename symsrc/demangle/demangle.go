// Package demangle turns mangled names into readable ones. Demangle writes those of frames, Symbol those that stand alone, Type those
// of C++ types, and LLVM what llvm writes in either place. PlainName is the form in which names from different readers are compared.
//
// The schemes are read by packages of their own: itanium (C++ but for Windows), msvc (C++ of Windows), rust and d.
package demangle

import (
	"strings"

	"qss-filter/symsrc/demangle/d"
	"qss-filter/symsrc/demangle/itanium"
	"qss-filter/symsrc/demangle/msvc"
	"qss-filter/symsrc/demangle/rust"
)

// maxName is the longest name, in bytes, that is demangled. Real names of over 1000 bytes are rare; beyond a few thousand the
// depth of recursion is a risk.
const maxName = 4096

// Demangle returns the readable form of a symbol of C++ (of the Itanium ABI or of Microsoft's compiler), Rust (v0 and legacy) or
// D in llvm's style, and every other name unchanged. Names over 4096 bytes, and those whose readable form is over 64 KiB, are
// unchanged too. A function of Microsoft's compiler has no access, result and calling convention, as in llvm's frames.
//
// It differs from llvm where that says less or is wrong: template parameters in lambdas and in names in functions are taken
// from the right template, the escapes of legacy Rust names are decoded (`Vec<T>` for `Vec$LT$T$GT$`), and names of old
// versions of gcc and clones for transactions are read. Apple's extra leading underscore is accepted. A clone suffix follows
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

// LLVM returns what llvm makes of a symbol. Where Demangle says more, or is right and llvm is not, it follows llvm: template
// parameters in lambdas and in names in functions come from the template that llvm takes them from, the escapes of legacy Rust
// names stay (`Vec$LT$T$GT$`), as clones for transactions do, a dot before the name is kept, and the readable form ends before
// a NUL. With underscore set, one more underscore may stand before the name, as in llvm::demangle. The names of frames have
// none, and those of Microsoft's compiler are shorter there.
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

// demangleLLVM chooses the scheme by how a name begins.
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

// PlainName returns a function's name in the form on which all readers of one symbol table agree, however they write it:
// readable, without parameters, symbol version, spaces and clone suffixes. It returns "" for a name that has no such form.
func PlainName(name string) string {
	if at := strings.IndexByte(name, '@'); at > 0 && name[0] != '?' {
		if strings.HasPrefix(name[at:], "@plt") {
			return "" // a stub may be of the file that has the function, too
		}
		name = name[:at]
	}
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
		if name = name[:at]; strings.HasSuffix(name, " ") { // of a pointer to a function
			return ""
		}
	}
	return strings.ReplaceAll(name, " ", "")
}

// parameters returns where the parameters of a readable name begin, -1 if it has none.
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

// cloneSuffixes are the words that compilers put after the name of a copy or a part of a function, in `f.isra.0.cold`. Where
// part is set the word says which part of a coroutine it is, so it stays in shortened names.
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

// IsCloneSuffix reports whether s, such as `.isra.0.cold`, is nothing but suffixes of copies and parts of functions, each of
// which may have numbers. The suffixes of coroutines are none, for they say which part of the function it is.
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

// isCloneWord reports whether word is a part of such a suffix, or of a coroutine's.
func isCloneWord(word string) bool {
	_, known := cloneSuffixes[word]
	return known || isNumber(word)
}

// isNumber reports whether s has only digits, if any.
func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }
