package doctor

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
)

// Missing is a module without symbols, with the result of the search for its files.
type Missing struct {
	symsrc.Module
	Files *symsrc.Files
}

// Found are files that no flag names, and what to give --symbols for them.
type Found struct {
	// Paths are the files, in words, and Symbols as few directories and files as there can be that have them.
	Paths, Symbols []string
	// Modules are the indexes of the modules whose files they are, without those of which there are only the names of exported functions.
	Modules []int
}

// maxLooked is how many modules are looked for.
const maxLooked = 64

// Look looks for files of modules until ctx ends: below the working directory, beside the log, beside the modules, and in usual directories
// of builds of the project that the working directory is in. The files that it returns are of the very builds. Candidates have only the
// names of modules of which no build is known: a list for each such module that has some.
func Look(ctx context.Context, log string, missing []Missing) (found Found, candidates []Found) {
	l := look{missing: missing}
	for i, m := range missing[:min(len(missing), maxLooked)] {
		l.want(i, m)
	}
	if len(l.wanted) == 0 {
		return found, nil
	}
	l.places(log)
	for _, s := range l.below.Find(ctx, l.wanted) {
		i := l.of[s.Wanted]
		if s.Wanted = i; l.ids[i] == "" {
			candidates = withCandidate(candidates, s)
			continue
		}
		if missing[i].BuildID == "" && s.Tree != "" { // it is found by its name alone in what is named
			if s.Tree = filepath.Dir(s.Path); !alone(s.Path) {
				s.Tree = ""
			}
		}
		l.sighted = append(l.sighted, s)
	}
	return l.fewest(), candidates
}

// look is one such look.
type look struct {
	missing []Missing
	below   locate.Below
	// wanted are the modules to be looked for: of is the index of each in missing, and ids are the build IDs of those there.
	wanted  []locate.Wanted
	of      []int
	ids     map[int]symsrc.BuildID
	sighted []locate.Sighting
}

// want adds a module. If the log has no build ID, that of the file at its path counts, which lacks something.
func (l *look) want(i int, m Missing) {
	if _, unread := m.BuildID.Unread(); unread {
		return
	}
	w := locate.Wanted{ID: m.BuildID, Name: m.Name}
	if m.Member != "" {
		w.Name = m.Member
	}
	if f := m.Files; f != nil && f.Usable() && f.Elf != "" && f.ElfRange.Whole() {
		w.Have = f.Elf
		if w.ID == "" {
			w.ID = locate.FileID(f.Elf)
		}
	}
	if base := w.Name[strings.LastIndexByte(w.Name, '/')+1:]; w.ID == "" && (base == "" || strings.HasPrefix(base, "[") || strings.HasPrefix(base, "<")) {
		return
	}
	if l.ids == nil {
		l.ids = map[int]symsrc.BuildID{}
	}
	l.wanted, l.of, l.ids[i] = append(l.wanted, w), append(l.of, i), w.ID
}

// places notes where to look.
func (l *look) places(log string) {
	b := &l.below
	add := func(dir string) {
		if abs, err := filepath.Abs(dir); err == nil && filepath.Dir(abs) != abs { // a whole machine is too much
			b.Dirs = append(b.Dirs, dir)
		}
	}
	add(".")
	if root := project(); root != "" {
		b.Builds = append(b.Builds, buildsIn(root)...)
	}
	if filepath.Dir(log) != "." { // it is of "-" and "", too
		add(filepath.Dir(log))
	}
	for _, m := range l.missing {
		dir := filepath.Dir(m.Name)
		if !filepath.IsAbs(m.Name) || OfSystem(m.Name) || slices.Contains(b.Dirs, dir) {
			continue
		}
		add(dir)
		if above := filepath.Dir(dir); filepath.Dir(above) != above {
			b.Builds = append(b.Builds, buildsIn(above)...)
		}
	}
}

// project returns the directory with the version control of the working directory, "" if that is the working directory or unknown.
func project() string {
	dir, err := filepath.Abs(".")
	if err != nil {
		return ""
	}
	for up := "."; ; up = filepath.Join("..", up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			if up == "." {
				return ""
			}
			return up
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// buildsIn returns the usual directories of builds in a directory.
func buildsIn(dir string) (builds []string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range list {
		if locate.IsBuildDir(e.Name()) {
			builds = append(builds, filepath.Join(dir, e.Name()))
		}
	}
	return builds
}

// fewest returns the files, as few directories and files as have one of each module. A directory is one that has a file of several
// modules, or more than the working directory itself would be needed for; it is no larger than that.
func (l *look) fewest() (found Found) {
	served := map[int]bool{}
	for {
		var best []locate.Sighting
		for _, s := range l.sighted {
			var group []locate.Sighting
			for _, t := range l.sighted {
				if !served[t.Wanted] && (t == s || t.Path == s.Path || s.Tree != "" && t.Tree == s.Tree) &&
					!slices.ContainsFunc(group, func(g locate.Sighting) bool { return g.Wanted == t.Wanted }) {
					group = append(group, t)
				}
			}
			if len(group) > len(best) {
				best = group
			}
		}
		if len(best) == 0 {
			slices.Sort(found.Modules)
			return found
		}
		for _, s := range best {
			served[s.Wanted] = true
			path := s.Path
			if s.Exported {
				path += " (exported functions only)"
			} else {
				found.Modules = append(found.Modules, s.Wanted)
			}
			if !slices.Contains(found.Paths, path) {
				found.Paths = append(found.Paths, path)
			}
		}
		found.Symbols = append(found.Symbols, around(best))
	}
}

// around returns the smallest directory with all files of a tree, or the file if there is only one and it is an archive or in no tree.
func around(files []locate.Sighting) string {
	first := files[0]
	if first.Tree == "" || first.Archive && !slices.ContainsFunc(files, func(s locate.Sighting) bool { return s.Path != first.Path }) {
		return first.Path
	}
	dir := filepath.Dir(first.Path)
	for _, s := range files[1:] {
		for dir != first.Tree && !strings.HasPrefix(s.Path, dir+string(filepath.Separator)) {
			dir = filepath.Dir(dir)
		}
	}
	return dir
}

// maxBeside is how many files beside another one are looked at.
const maxBeside = 1000

// errBeside ends a walk.
var errBeside = errors.New("another file of the name, or too many files to know")

// alone reports whether a file is the only one of its name in its directory and all below, with or without a suffix.
func alone(path string) bool {
	stem, _, _ := strings.Cut(filepath.Base(path), ".")
	n := 0
	return nil == filepath.WalkDir(filepath.Dir(path), func(beside string, e fs.DirEntry, err error) error {
		n++
		its, _, _ := strings.Cut(filepath.Base(beside), ".")
		if err != nil || n > maxBeside || beside != path && !e.IsDir() && its == stem {
			return errBeside
		}
		return nil
	})
}

// maxCandidates is how many files of a name are shown.
const maxCandidates = 3

// withCandidate adds a file that has the name of a module.
func withCandidate(list []Found, s locate.Sighting) []Found {
	i := slices.IndexFunc(list, func(f Found) bool { return f.Modules[0] == s.Wanted })
	if i < 0 {
		return append(list, Found{[]string{s.Path}, []string{s.Path}, []int{s.Wanted}})
	}
	if f := &list[i]; len(f.Paths) < maxCandidates && !slices.Contains(f.Paths, s.Path) {
		f.Paths, f.Symbols = append(f.Paths, s.Path), append(f.Symbols, s.Path)
	}
	return list
}

// Title names the files.
func (f *Found) Title() string {
	shown := f.Paths[:min(len(f.Paths), maxNamed)]
	return "found " + strings.Join(shown, ", ") + more(len(f.Paths)-len(shown))
}

// Flags returns the flags that name them, for a command line of a shell.
func (f *Found) Flags() string {
	var flags []string
	for _, path := range f.Symbols {
		flags = append(flags, "-s "+Quoted(path))
	}
	return strings.Join(flags, " ")
}

// OfSystem reports whether a path is one of the files of a distribution.
func OfSystem(name string) bool {
	return of(name, "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/libexec")
}

// searched looks for files of the modules that have frames without a name. It adds advice, and returns which modules need no more of it.
func (r *report) searched(ctx context.Context) (served map[int]bool) {
	served = map[int]bool{}
	if r.Search == 0 {
		return served
	}
	ctx, cancel := context.WithTimeout(ctx, r.Search)
	defer cancel()
	var missing []Missing
	var at []int
	for i := range r.modules {
		if m := &r.modules[i]; m.bad() && m.wants() {
			missing, at = append(missing, Missing{m.Module, m.files}), append(at, i)
		}
	}
	found, candidates := Look(ctx, r.Log, missing)
	for _, i := range found.Modules {
		served[at[i]] = true
	}
	if len(found.Paths) > 0 {
		lines := []string{r.again(found.Flags())}
		for _, i := range found.Modules {
			if m := missing[i]; m.BuildID == "" && len(r.Argv) == 0 {
				lines = append(lines, "The log has no build ID of "+m.Name+": this is the build of the file that is there now.")
			}
		}
		r.advice = append(r.advice, advice{what: found.Title(), lines: lines, short: true})
	}
	for _, c := range candidates {
		lines := []string{"The log has no build ID, so nothing shows that such a file is the one that ran. If you know it:"}
		for _, path := range c.Symbols {
			lines = append(lines, r.again("-s "+Quoted(path)))
		}
		r.tryFor(&r.modules[at[c.Modules[0]]], "candidates by the name alone, not verified", lines...)
	}
	return served
}

// wants reports whether another file may name a module's frames.
func (m *examined) wants() bool {
	if what, _ := m.foreign(); what != "" || m.java || m.script {
		return false
	}
	return !(m.status == "NO_SYMBOL" && m.files.DebugStatus == symsrc.OK)
}
