package demangle

import (
	"strings"

	"qss-filter/symsrc/demangle/d"
	"qss-filter/symsrc/demangle/itanium"
	"qss-filter/symsrc/demangle/msvc"
	"qss-filter/symsrc/demangle/rust"
)

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
