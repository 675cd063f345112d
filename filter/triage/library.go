package triage

import (
	"strings"
	"sync"
)

// rustModules are those of the crates core and alloc of Rust. In C++ a namespace may have the name of a crate.
var rustModules = sync.OnceValue(func() map[string]bool {
	return words(`alloc any array ascii async_iter bool borrow boxed cell char clone cmp collections convert core_arch core_simd default error
	f32 f64 ffi fmt future hash hint intrinsics iter macros marker mem net num ops option panic panicking pin primitive ptr range raw_vec rc
	result slice str string sync task time unicode unsafe_binder vec`)
})

// ofRust reports whether a function, as Name returns it, is of Rust's standard library. That its source file is in a directory of Rust's
// is not looked at.
func ofRust(name, file string) bool {
	if file != "" && !strings.HasSuffix(file, ".rs") {
		return false
	}
	if !strings.HasPrefix(name, "<") {
		return ofRustCrate(name)
	}
	of, trait, implements := cutAs(name[1:max(1, closing(name, 0)-1)])
	if !implements {
		return isRustType(of)
	}
	return ofRustCrate(trait) && isRustType(of)
}

// ofRustCrate reports whether a path begins with std, or with a module of core or alloc.
func ofRustCrate(path string) bool {
	crate, rest, ok := strings.Cut(path, "::")
	if !ok || crate == "std" {
		return ok
	}
	if crate != "core" && crate != "alloc" {
		return false
	}
	module, _, _ := strings.Cut(rest, "::")
	return rustModules()[module]
}

// cutAs cuts `T as Trait` outside of brackets.
func cutAs(text string) (of, trait string, ok bool) {
	const as = " as "
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '<', '(', '[':
			depth++
		case '>', ')', ']':
			depth--
		case ' ':
			if depth == 0 && strings.HasPrefix(text[i:], as) {
				return text[:i], text[i+len(as):], true
			}
		}
	}
	return text, "", false
}

// isRustType reports whether a type is of the standard library or of the language, or stands for any type, as T and &T do.
func isRustType(of string) bool {
	of = strings.TrimLeft(of, "<") // `<T>::f::Type`, a type within a function
	of, isAny := strings.CutPrefix(of, "dyn ")
	if isAny {
		return ofRustCrate(of)
	}
	if of == "" || strings.IndexByte("&*[(", of[0]) >= 0 {
		return true
	}
	if of[0] == '<' { // a type in a function of another: <std::T>::f::Inner
		return ofRust(of, "")
	}
	if strings.IndexFunc(of, func(r rune) bool { return r == ':' || r == '<' }) < 0 { // of no crate
		return len(of) == 1 || of == strings.ToLower(of)
	}
	return ofRustCrate(of)
}

// goStd are the first parts of the paths of Go's own packages.
var goStd = sync.OnceValue(func() map[string]bool {
	return words(`archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash html image
	index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings structs sync syscall
	testing text time unicode unique unsafe weak`)
})

// ofGo reports whether a function of a source file in Go is of Go's own packages, whose files lie below src of the toolchain, or have
// paths that begin with the package (-trimpath).
func ofGo(name, file string) bool {
	if !strings.HasSuffix(file, ".go") {
		return false
	}
	slash := strings.LastIndexByte(name, '/') + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return false
	}
	of := name[:slash+dot]
	first, _, _ := strings.Cut(of, "/")
	return goStd()[first] && (strings.HasPrefix(strings.TrimPrefix(file, "/"), of+"/") || strings.Contains(file, "/src/"+of+"/"))
}
