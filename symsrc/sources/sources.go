// Package sources finds source files: on this machine, below directories that the user names, and at debuginfod servers; and
// says whether a file is the one that was compiled.
package sources

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"qss-filter/symsrc"
)

// Options say where source files are. The zero Options look at their own paths only.
type Options struct {
	// Roots are directories that hold files by the whole of their path, or by its end.
	Roots []string
	// Fetch gets the file of that path from elsewhere; "" where there is none. retry, if not nil, reports whether asking again may
	// bring it. Nil asks none.
	Fetch func(ctx context.Context, id symsrc.BuildID, path string) (file string, retry func() bool)
}

// Sources finds source files. It may be used by several goroutines at once.
type Sources struct {
	opt   Options
	texts texts
}

// New makes a Sources.
func New(o Options) *Sources { return &Sources{opt: o} }

// candidate is a file that may be the one.
type candidate struct {
	path string
	// partly is set where only the end of the path is the same, exact where the file is known to belong to the build ID.
	partly, exact bool
}

// Excerpt returns the lines around a place: of the first file whose content is the one that was compiled, by its MD5; or, where
// the debug information has none, of the first file there is, with a note where that speaks against it.
func (s *Sources) Excerpt(ctx context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	differs := ""
	for _, c := range s.local(p.Local) {
		if x, ok := s.try(c, p, around, &differs); ok {
			return x
		}
	}
	var retry func() bool
	if s.opt.Fetch != nil && p.Module.BuildID != "" && path.IsAbs(p.Path) {
		var file string
		if file, retry = s.opt.Fetch(ctx, p.Module.BuildID, p.Path); file != "" {
			if x, ok := s.try(candidate{path: file, exact: true}, p, around, &differs); ok {
				return x
			}
		}
	}
	if differs != "" {
		return symsrc.Excerpt{Note: differs + " is not what was compiled (MD5)", Retry: retry}
	}
	return symsrc.Excerpt{Note: "no source file", Absent: true, Retry: retry}
}

// local lists where a file may be on this machine, best first.
func (s *Sources) local(file string) (all []candidate) {
	if file == "" {
		return nil
	}
	file = path.Clean(filepath.ToSlash(file))
	all = append(all, candidate{path: file})
	relative := strings.TrimLeft(file, "/")
	for strings.HasPrefix(relative, "../") {
		relative = relative[len("../"):]
	}
	for _, root := range s.opt.Roots {
		for rest, partly := relative, false; rest != ""; partly = true {
			all = append(all, candidate{path: filepath.Join(root, rest), partly: partly})
			_, after, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			rest = after
		}
	}
	return all
}

// try returns the lines of a candidate. ok is false where it is not there, or not what was compiled, which differs then tells.
func (s *Sources) try(c candidate, p symsrc.Place, around int, differs *string) (x symsrc.Excerpt, ok bool) {
	t := s.texts.read(c.path)
	if t == nil || p.MD5 == "" && !c.exact && !(namesSource(c.path) && namesSource(t.name)) {
		return x, false
	}
	if p.MD5 != "" && t.md5() != p.MD5 {
		if *differs == "" {
			*differs = c.path
		}
		return x, false
	}
	if x.First, x.Lines = t.around(p.Line, around); len(x.Lines) == 0 {
		return symsrc.Excerpt{Note: fmt.Sprintf("%s has no line %d", c.path, p.Line)}, true
	}
	if p.MD5 == "" && !c.exact {
		x.Note = doubt(c, t.changed, p)
	}
	return x, true
}

// doubt says what speaks against a candidate of that time of change, of whose content nothing is known.
func doubt(c candidate, changed time.Time, p symsrc.Place) string {
	made := p.Made
	if p.Files != nil {
		made = p.Files.Made()
	}
	switch {
	case made.IsZero():
		return c.path + "; not verified: the binary is not there"
	case changed.After(made):
		return c.path + " is newer than the binary: its lines may be others"
	case c.partly:
		return c.path + ", by the end of its path; not verified"
	}
	return ""
}
