package command

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// patterns is the value of --own.
type patterns []string

func (p *patterns) String() string { return strings.Join(*p, " ") }

func (p *patterns) Set(pattern string) error {
	if strings.TrimPrefix(pattern, "!") == "" {
		return errors.New("want a pattern, such as 'src/*' or '!*_test.cc'")
	}
	*p = append(*p, pattern)
	return nil
}

// rules returns which functions are the program's own: those below the working directory's repository, with what the user says of others.
func (p *patterns) rules() triage.Rules { return triage.Rules{Root: sourceRoot(), Patterns: *p} }

// sourceRoot returns the top of the repository that the working directory is in, or the working directory, or "" where that says nothing.
func sourceRoot() string {
	work, err := os.Getwd()
	if err != nil {
		return ""
	}
	for dir := work; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if home, err := os.UserHomeDir(); err == nil && home == work || work == filepath.Dir(work) {
		return ""
	}
	return work
}

// Scopes of --fail-unresolved besides the names of modules.
const (
	failNever = ""
	failAll   = "all"
	failOwn   = "own"
)

// failing returns a function that reports whether a frame without a name fails the run, nil if none does. The function gets the module,
// which is empty where none is known.
func (c *config) failing() func(m symsrc.Module) bool {
	switch scope := c.style.failUnresolved; scope {
	case failNever:
		return nil
	case failAll:
		return func(symsrc.Module) bool { return true }
	case failOwn:
		rules := c.options.Names.Own
		return func(m symsrc.Module) bool { return rules.OwnModule(m.Name) }
	default:
		return func(m symsrc.Module) bool {
			for _, name := range []string{m.Name, path.Base(m.Name), m.Member} {
				if ok, err := path.Match(scope, name); err == nil && ok && name != "" {
					return true
				}
			}
			return false
		}
	}
}

// checkScope checks the value of --fail-unresolved.
func (c *config) checkScope() error {
	if _, err := path.Match(c.style.failUnresolved, ""); err != nil {
		return errors.New("--fail-unresolved: want all, own, or a pattern of modules such as 'libapp*'")
	}
	return nil
}

// fails reports whether a summary has a frame without a name that fails the run. Frames of modules that are forgotten may be of any.
func fails(s *resolve.Summary, failing func(symsrc.Module) bool) bool {
	return failing != nil && (s.Forgotten > 0 || slices.ContainsFunc(s.Modules, func(m resolve.Unresolved) bool {
		return m.Outcome != resolve.InLog && failing(m.Of)
	}))
}
