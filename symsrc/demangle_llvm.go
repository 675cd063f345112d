package symsrc

import (
	"strings"

	"qss-filter/symsrc/itanium"
)

// DemangleLLVM gives what llvm makes of a symbol. It differs from Demangle where that says more, or is right and llvm is not:
// names within functions and lambdas have the template parameters that llvm takes for theirs, the escapes of legacy Rust
// names stay as they stand (`Vec$LT$T$GT$`), as clones for transactions do, a dot before the name is kept, and the readable
// form ends before a NUL. With underscore set one more may stand before the name, as llvm::demangle has it, which is not for
// names of frames; those of Microsoft's compiler are shorter in frames.
func DemangleLLVM(name string, underscore bool) string {
	mangled, dot := strings.CutPrefix(name, ".")
	s, ok := demangleLLVM(mangled)
	if !ok && underscore && strings.HasPrefix(name, "_") {
		s, ok = demangleLLVM(name[1:])
	}
	switch {
	case !ok && name != "" && (name[0] == '?' || dot && underscore):
		if s, ok = demangleMSVC(name, !underscore); ok {
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

// demangleLLVM goes by how a name begins.
func demangleLLVM(name string) (s string, ok bool) {
	if len(name) > maxMangled {
		return "", false
	}
	switch {
	case strings.HasPrefix(strings.TrimLeft(name, "_"), "Z"):
		s, ok = itanium.Demangle(name)
	case strings.HasPrefix(name, "_R"):
		s, ok = demangleRust(name)
	case strings.HasPrefix(name, "_D"):
		s, ok = demangleD(name)
	}
	s, _, _ = strings.Cut(s, "\x00")
	return s, ok
}
