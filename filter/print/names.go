package print

import (
	"strings"

	"qss-filter/filter/print/cxxname"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// Names is how functions and paths are written. The zero Names writes what the debug information has.
type Names struct {
	// Short leaves out what C++ names have by default.
	Short bool
	// Map replaces directories of the machine of the build by those of this machine. The longest that fits counts.
	Map []PathMap
	// Strip are directories that are left out at the beginning of a path. The longest that fits counts.
	Strip []string
	// Base shows files without their directories. Relative shows them without the compilation directory.
	Base, Relative bool
	// Own says which functions are the program's own.
	Own triage.Rules
}

// PathMap replaces the directory From by To.
type PathMap struct{ From, To string }

// function returns the name of a function of that source file as it is shown.
func (n *Names) function(name, file string) string {
	if n.Short && !strings.HasSuffix(file, ".go") { // in Go, main.cold is the function cold of package main
		name = cxxname.Shorten(name)
	}
	return symsrc.Visible(name)
}

// local returns the path of a source file on this machine.
func (n *Names) local(path string) string {
	if path == "" {
		return ""
	}
	best, tail := PathMap{}, path
	for _, m := range n.Map {
		if rest, ok := below(path, m.From); ok && len(m.From) > len(best.From) {
			best, tail = m, rest
		}
	}
	switch {
	case best.From == "" || best.To == "":
		return tail
	case tail == "":
		return best.To
	}
	return strings.TrimRight(best.To, "/") + "/" + tail
}

// source returns the path of a frame's file as it is written.
func (n *Names) source(fr *symsrc.Frame) string {
	switch {
	case n.Base:
		return fr.File[strings.LastIndexAny(fr.File, `/\`)+1:]
	case n.Relative && fr.CompDir > 0:
		return fr.File[fr.CompDir:]
	}
	return n.shown(n.local(fr.File))
}

// shown returns a path on this machine as it is written.
func (n *Names) shown(path string) string {
	longest, tail := "", path
	for _, dir := range n.Strip {
		if rest, ok := below(path, dir); ok && rest != "" && len(dir) > len(longest) {
			longest, tail = dir, rest
		}
	}
	return tail
}

// below reports whether a path lies in a directory, and returns the rest of it. Both are compared component by component.
// Empty components and dots do not count.
func below(path, dir string) (rest string, ok bool) {
	if isAbsolute(dir) != isAbsolute(path) {
		return "", false
	}
	for {
		var want, has string
		if want, dir = component(dir); want == "" {
			break
		}
		if has, path = component(path); has != want {
			return "", false
		}
	}
	for path != "" && (isSeparator(path[0]) || strings.HasPrefix(path, "./") || strings.HasPrefix(path, `.\`)) {
		path = path[1:]
	}
	return path, true
}

// component cuts the first component off a path. It is "" if there is none.
func component(path string) (first, rest string) {
	for path != "" {
		end := strings.IndexAny(path, `/\`)
		if end < 0 {
			end = len(path)
		}
		first, path = path[:end], path[min(end+1, len(path)):]
		if first != "" && first != "." {
			return first, path
		}
	}
	return "", ""
}

// isAbsolute reports whether a path needs no directory before it, on Unix or on Windows.
func isAbsolute(path string) bool {
	return path != "" && (isSeparator(path[0]) || hasDrive(path))
}

// hasDrive reports whether a path begins with a drive of Windows, as `C:\`.
func hasDrive(path string) bool { return len(path) > 2 && path[1] == ':' && isSeparator(path[2]) }

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// InWords returns the frames of an answer as they are written. It copies them if that differs.
func (n *Names) InWords(known []symsrc.Frame) []symsrc.Frame {
	shown := known
	for i := range known {
		name := n.function(known[i].Func, known[i].File)
		file := symsrc.Visible(n.source(&known[i]))
		if name == known[i].Func && file == known[i].File {
			continue
		}
		if &shown[0] == &known[0] {
			shown = append([]symsrc.Frame(nil), known...)
		}
		shown[i].Func, shown[i].File = name, file
	}
	return shown
}

// Mapped returns the frames of an answer with the paths of this machine.
func (n *Names) Mapped(known []symsrc.Frame) []symsrc.Frame {
	if len(n.Map) == 0 {
		return known
	}
	known = append([]symsrc.Frame(nil), known...)
	for i := range known {
		known[i].File = n.local(known[i].File)
	}
	return known
}
