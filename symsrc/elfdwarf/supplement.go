package elfdwarf

import (
	"bytes"
	"encoding/hex"
	"path/filepath"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// supplement is the file that holds what several files have in common (DWARF 5 §7.3.6; dwz makes it); nil where the file
// has none, or it is not found, or is another build's.
func (f *File) supplement() *File {
	f.supOnce.Do(func() {
		link, ok := f.supplementLink()
		if !ok || f.find == nil || f.asLLVM { // llvm does not read it
			return
		}
		for _, path := range link.candidates(f) {
			s, err := f.companion(path, false)
			if err != nil {
				continue
			}
			if link.leadsTo(s) {
				f.sup.Store(s)
				return
			}
			f.discard(s)
		}
		f.splits.lacking.Store(true)
	})
	return f.sup.Load()
}

// supplementLink says where a supplementary file lies and how to know it.
type supplementLink struct {
	path     string
	id       []byte // its build ID, or the checksum in its own .debug_sup
	checksum bool
}

// supplementLink reads the section .debug_sup, or the older .gnu_debugaltlink: a path, a NUL and a build ID.
func (f *File) supplementLink() (link supplementLink, ok bool) {
	for i := range f.sections {
		sh := &f.sections[i]
		if sh.name != ".gnu_debugaltlink" && sh.name != ".debug_sup" {
			continue
		}
		b, _ := f.contents(f.data, sh)
		if sh.name == ".debug_sup" {
			isSupplement, name, checksum := readSup(b, f.big)
			return supplementLink{string(name), checksum, true}, !isSupplement && len(name) > 0 && len(name) <= maxPath
		}
		name, id, found := bytes.Cut(b, []byte{0})
		return supplementLink{path: string(name), id: id}, found && len(id) > 0 && len(name) > 0 && len(name) <= maxPath
	}
	return link, false
}

// readSup reads .debug_sup (DWARF 5 §7.3.6): whether it is that of the supplementary file itself, the name of that file,
// and its checksum.
func readSup(b []byte, big bool) (isSupplement bool, name, checksum []byte) {
	c := &bin.Cursor{B: b, Big: big}
	version := c.U16()
	isSupplement = c.U8() != 0
	name = c.CString()
	checksum = c.Bytes(c.ULEB())
	if !c.OK() || version != 5 {
		return false, nil, nil
	}
	return isSupplement, name, checksum
}

// leadsTo reports whether the file is the one meant.
func (l *supplementLink) leadsTo(s *File) bool {
	if !l.checksum {
		return s.id != "" && s.id == symsrc.BuildID(l.id)
	}
	for i := range s.sections {
		if sh := &s.sections[i]; sh.name == ".debug_sup" {
			b, _ := s.contents(s.data, sh)
			isSupplement, _, checksum := readSup(b, s.big)
			return isSupplement && len(checksum) > 0 && bytes.Equal(checksum, l.id)
		}
	}
	return false
}

// candidates are the paths where the supplementary file of f may lie: where the link says, seen from the file and from
// the root file system that it lies in; and in the trees of debug files around it, as <root>/.dwz/… or by build ID.
func (l *supplementLink) candidates(f *File) (paths []string) {
	if filepath.IsAbs(l.path) {
		paths = append(paths, l.path)
	}
	inTree := ".dwz/" + filepath.Base(l.path)
	if _, below, ok := strings.Cut(l.path, "/.dwz/"); ok && filepath.IsLocal(below) {
		inTree = ".dwz/" + below
	}
	id := hex.EncodeToString(l.id)
	for _, home := range f.homes() {
		if !filepath.IsAbs(l.path) {
			paths = append(paths, filepath.Join(home, l.path))
		}
		const debugRoot = "/usr/lib/debug"
		home += "/"
		for _, mark := range [...]string{debugRoot + "/", "/.build-id/", "/.debug/"} {
			i := strings.Index(home, mark)
			if i < 0 {
				continue
			}
			root := home[:i]
			if mark == debugRoot+"/" {
				if filepath.IsAbs(l.path) {
					paths = append(paths, filepath.Join(root, filepath.Clean(l.path)))
				}
				root += debugRoot
			}
			paths = append(paths, filepath.Join(root, inTree))
			if len(id) > 2 {
				paths = append(paths, filepath.Join(root, ".build-id", id[:2], id[2:]+".debug"))
			}
		}
	}
	return paths
}
