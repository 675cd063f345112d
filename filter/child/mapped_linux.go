package child

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"qss-filter/symsrc/diskcache"
)

// maxFiles bounds the mapped files that are remembered, maxNotes the bytes of notes that are read of one.
const (
	maxFiles = 4096
	maxNotes = 64 << 10
)

// files are the known mapped files. A file that has been replaced, or is not an ELF file, is nil.
type files map[mappedFile]*binary

// mappedFile is a file as /proc/PID/maps has it.
type mappedFile struct {
	inode uint64
	path  string
}

// binary is an ELF file that is mapped.
type binary struct {
	soname string
	needed []string
	// movable is set if the file may be loaded anywhere, so that the kernel chooses.
	movable bool
	// id is its build ID in hexadecimal digits, "" for none.
	id string
	// read is the file's stamp when it was read.
	read diskcache.Stamp
	// written is when it was last written.
	written time.Time
	// held is set for a file that is not at its path any more, and since is when it was opened: see held_linux.go.
	held  *os.File
	since time.Time
}

// forgetChanged forgets files that have changed. Inode numbers are reused soon: a program that is compiled again often has the number
// of the one before.
func (f files) forgetChanged(list []mapping) {
	for _, m := range list {
		key := mappedFile{m.inode, m.path}
		if b := f[key]; b != nil {
			if now, err := diskcache.StampAt(cmp.Or(b.heldAt(), m.path), true); err != nil || now != b.read {
				f.forget(key)
			}
		}
	}
}

// has reports whether the file at a path is one that was mapped.
func (f files) has(path string) bool {
	now, err := diskcache.StampAt(path, true)
	b := f[mappedFile{now.Inode, path}]
	return err == nil && b != nil && b.held == nil && b.read == now
}

// soname returns the name by which other files need the file at a path, as far as it is one that was mapped.
func (f files) soname(path string) string {
	if now, err := diskcache.StampAt(path, true); err == nil {
		if b := f[mappedFile{now.Inode, path}]; b != nil && b.read == now {
			return b.soname
		}
	}
	return ""
}

// of returns the file of a mapping, or nil if it is not known.
func (f files) of(m mapping) *binary {
	key := mappedFile{m.inode, m.path}
	b, known := f[key]
	if !known {
		if len(f) >= maxFiles {
			for key := range f {
				f.forget(key)
			}
		}
		b = readBinary(m)
		f[key] = b
	}
	return b
}

// precedes reports whether the file of a mapping was last written before a time. Its name and its inode stay where a program is written again
// in its place.
func (f files) precedes(m mapping, then time.Time) bool {
	b := f.of(m)
	return b != nil && !b.written.After(then)
}

// readBinary reads the file of a mapping, if it is the mapped one: the path may belong to another root, or to a
// newer file. The device in the list of mappings is not compared: for btrfs and overlayfs it differs from stat(2)'s.
func readBinary(m mapping) *binary {
	if strings.Contains(m.path, " (BuildId: ") || strings.Contains(m.path, " (load bias ") {
		return nil // as notes begin that come after a path
	}
	file, err := os.OpenFile(m.path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	return readELF(file, m)
}

// readELF reads an open file, if it is an ELF file and that of a mapping.
func readELF(file *os.File, m mapping) *binary {
	is, err := diskcache.StampOfDescriptor(int(file.Fd()))
	if err != nil || is.Inode != m.inode {
		return nil
	}
	e, err := elf.NewFile(file)
	if err != nil {
		return nil
	}
	b := &binary{movable: e.Type == elf.ET_DYN, read: is}
	if info, err := file.Stat(); err == nil {
		b.written = info.ModTime()
	}
	// Without a dynamic section there are none.
	b.needed, _ = e.ImportedLibraries()
	if names, _ := e.DynString(elf.DT_SONAME); len(names) > 0 {
		b.soname = names[0]
	}
	first := true
	for _, p := range e.Progs {
		switch {
		case p.Type == elf.PT_LOAD && first:
			first = false
			b.movable = b.movable && p.Vaddr == 0
		case p.Type == elf.PT_NOTE && b.id == "":
			b.id = buildIDNote(e, p)
		}
	}
	return b
}

// buildIDNote returns the build ID of a segment of notes: words namesz, descsz, type; then name and descriptor, each
// padded to 4 bytes. See elf(5).
func buildIDNote(e *elf.File, p *elf.Prog) string {
	notes, err := io.ReadAll(io.LimitReader(p.Open(), maxNotes))
	if err != nil {
		return ""
	}
	const ntBuildID = 3
	for len(notes) >= 12 {
		name, desc := int(e.ByteOrder.Uint32(notes)), int(e.ByteOrder.Uint32(notes[4:]))
		kind := e.ByteOrder.Uint32(notes[8:])
		notes = notes[12:]
		at := (name + 3) &^ 3
		end := at + (desc+3)&^3
		if name > len(notes) || desc > len(notes) || at+desc > len(notes) {
			return ""
		}
		if kind == ntBuildID && bytes.Equal(notes[:name], []byte("GNU\x00")) {
			return fmt.Sprintf("%x", notes[at:at+desc])
		}
		notes = notes[min(end, len(notes)):]
	}
	return ""
}
