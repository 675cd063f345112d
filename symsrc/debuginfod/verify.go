package debuginfod

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"

	"qss-filter/symsrc"
)

// errCutOff is a file whose end is missing.
var errCutOff = errors.New("cut off: the file is shorter than its section headers say")

// Bounds of what is read in search of a build ID: sections and segments of notes, and bytes of one.
const (
	maxNotes    = 64
	maxNoteSize = 1 << 20
)

// elfInfo is what is known of a verified file.
type elfInfo struct {
	debug bool // it has .debug_info
}

// verifyFile opens a file as verify wants it.
func verifyFile(path string, want symsrc.BuildID) (*elfInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return verify(f, st.Size(), want)
}

// verify checks that a file is an ELF file of that build ID whose end is not missing: servers may not tell its size.
func verify(r io.ReaderAt, size int64, want symsrc.BuildID) (info *elfInfo, err error) {
	defer func() {
		if p := recover(); p != nil { // hostile input, and debug/elf promises little
			info, err = nil, fmt.Errorf("damaged ELF file: %v", p)
		}
	}()
	f, err := elf.NewFile(io.NewSectionReader(r, 0, size))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errCutOff
	case err != nil:
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	}
	switch has := buildID(f); {
	case has == "":
		return nil, fmt.Errorf("no build ID instead of %s", want)
	case has != want:
		return nil, fmt.Errorf("build ID %s instead of %s", has, want)
	}
	info = new(elfInfo)
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS || s.Type == elf.SHT_NULL {
			continue
		}
		if s.Offset > uint64(size) || s.FileSize > uint64(size)-s.Offset {
			return nil, errCutOff
		}
		if s.Name == ".debug_info" || s.Name == ".zdebug_info" {
			info.debug = true
		}
	}
	return info, nil
}

// buildID finds the note, in sections first: in a separate debug file the segments lead nowhere.
func buildID(f *elf.File) symsrc.BuildID {
	left := maxNotes
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOTE && left > 0 {
			left--
			if id := noteID(f, s.ReaderAt, s.FileSize, s.Addralign); id != "" {
				return id
			}
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_NOTE && left > 0 {
			left--
			if id := noteID(f, p.ReaderAt, p.Filesz, p.Align); id != "" {
				return id
			}
		}
	}
	return ""
}

// noteID reads notes: sizes of name and payload, type, name, payload, each of the latter padded to align (gABI, "Note
// Section"). NT_GNU_BUILD_ID is type 3 of "GNU".
func noteID(f *elf.File, r io.ReaderAt, size, align uint64) symsrc.BuildID {
	b := make([]byte, min(size, maxNoteSize))
	if n, err := r.ReadAt(b, 0); n < len(b) && err != nil {
		return ""
	}
	if align != 8 {
		align = 4
	}
	padded := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		name, desc := uint64(f.ByteOrder.Uint32(b)), uint64(f.ByteOrder.Uint32(b[4:]))
		at := padded(12 + name)
		if at+desc > uint64(len(b)) {
			return ""
		}
		if f.ByteOrder.Uint32(b[8:]) == 3 && bytes.Equal(b[12:12+name], []byte("GNU\x00")) {
			return symsrc.BuildID(b[at : at+desc])
		}
		b = b[min(padded(at+desc), uint64(len(b))):]
	}
	return ""
}
