package symsrc

import "strings"

// DemangleLLVM gives what llvm::demangle makes of a symbol: as Demangle, but with the escapes of legacy Rust names as
// they stand (`Vec$LT$T$GT$`), with one more underscore allowed before every mangled name, and with a dot kept before it.
// The readable form ends before a NUL. Names of D and of Microsoft's compiler stay as they are, which llvm demangles.
func DemangleLLVM(name string) string {
	if s, ok := demangleLLVM(name, true); ok {
		return s
	}
	if len(name) > 0 && name[0] == '_' {
		if s, ok := demangleLLVM(name[1:], false); ok {
			return s
		}
	}
	return name
}

func demangleLLVM(name string, dot bool) (s string, ok bool) {
	if dot && strings.HasPrefix(name, ".") {
		s, ok = demangleLLVM(name[1:], false)
		return "." + s, ok
	}
	if len(name) > maxMangled {
		return "", false
	}
	switch {
	case strings.HasPrefix(name, "_Z"), strings.HasPrefix(name, "___Z"):
		s, ok = demangleItanium(name)
	case strings.HasPrefix(name, "_R"):
		s, ok = demangleRust(name)
	}
	s, _, _ = strings.Cut(s, "\x00")
	return s, ok
}
