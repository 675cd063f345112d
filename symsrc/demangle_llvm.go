package symsrc

import (
	"strings"

	"qss-filter/symsrc/itanium"
)

// DemangleLLVM gives what llvm makes of a symbol. It differs from Demangle where that says more or refuses: the escapes of
// legacy Rust names stay as they stand (`Vec$LT$T$GT$`), a dot before the name is kept, and the readable form ends before a
// NUL. With underscore set one more may stand before the name, as llvm::demangle has it, which is not for names of frames;
// those of Microsoft's compiler are shorter in frames. Clones for transactions stay as they are.
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

// demangleLLVM takes one to four underscores before a Z: two are one, and four three, which is a block of Objective-C.
func demangleLLVM(name string) (s string, ok bool) {
	if len(name) > maxMangled {
		return "", false
	}
	if strings.HasPrefix(name, "__Z") || strings.HasPrefix(name, "____Z") {
		name = name[1:]
	}
	switch {
	case strings.HasPrefix(name, "_ZGTt"), strings.HasPrefix(name, "_ZGTn"): // clones for transactions
	case strings.HasPrefix(name, "_Z"), strings.HasPrefix(name, "___Z"):
		s, ok = itanium.Demangle(name)
	case strings.HasPrefix(name, "_R"):
		s, ok = demangleRust(name)
	case strings.HasPrefix(name, "_D"):
		s, ok = demangleD(name)
	}
	s, _, _ = strings.Cut(s, "\x00")
	return s, ok
}
