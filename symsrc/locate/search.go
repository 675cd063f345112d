package locate

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// loaderDirs are the directories that loaders search (ld.so(8), and Debian's multiarch), for a name without a directory. The build ID
// must confirm what is found there.
var loaderDirs = [...]string{
	"lib", "lib64", "usr/lib", "usr/lib64", "usr/local/lib", "usr/bin", "usr/sbin",
	"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib/i386-linux-gnu", "usr/lib/arm-linux-gnueabihf",
	"usr/lib/riscv64-linux-gnu", "usr/lib/powerpc64le-linux-gnu", "usr/lib/s390x-linux-gnu",
	"system/lib64", "system/lib",
}

// maxSame bounds the copies of one build ID that are tried.
const maxSame = 32

// search is one search for the files of a module.
type search struct {
	l    *Locator
	ctx  context.Context
	name moduleName // of the module's file
	in   inArchive  // its place in an archive
	// where is the file that contains the module: the archive, or the module itself.
	where moduleName
	// want is the build ID that files must have: that of the log, or, if the log has none, that of the first file found.
	want    symsrc.BuildID
	arch    string // see symsrc.Module.Arch
	wantOf  string // its source, for messages
	verdict pair
	past    bool // trees are not read: what they had the last time counts
}

func newSearch(l *Locator, ctx context.Context, m symsrc.Module) *search {
	s := &search{l: l, ctx: ctx, want: m.BuildID, arch: m.Arch, wantOf: "log"}
	s.name, s.in = splitModule(m)
	if s.where = s.in.archive; s.where.path == "" {
		s.where = s.name
	}
	return s
}

// run searches all places and returns the result.
func (s *search) run() *symsrc.Files {
	v := &s.verdict
	if s.want == "" {
		if s.name.deleted {
			return &symsrc.Files{
				Elf: s.first(), ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound,
				Note:   "deleted: no build ID to tell the file from its successor",
				Detail: "the log says that the file was deleted while it was in use; what its path has now is another one",
			}
		}
		v.unverified = true
		s.byName()
		if s.want == "" && v.elf != nil { // the file has no build ID either: only a checksum can be compared
			s.links()
			return v.files(s.first())
		}
	}
	if s.want != "" {
		s.byID()
	}
	files := v.files(s.first())
	if s.arch != "" && files.ElfStatus == symsrc.NotFound && v.any() == nil {
		files.Note = noMachO
	}
	if files.DebugStatus != symsrc.OK {
		s.symbolFiles(files)
	}
	return files
}

// byID looks for files of the wanted build ID until they are complete.
func (s *search) byID() {
	s.indexed(s.l.objects)
	if s.complete() {
		return
	}
	if len(s.l.opt.Symbols) > 0 {
		s.inTrees(s.l.symbols)
	}
	s.wholeBelow(s.l.opt.BuildIDDirs, "")
	s.wholeBelow(s.l.opt.BuildIDDirs, ".build-id")
	s.wholeBelow(s.l.opt.DebugRoots, ".build-id")
	s.wholeBelow(s.l.roots, "usr/lib/debug/.build-id")
	for _, dirs := range [...][]string{s.l.opt.BuildIDDirs, s.l.opt.DebugRoots} {
		for _, dir := range dirs {
			s.buildIDDir(dir)
		}
	}
	s.links()
	for _, root := range s.l.roots {
		s.root(root)
	}
	s.held()
	host, _ := hostRoot(string(filepath.Separator))
	if s.l.explicit {
		s.debug(place{root: host, path: s.debugPath()})
		s.atPath(true, func() {
			s.module(s.hostPlace(), quiet)
			s.links()
		})
	}
	if s.name.single() {
		s.atPath(!s.l.explicit, func() {
			for _, dir := range loaderDirs {
				s.runtime(place{root: s.l.roots[0], path: dir + "/" + s.name.path}, quiet)
			}
			s.links()
		})
	}
	s.mapped()
	if s.past { // the trees are better
		return
	}
	if len(s.l.opt.Nearby) > 0 && !s.complete() {
		s.inTrees(s.l.nearby)
	}
	// Markup may name a module of the root without its directory. Reading a whole root takes long, so it is the last resort.
	if s.l.explicit && s.verdict.elf == nil && s.verdict.debug == nil && !s.complete() && s.name.single() {
		s.inTrees(s.l.rootTree)
		s.links()
	}
	if s.verdict.any() == nil {
		s.differing()
	}
}

func (s *search) complete() bool { return s.verdict.complete() || s.ctx.Err() != nil }

// indexed tries the files of the build ID in an index.
func (s *search) indexed(x *index) {
	if x == nil {
		return
	}
	s.wholeIn(x)
	list := s.candidates(x)
	for _, e := range list[:min(len(list), maxSame)] {
		if s.complete() {
			return
		}
		s.look(e.place(), quiet, nil)
	}
}

// candidates returns the files of the build ID in an index. If there are none, these are packed ones of the module's name, whose build IDs
// show when they are unpacked. A module without a name may be the kernel in any boot image.
func (s *search) candidates(x *index) []*entry {
	if list := x.byID[s.want]; len(list) > 0 {
		return list
	}
	if (s.name.base == kernelName || s.name.base == "" && s.arch == "") && len(x.kernels) > 0 {
		return x.kernels
	}
	return slices.DeleteFunc(x.named(s.name), func(e *entry) bool { return e.id != "" || e.member == nil || e.member.packing != whole })
}

// inTrees tries the files of the build ID in directory trees. If there are none, the trees are read again, but not too often:
// the module may have been built in the meantime.
func (s *search) inTrees(t *lazyIndex) {
	if s.past {
		s.indexed(t.before(s.ctx))
		return
	}
	x := t.get(s.ctx)
	s.wholeIn(x)
	if x != nil && len(s.candidates(x)) == 0 {
		if again := t.newer(s.ctx, x); again != nil {
			x = again
		}
	}
	s.indexed(x)
	if x != nil && len(s.candidates(x)) == 0 {
		s.tryTrees(t, x, "of this build ID")
	}
}

// tryTrees records that directory trees were searched in vain.
func (s *search) tryTrees(t *lazyIndex, x *index, what string) {
	for i, dir := range t.trees.dirs {
		files := "ELF files"
		if x.trees[i] == 1 {
			files = "ELF file"
		}
		s.verdict.try(fmt.Sprintf("%s: %d %s, none %s", dir, x.trees[i], files, what), nil)
	}
}

// buildIDDir searches a build-ID tree.
func (s *search) buildIDDir(dir string) {
	digits := s.want.String()
	if len(digits) < 4 {
		return
	}
	leaf := filepath.Join(digits[:2], digits[2:])
	for _, path := range [...]string{
		filepath.Join(dir, leaf) + ".debug", filepath.Join(dir, leaf),
		filepath.Join(dir, ".build-id", leaf) + ".debug", filepath.Join(dir, ".build-id", leaf),
	} {
		if s.complete() {
			return
		}
		s.look(place{path: path}, asDebug, nil)
	}
}

// root tries the module's path below a root, and the places for debug files there.
func (s *search) root(root string) {
	s.atPath(!s.l.explicit, func() {
		s.module(s.placeIn(root), asElf)
		s.links()
	})
	if digits := s.want.String(); len(digits) >= 4 {
		s.debug(place{root: root, path: s.debugPath()})
		s.runtime(place{root: root, path: "usr/lib/.build-id/" + digits[:2] + "/" + digits[2:]}, quiet) // Fedora's links to executables
	}
	s.atPath(!s.l.explicit, func() {
		for _, dir := range s.dirs(root) {
			leaf := dir + "/" + s.where.base + ".debug" // Yocto, Fedora
			for _, r := range s.l.opt.DebugRoots {
				s.debug(place{root: r, path: leaf})
			}
			s.debug(place{root: root, path: "usr/lib/debug/" + leaf})
		}
	})
}

// held tries the file that a running program has mapped from the module's path.
func (s *search) held() {
	if s.l.opt.Held == nil || s.complete() {
		return
	}
	if path := s.l.opt.Held(symsrc.Module{Name: s.name.path, BuildID: s.want}); path != "" {
		s.atPath(true, func() {
			s.look(place{path: path}, asElf, nil)
			s.links()
		})
	}
}

// atPath calls look, which looks for files by the log's path if byPath is set.
func (s *search) atPath(byPath bool, look func()) {
	s.verdict.byPath = byPath
	look()
	s.verdict.byPath = false
}

// debugPath returns the path of a distribution's debug file in a root (GDB manual, "Separate Debug Files").
func (s *search) debugPath() string {
	digits := s.want.String()
	if len(digits) < 4 {
		return ""
	}
	return "usr/lib/debug/.build-id/" + digits[:2] + "/" + digits[2:] + ".debug"
}

// runtime tries a place that may have the module itself.
func (s *search) runtime(p place, as role) {
	if !s.complete() && p.path != "" {
		s.look(p, as, nil)
	}
}

// module tries the place of the module's path.
func (s *search) module(p place, as role) {
	switch {
	case s.complete() || p.path == "":
	case s.in.archive.path != "":
		s.archiveAt(p, as)
	default:
		s.look(p, as, nil)
	}
}

// debug tries a place that may have a debug file.
func (s *search) debug(p place) {
	if !s.complete() && s.verdict.debug == nil && p.path != "" {
		s.look(p, asDebug, nil)
	}
}

// placeIn returns the module's place in a root. Relative names start at the working directory unless the root was named.
func (s *search) placeIn(root string) place {
	if s.where.path == "" {
		return place{}
	}
	if s.where.absolute() || s.l.explicit {
		return place{root: root, path: s.where.path}
	}
	return s.hostPlace()
}

// hostPlace returns the place of the module's name on the host.
func (s *search) hostPlace() place {
	if s.where.path == "" {
		return place{}
	}
	dir, err := string(filepath.Separator), error(nil)
	if !s.where.absolute() {
		dir, err = filepath.Abs(s.l.opt.WorkDir)
	}
	if err != nil {
		return place{}
	}
	root, inside := hostRoot(dir)
	return place{root: root, path: inside + "/" + strings.TrimLeft(s.where.path, "/")}
}

// first returns the first place of the module's path, where it should be if it is not found.
func (s *search) first() string {
	if s.where.path == "" {
		return ""
	}
	first := s.placeIn(s.l.roots[0]).String()
	if s.in.member != "" {
		first += "!" + s.in.member
	}
	return first
}

// dirs returns the module's directories inside root: by its name, and with links resolved.
func (s *search) dirs(root string) []string {
	var dirs []string
	if s.where.absolute() {
		dirs = append(dirs, path.Dir(s.where.tail()))
	}
	if e := s.verdict.elf; e != nil && e.place.root == root {
		if d := path.Dir(e.inside); len(dirs) == 0 || dirs[0] != d {
			dirs = append(dirs, d)
		}
	}
	return dirs
}
