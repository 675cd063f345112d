package symsrc

import "strings"

// maxMangled is the longest name, in bytes, that is demangled. Real names of over 1000 bytes are rare; beyond a few
// thousand the cost grows with the square of the length, and the depth of recursion with the length.
const maxMangled = 4096

// Demangle returns the readable form of a symbol of C++ (of the Itanium ABI or of Microsoft's compiler), Rust (v0 and legacy) or D
// in llvm's style, and every other name as it is. So it does with names of over 4096 bytes, and with those whose readable form is
// over 64 KiB. A function of Microsoft's compiler has no access, result and calling convention, as llvm writes it in frames.
//
// It differs from llvm where that says less: the escapes of legacy Rust names are decoded (`Vec<T>` for `Vec$LT$T$GT$`),
// and transaction clones are named. Apple's extra leading underscore is accepted. A clone suffix follows in
// parentheses: `f() (.cold)`.
func Demangle(name string) string {
	if len(name) < 3 || name[0] != '_' && name[0] != '?' || len(name) > maxMangled {
		return name
	}
	mangled := name
	if strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "__R") || strings.HasPrefix(name, "____Z") {
		mangled = name[1:]
	}
	s, ok := "", false
	switch {
	case mangled[0] == '?':
		s, ok = demangleMSVC(mangled, true)
	case strings.HasPrefix(mangled, "_D"):
		s, ok = demangleD(mangled)
	case strings.HasPrefix(mangled, "_R"):
		s, ok = demangleRust(mangled)
	case strings.HasPrefix(mangled, "_Z"):
		if s, ok = demangleLegacyRust(mangled); !ok {
			s, ok = demangleItanium(mangled)
		}
	case strings.HasPrefix(mangled, "___Z"): // a block: ___Z3foov_block_invoke_2
		s, ok = demangleItanium(mangled)
	}
	if !ok || s == "" {
		return name
	}
	return s
}
