package dwarf

import (
	"bytes"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// get returns the file that holds what several files have in common (DWARF 5 §7.3.6; dwz makes it); nil where the file
// has none, or it is not found, or is another build's.
func (s *supplementary) get() *Data {
	s.once.Do(func() {
		f := s.of
		link, ok := f.supplementLink()
		if !ok || f.Opener == nil {
			return
		}
		paths := f.Opener.SupplementPaths(link.path, link.id)
		for _, path := range paths {
			other, err := f.Opener.Open(path, false)
			if err != nil {
				continue
			}
			if link.leadsTo(other) {
				s.file = other
				return
			}
			f.Opener.Discard(other)
		}
		if len(paths) > 0 {
			f.lacking.Store(true)
		}
	})
	return s.file
}

// supplementary is the file that holds what several files have in common, opened when it is first asked for.
type supplementary struct {
	of   *Data
	once sync.Once
	file *Data
}

// supplementLink is where a supplementary file is, and how to recognize it.
type supplementLink struct {
	path     string
	id       []byte // its build ID, or the checksum in its own .debug_sup
	checksum bool
}

// supplementLink reads the section .debug_sup, or the older .gnu_debugaltlink: a path, a NUL and a build ID.
func (d *Data) supplementLink() (link supplementLink, ok bool) {
	for i := range d.elf.Sections {
		sh := &d.elf.Sections[i]
		if sh.Name != ".gnu_debugaltlink" && sh.Name != ".debug_sup" {
			continue
		}
		b, _ := d.elf.Contents(sh)
		if sh.Name == ".debug_sup" {
			isSupplement, name, checksum := readSup(b, d.elf.Big)
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
func (l *supplementLink) leadsTo(s *Data) bool {
	if !l.checksum {
		return s.elf.ID != "" && s.elf.ID == symsrc.BuildID(l.id)
	}
	for i := range s.elf.Sections {
		if sh := &s.elf.Sections[i]; sh.Name == ".debug_sup" {
			b, _ := s.elf.Contents(sh)
			isSupplement, _, checksum := readSup(b, s.elf.Big)
			return isSupplement && len(checksum) > 0 && bytes.Equal(checksum, l.id)
		}
	}
	return false
}
