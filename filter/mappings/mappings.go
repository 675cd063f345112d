// Package mappings recognizes what programs and crash reporters print of a process's address space besides symbolizer markup: the
// lines of its list of mappings, the headlines above one, and the build IDs of its modules.
//
// It knows text only and keeps no state: a reader says what one line says. mappings.go holds the lists, fields.go takes their lines
// apart, module.go holds headlines and build IDs.
package mappings

import (
	"bytes"

	"qss-filter/symsrc"
)

// Format is the layout of a list of mappings.
type Format uint8

const (
	Proc      Format = iota // /proc/PID/maps, and "Dynamic libraries" of Java's hs_err
	Tombstone               // "memory map" of Android's tombstones
	Tizen                   // "Maps Information" of Tizen's crash reports
	Sanitizer               // "Process memory map" of the sanitizers
	GDB                     // gdb's "info proc mappings"
)

// Mapping is what one line of a list says. Its slices share the line's memory, but for a Path that was written with escapes.
type Mapping struct {
	Format Format
	// Start and Last are the first and the last address, both inclusive.
	Start, Last uint64
	// Space says what the module's addresses in the mapping count from; Offset is that of Start, where the list has one.
	Space  symsrc.Space
	Offset uint64
	// Mode is one or more of "rwx", in this order; it is empty for a mapping without access.
	Mode string
	// Path is the file that is mapped; it is empty where there is none, and where nothing can be said of it.
	Path []byte
	// Written is the path as it stands in the log, where that has octal escapes.
	Written []byte
	// BuildID is raw bytes.
	BuildID string
}

// maxLine bounds the length of a line that is looked at, in bytes: a path is at most 4096.
const maxLine = 4096 + 256

// minLine is the length of the shortest one.
const minLine = 20

var fault = []byte("--->") // marks the mapping of the fault in a tombstone

// Parse reads a line of a list of mappings. ok is false for any other line.
func Parse(text []byte) (m Mapping, ok bool) {
	text = bytes.Trim(text, " \t\r")
	if len(text) < minLine || len(text) > maxLine {
		return m, false
	}
	s := &fields{bytes.TrimPrefix(text, fault)}
	var prefixed bool
	if m.Start, prefixed, ok = s.address(); !ok {
		return m, false
	}
	dash := s.byte('-')
	switch {
	case dash && prefixed:
		return m.sanitizer(s)
	case dash:
		return m.ranged(s)
	case prefixed:
		return m.gdb(s)
	}
	return m.tizen(s)
}

// Names reports whether the mapping names a file, as those of stacks, heaps and anonymous memory do not.
func (m *Mapping) Names() bool {
	return len(m.Path) > 0 && m.Path[0] != '[' && !bytes.HasPrefix(m.Path, []byte("anon_inode:"))
}

// sanitizer reads what follows `0xA-`, such as `0x55cf1954f000-0x55cf19550000	/path`. There are no offsets.
func (m Mapping) sanitizer(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	if !ok || !prefixed || len(s.rest) < 2 || s.rest[0] != '\t' {
		return m, false
	}
	m.Format, m.Space, m.Path = Sanitizer, symsrc.InImage, bytes.TrimLeft(s.rest, "\t ")
	return m.until(end)
}

// ranged reads what follows `A-` in /proc/PID/maps and in tombstones, whose end is inclusive:
//
//	55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /path
//	0000006d'682c1000-0000006d'6838ffff r-x  0  cf000  /path (BuildId: 53b1) (load bias 0x4000)
func (m Mapping) ranged(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	if !ok || prefixed {
		return m, false
	}
	perms := s.word()
	var isPerms, okOffset bool
	m.Space = symsrc.InFile
	m.Mode, isPerms = permissions(perms)
	m.Offset, _, okOffset = s.address()
	if !isPerms || !okOffset {
		return m, false
	}
	if len(perms) == len("r-x") {
		if _, _, ok := s.address(); !ok { // the size
			return m, false
		}
		m.Format, m.Last = Tombstone, end
		m.Path, m.BuildID = cutNotes(s.rest)
		return m, m.Last >= m.Start
	}
	if device := s.word(); bytes.IndexByte(device, ':') < 0 {
		return m, false
	}
	if inode := s.word(); !isDecimal(inode) {
		return m, false
	}
	m.Format, m.Path = Proc, unescapeOctal(s.rest)
	if len(m.Path) < len(s.rest) {
		m.Written = s.rest
	}
	return m.until(end)
}

// gdb reads what follows the start address: end, size and offset, permissions in newer versions, path, as in
// `0x555555554000  0x555555555000  0x1000  0x0  r--p  /path`.
func (m Mapping) gdb(s *fields) (Mapping, bool) {
	end, _, ok := s.address()
	size, _, okSize := s.address()
	offset, prefixed, okOffset := s.address()
	if !ok || !okSize || !okOffset || !prefixed || end-m.Start != size {
		return m, false
	}
	before := s.rest
	var isPerms bool
	if m.Mode, isPerms = permissions(s.word()); !isPerms {
		m.Mode, s.rest = "rx", before
	}
	m.Format, m.Space, m.Offset, m.Path = GDB, symsrc.InFile, offset, s.rest
	return m.until(end)
}

// tizen reads what follows the start address: end, permissions, path, as in `b7461000 b75d2000 r-xp /lib/libc-2.13.so`. Without
// offsets nothing can be said of other mappings than that of the text.
func (m Mapping) tizen(s *fields) (Mapping, bool) {
	end, prefixed, ok := s.address()
	perms := s.word()
	mode, isPerms := permissions(perms)
	if !ok || prefixed || !isPerms || len(perms) != len("r-xp") || len(s.rest) == 0 || s.rest[0] != '/' && s.rest[0] != '[' {
		return m, false
	}
	m.Format, m.Space, m.Mode, m.Path = Tizen, symsrc.InText, mode, s.rest
	if mode != "rx" {
		m.Path = nil
	}
	return m.until(end)
}

// until sets the end, which is exclusive.
func (m Mapping) until(end uint64) (Mapping, bool) {
	m.Last = end - 1
	return m, end > m.Start
}
