package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/hex"

	"qss-filter/symsrc"
)

// file is a mapping of a file.
type file struct {
	start, end, offset uint64
	name               string
}

// Types of notes.
const (
	fileNote    = 0x46494c45 // NT_FILE, of CORE
	buildIDNote = 3          // NT_GNU_BUILD_ID, of GNU
)

// note returns the content of the first note of an owner and a type. ok is false if there is none.
func (l layout) note(notes []byte, owner string, kind uint32) (content []byte, ok bool) {
	for len(notes) >= 12 {
		name, size, of := uint64(l.order.Uint32(notes)), uint64(l.order.Uint32(notes[4:])), l.order.Uint32(notes[8:])
		from := 12 + (name+3)&^3
		to := from + size
		if to > uint64(len(notes)) {
			return nil, false
		}
		if of == kind && string(bytes.TrimRight(notes[12:12+name], "\x00")) == owner {
			return notes[from:to], true
		}
		notes = notes[min((to+3)&^3, uint64(len(notes))):]
	}
	return nil, false
}

// list reads NT_FILE: the number of mappings, the size of a page, as many ranges with an offset in pages, and their names.
func (c *core) list(notes []byte) error {
	note, ok := c.note(notes, "CORE", fileNote)
	if !ok {
		return nil
	}
	w := c.word
	if len(note) < 2*w {
		return errBad
	}
	n, page := c.number(note), c.number(note[w:])
	names := note[2*w:]
	if n > maxFiles || n*3*uint64(w) > uint64(len(names)) || page > 1<<30 {
		return errBad
	}
	ranges := names[:int(n)*3*w]
	names = names[len(ranges):]
	c.files = make([]file, 0, n)
	for ; len(ranges) > 0; ranges = ranges[3*w:] {
		name, rest, ok := bytes.Cut(names, []byte{0})
		f := file{c.number(ranges), c.number(ranges[w:]), c.number(ranges[2*w:]) * page, string(name)}
		if !ok || f.end <= f.start {
			return errBad
		}
		c.files, names = append(c.files, f), rest
		if f.offset == 0 {
			c.begins[f.start] = true
		}
	}
	return nil
}

// buildID returns the build ID of a file that begins so, "" for one that has none there or is of another layout.
func (c *core) buildID(head []byte) symsrc.BuildID {
	if l, ok := layoutOf(head); !ok || l != c.layout || len(head) < c.headerLen() {
		return ""
	}
	at, size, count := c.segments(head)
	if size < uint64(c.segmentLen()) {
		return ""
	}
	for i := range count {
		k := at + i*size
		if at > uint64(len(head)) || k+size > uint64(len(head)) {
			return ""
		}
		s := c.segment(head[k:])
		if s.kind != elf.PT_NOTE || s.offset > uint64(len(head)) || s.fileSize > uint64(len(head))-s.offset {
			continue
		}
		if id, ok := c.note(head[s.offset:s.offset+s.fileSize], "GNU", buildIDNote); ok {
			if id, ok := symsrc.ParseBuildID(hex.EncodeToString(id)); ok {
				return id
			}
		}
	}
	return ""
}
