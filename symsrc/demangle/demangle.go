// Package demangle turns the names of linkers into readable ones. Demangle writes those of frames, Symbol those that stand by
// themselves, Type those of C++ types, and LLVM what llvm writes in either place. clone.go has the suffixes of the copies that
// compilers make, plain.go the form in which names from different readers are compared.
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
