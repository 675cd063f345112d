package elfdwarf

import (
	"path/filepath"
	"sync/atomic"
)

// splits are the files with the units of which a file has only the skeletons (DWARF 5 §3.1.2 and §7.3.2; the GNU form of
// version 4 before it). They are guarded by splitMu of the file's companions.
type splits struct {
	tried     bool
	packages  []*File
	files     map[string]*File // by path; nil where there is none
	unitsByID map[uint64]int   // of such a file: where its units stand
	lacking   atomic.Bool      // a file of split units, or the supplementary one, was not found
}

// body is the unit that holds the functions: the split one where u is its skeleton, if that is found, else u.
func (u *unit) body() *unit {
	if b := u.split.Load(); b != nil {
		return b
	}
	if !u.root.has(attrDwoName) || u.home != nil || u.f.find == nil {
		u.split.Store(u)
		return u
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if b := u.split.Load(); b != nil {
		return b
	}
	b := u.f.splitUnit(u)
	if b == nil {
		u.f.splits.lacking.Store(true)
		b = u
	}
	u.split.Store(b)
	return b
}

// skeleton is the unit that knows addresses, old range lists and lines: that of a split unit, else u.
func (u *unit) skeleton() *unit {
	if u.home != nil {
		return u.home
	}
	return u
}

// splitUnit finds the unit that belongs to a skeleton: in a package beside the file, else in a file of its own.
func (f *File) splitUnit(skeleton *unit) *unit {
	f.splitMu.Lock()
	defer f.splitMu.Unlock()
	if !f.splits.tried {
		f.splits.tried = true
		for _, path := range f.packagePaths() {
			if p, err := f.companion(path, true); err == nil {
				f.splits.packages = append(f.splits.packages, p)
			}
		}
	}
	for _, p := range f.splits.packages {
		c, ok := p.packaged(skeleton.dwoID)
		if !ok && f.asLLVM && len(p.cuIndex.all()) == 0 { // it may be a file of split units
			c.info, ok = p.splitUnits()[skeleton.dwoID]
		}
		if ok {
			if u := p.openSplit(c, skeleton); u != nil {
				return u
			}
		}
	}
	if f.asLLVM && len(f.splits.packages) > 0 { // llvm looks at other files only if there is none
		return nil
	}
	for _, path := range skeleton.splitPaths() {
		d := f.splitFile(path)
		if d == nil {
			continue
		}
		if off, ok := d.splitUnits()[skeleton.dwoID]; ok {
			if u := d.openSplit(contribution{info: off}, skeleton); u != nil {
				return u
			}
		}
	}
	return nil
}

// packagePaths are where the package of the file's split units may lie.
func (f *File) packagePaths() (paths []string) {
	if f.dwp != "" {
		return []string{f.dwp}
	}
	for _, of := range [...]*File{f, f.other} {
		if of != nil && of.path != "" {
			paths = append(paths, of.path+".dwp")
		}
	}
	return paths
}

// splitFile opens a file of split units once; nil where there is none.
func (f *File) splitFile(path string) *File {
	d, ok := f.splits.files[path]
	if !ok {
		d, _ = f.companion(path, true)
		if f.splits.files == nil {
			f.splits.files = make(map[string]*File)
		}
		f.splits.files[path] = d
	}
	return d
}

// splitPaths are where the file of a skeleton's unit may lie: at its name, seen from the compilation directory, and
// beside the file with the skeleton. A relative compilation directory means one beside that file too, never the one we
// happen to run in.
func (u *unit) splitPaths() (paths []string) {
	name := string(u.text(&u.root, attrDwoName))
	if name == "" || len(name) > maxPath {
		return nil
	}
	dir := string(u.compDirectory())
	switch {
	case filepath.IsAbs(name):
		paths = append(paths, name)
	case filepath.IsAbs(dir), u.f.asLLVM: // llvm takes a relative directory as seen from the one that it runs in
		paths = append(paths, filepath.Join(dir, name))
	}
	if u.f.asLLVM { // it looks nowhere else
		return paths
	}
	for _, home := range u.f.homes() {
		if !filepath.IsAbs(name) {
			if !filepath.IsAbs(dir) {
				paths = append(paths, filepath.Join(home, dir, name))
			}
			paths = append(paths, filepath.Join(home, name))
		}
		paths = append(paths, filepath.Join(home, filepath.Base(name)))
	}
	return paths
}

// splitUnits are the units of a file of split units that is no package, by their ID.
func (f *File) splitUnits() map[uint64]int {
	if f.splits.unitsByID != nil {
		return f.splits.unitsByID
	}
	f.splits.unitsByID = make(map[uint64]int)
	for _, off := range f.unitOffsets() {
		u := f.openUnitOf(contribution{info: off}, nil)
		if u == nil || u.version >= 5 && u.typ != unitSplitCompile || u.version < 5 && !u.root.has(attrDwoID) {
			continue
		}
		if _, ok := f.splits.unitsByID[u.dwoID]; !ok {
			f.splits.unitsByID[u.dwoID] = off
		}
	}
	return f.splits.unitsByID
}

// openSplit opens the unit of a skeleton, and checks that it is the one.
func (f *File) openSplit(c contribution, skeleton *unit) *unit {
	u := f.openUnitOf(c, skeleton)
	if u == nil || u.dwoID != skeleton.dwoID || u.addrSize != skeleton.addrSize || u.version >= 5 != (skeleton.version >= 5) {
		return nil
	}
	return u
}

// setBases sets where the parts of a split unit begin, which nothing in the unit tells: behind the headers of the
// sections of version 5 (DWARF 5 §7.26, §7.28); before, sections had none.
func (u *unit) setBases(c contribution) {
	u.strBase, u.rnglistsBase, u.rnglistsStart = c.strOffsets, c.rnglists, c.rnglists
	if u.version >= 5 {
		more := uint64(0)
		if u.offSize == 8 {
			more = 8
		}
		u.strBase += 8 + more
		u.rnglistsBase += 12 + more
	}
	if u.home != nil {
		u.base = u.home.base
	}
}
