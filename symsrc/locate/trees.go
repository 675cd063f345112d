package locate

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
)

// Trees finds debug files as llvm does, in build-ID trees alone: DIR/.build-id/xx/yyyy.debug, of the first directory that
// has it. It takes that file at its word, be it damaged or of another build ID. If the tree has a file for the build ID
// inside the one found, or that has a .gnu_debuglink, the debug information comes from there.
type Trees struct {
	Dirs []string
	// Other is asked for what the trees do not have; nil asks nobody.
	Other *Locator
}

// NewTrees takes the directories of Options.BuildIDDirs, or llvm's own where there are none. Symbols and Rootfs are asked
// where they are given; Objects have no effect, as in llvm.
func NewTrees(o Options) (t *Trees, err error) {
	t = &Trees{Dirs: o.BuildIDDirs}
	if len(t.Dirs) == 0 {
		t.Dirs = []string{"/usr/lib/debug"}
	}
	if len(o.Symbols)+len(o.Rootfs) > 0 {
		o.Objects, o.BuildIDDirs = nil, nil
		t.Other, err = New(o)
	}
	return t, err
}

// Find looks for the file of m. The context only matters to Other.
func (t *Trees) Find(ctx context.Context, m symsrc.Module) *symsrc.Files {
	path := t.path(m.BuildID)
	if path == "" {
		if t.Other != nil {
			return t.Other.Find(ctx, m)
		}
		return &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}
	}
	files := &symsrc.Files{Elf: path, DebugStatus: symsrc.Incomplete, Unverified: true, Tried: []string{path}}
	f, err := probe(place{path: path})
	if err != nil {
		fe := classify(err)
		files.ElfStatus, files.Note = fe.status, fe.note
		if fe.status == symsrc.NotFound { // it is there: the tree has it
			files.ElfStatus = symsrc.ReadError
		}
		return files
	}
	if debug := t.debugOf(ctx, f); debug != "" {
		files.Debug, files.DebugStatus = debug, symsrc.OK
	}
	return files
}

// path is where the first tree has the build ID, "" where none has.
func (t *Trees) path(id symsrc.BuildID) string {
	digits := id.String()
	if digits == "" {
		return ""
	}
	for _, dir := range t.Dirs {
		path := filepath.Join(dir, ".build-id", digits[:2]) + "/" + digits[2:] + ".debug"
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// debugOf gives another file with the debug information of f, "" where there is none.
func (t *Trees) debugOf(ctx context.Context, f *found) string {
	if len(f.id) >= 2 {
		if path := t.path(f.id); path == f.path {
			return ""
		} else if path != "" {
			if _, err := probe(place{path: path}); err == nil {
				return path
			}
		}
	}
	if f.link == "" || strings.ContainsAny(f.link, `/\`) || f.link == ".." {
		return ""
	}
	dir := filepath.Dir(f.path)
	for _, in := range [...]string{dir, filepath.Join(dir, ".debug"), filepath.Join("/usr/lib/debug", dir)} {
		path := filepath.Join(in, f.link)
		if sum, _, err := checksum(ctx, path, true); err == nil && sum == f.linkCRC {
			return path
		}
	}
	return ""
}
