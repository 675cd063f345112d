package tree

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
)

// errSource is the error of a file of source code or of symbols.
var errSource = fmt.Errorf("%w: source code or symbols, by its name", errSkip)

// sources are the suffixes of files that are text and no logs: of source code, scripts, and symbols. A file without a dot in its name, or
// with a suffix that is not known, may be a log.
var sources = strings.Fields(`.c .cc .cpp .cxx .c++ .h .hh .hpp .hxx .inc .ipp .m .mm .s .asm .go .rs .java .kt .kts .swift .scala .cs .d .zig .nim
	.py .pyi .js .mjs .cjs .jsx .ts .tsx .rb .pl .pm .php .lua .tcl .sh .bash .zsh .fish .bat .ps1 .cmake .mk .am .ac .gn .gni .bp .bazel .bzl .gradle
	.html .htm .css .scss .md .rst .tex .svg .toml .sym .gsym .map .ld .lds .proto .cmd .patch .diff`)

// isSource reports whether a file is source code, a script or symbols by its name.
func isSource(rel string) bool {
	name := strings.ToLower(path.Base(rel))
	return slices.Contains(sources, path.Ext(name)) || name == "makefile" || name == "cmakelists.txt"
}

// checkPattern returns an error unless a text is a pattern of Include and Exclude.
func checkPattern(pattern string) error {
	if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
		return errors.New("want a pattern such as *.log or build/*")
	}
	return nil
}

// matches reports whether one of the patterns matches a path, or the name at its end.
func matches(patterns []string, rel string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		of := rel
		if !strings.Contains(pattern, "/") {
			of = path.Base(rel)
		}
		ok, err := path.Match(strings.TrimSuffix(pattern, "/"), of)
		return ok && err == nil
	})
}

// excluded reports whether a file or a directory is left out, with all that is in it.
func (o *Options) excluded(rel string) bool { return matches(o.Exclude, rel) }

// included reports whether a file is one of those that are to be read.
func (o *Options) included(rel string) bool { return len(o.Include) == 0 || matches(o.Include, rel) }

// kinds are numbers of files that are no logs.
type kinds struct{ binaries, sources atomic.Int64 }

// count counts a file. It reports false for an error of another kind.
func (k *kinds) count(err error) bool {
	switch {
	case errors.Is(err, errBinary):
		k.binaries.Add(1)
	case errors.Is(err, errSource):
		k.sources.Add(1)
	default:
		return false
	}
	return true
}
