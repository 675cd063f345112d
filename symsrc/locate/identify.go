package locate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"qss-filter/symsrc"
	"qss-filter/symsrc/macho"
)

// Bounds on what is read of one file, so that a wrong header costs no more than this much memory.
const (
	firstRead   = 4096    // holds the file header, the program headers and, nearly always, the notes
	maxHeaders  = 8 << 20 // section headers: 131,072 of 64 bytes
	maxNames    = 8 << 20 // section names; those beyond it are ignored
	maxNote     = 1 << 20
	maxLinkName = 4096 // .gnu_debuglink: PATH_MAX

	// maxRead bounds all reading of one file: sections may overlap, so that each of a hundred thousand could be large.
	maxRead = maxHeaders + maxNames + 4*maxNote
)

// rank orders files of one build ID by their information.
type rank uint8

const (
	bare      rank = iota // no symbols at all
	dynamic               // .dynsym: exported functions
	symbols               // .symtab, .gnu_debugdata or .gopclntab: all functions, but no lines of C
	debugInfo             // .debug_info
)

// ident is information from the headers of an ELF file.
type ident struct {
	id        symsrc.BuildID // "" where it has none
	is64      bool
	order     binary.ByteOrder
	rank      rank
	arch      string // the architecture of a Mach-O file; "" for ELF files
	debugOnly bool   // without code: the output of objcopy --only-keep-debug
	link      string // file name in .gnu_debuglink, "" without one
	linkCRC   uint32 // CRC-32 of the linked file (IEEE 802.3)
}

// fileError is the error of a file that cannot be used: the status and the short note for reports, and the cause.
type fileError struct {
	status symsrc.Status
	note   string
	err    error // may be nil
}

func (e *fileError) Error() string {
	if e.err == nil {
		return e.note
	}
	return e.err.Error()
}

func (e *fileError) Unwrap() error { return e.err }

func corrupted(format string, args ...any) *fileError {
	return &fileError{symsrc.Corrupted, "corrupted elf file", fmt.Errorf(format, args...)}
}

// isZip reports whether the file is a zip archive.
func (e *fileError) isZip() bool { return e.status == symsrc.UnsupportedCompressed && e.note == "zip" }

// isPacked reports whether the file is compressed in a way that is read.
func (e *fileError) isPacked() bool {
	return e.status == symsrc.UnsupportedCompressed && e.note != "zip" && !e.isFat() && !e.isBoot()
}

// archives are known formats that are not ELF, by their first bytes.
var archives = [...]struct{ magic, note string }{
	{"\x1f\x8b", "gzip"},
	{"\xfd7zXZ\x00", "xz"},
	{"\x28\xb5\x2f\xfd", "zstd"},
	{"PK\x03\x04", "zip"},
	{"BZh", "bzip2"},
	{"\x04\x22\x4d\x18", "lz4"},
}

// identify reads the headers and notes of the file of size bytes in r. The error is a *fileError.
func identify(r io.ReaderAt, size int64) (*ident, error) {
	f := elfFile{r: r, size: uint64(max(size, 0))}
	if err := f.all(); err != nil {
		return nil, err
	}
	return &f.ident, nil
}

// all reads everything that identify needs.
func (f *elfFile) all() error {
	f.first = make([]byte, min(f.size, firstRead))
	if n, err := f.r.ReadAt(f.first, 0); n < len(f.first) {
		return readError(err)
	}
	if macho.IsMagic(f.first) {
		return f.machO()
	}
	if err := f.magic(); err != nil {
		return err
	}
	if err := f.header(); err != nil {
		return err
	}
	if err := f.sections(); err != nil {
		return err
	}
	if f.id == "" {
		return f.segments()
	}
	return nil
}

// readError returns the error of a failed read inside the file's size. A file that has become shorter is damaged.
func readError(err error) *fileError {
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return corrupted("the file became shorter while it was read")
	}
	return &fileError{symsrc.ReadError, "read error", err}
}

// elfFile is a file whose headers are being read.
type elfFile struct {
	ident
	r     io.ReaderAt
	size  uint64
	first []byte // its first bytes
	spent uint64 // bytes read so far
	end   uint64 // the end of the last section's content, 0 if unknown

	phoff, shoff       uint64
	phnum, shnum       uint64
	shstrndx           uint64
	phentsize, shentsz uint64
}

// read returns n bytes at off. The caller must bound n.
func (f *elfFile) read(off, n uint64) ([]byte, error) {
	if !f.holds(off, n) {
		return nil, beyond("%d bytes at %#x lie beyond the end (%d bytes)", n, off, f.size)
	}
	if f.spent += n; f.spent > maxRead {
		return nil, corrupted("headers and notes of more than %d bytes", maxRead)
	}
	if off+n <= uint64(len(f.first)) {
		return f.first[off : off+n], nil
	}
	b := make([]byte, n)
	if m, err := f.r.ReadAt(b, int64(off)); m < len(b) {
		return nil, readError(err)
	}
	return b, nil
}

// holds reports whether n bytes at off are inside the file.
func (f *elfFile) holds(off, n uint64) bool { return off <= f.size && n <= f.size-off }

// notELF is the note on a file of which nothing is known.
const notELF = "not an ELF file"

// foreign returns the note on a file that is no ELF file, by how it begins: a program of Windows has its header where the word at 0x3c says
// (Microsoft's PE format, "MS-DOS Stub"), and WebAssembly a magic number.
func foreign(head []byte) string {
	const stubEnd = 0x40
	switch {
	case bytes.HasPrefix(head, []byte("MZ")) && len(head) >= stubEnd:
		if at := uint64(le32(head[stubEnd-4:])); at <= uint64(len(head)) && bytes.HasPrefix(head[at:], []byte("PE\x00\x00")) {
			return "a PE file of Windows, which is not read"
		}
	case bytes.HasPrefix(head, []byte("\x00asm")):
		return "a WebAssembly file, which is not read"
	}
	return notELF
}

// magic checks that the file is an ELF file, and its e_ident (gABI, "ELF Identification").
func (f *elfFile) magic() error {
	if len(f.first) < 4 || string(f.first[:4]) != "\x7fELF" {
		for _, a := range archives {
			if len(f.first) >= len(a.magic) && string(f.first[:len(a.magic)]) == a.magic {
				return &fileError{status: symsrc.UnsupportedCompressed, note: a.note}
			}
		}
		if err := kernelError(f.first); err != nil {
			return err
		}
		return &fileError{status: symsrc.NotELF, note: foreign(f.first)}
	}
	if len(f.first) < 52 {
		return beyond("%d bytes are no ELF header", len(f.first))
	}
	switch f.first[4] {
	case 1:
	case 2:
		f.is64 = true
	default:
		return corrupted("ELF class %d", f.first[4])
	}
	switch f.first[5] {
	case 1:
		f.order = binary.LittleEndian
	case 2:
		f.order = binary.BigEndian
	default:
		return corrupted("ELF data encoding %d", f.first[5])
	}
	return nil
}

// word reads a field of 4 or 8 bytes, depending on the file's class, with its offset in each class.
func (f *elfFile) word(b []byte, off32, off64 int) uint64 {
	if f.is64 {
		return f.order.Uint64(b[off64:])
	}
	return uint64(f.order.Uint32(b[off32:]))
}

// header reads Elf32_Ehdr or Elf64_Ehdr, with the extended numbering of many sections or segments.
func (f *elfFile) header() error {
	h, at := f.first, 40
	want := uint64(40)
	if f.is64 {
		at, want = 52, 64
		if len(h) < 64 {
			return beyond("%d bytes are no ELF header", len(h))
		}
	}
	f.phoff, f.shoff = f.word(h, 28, 32), f.word(h, 32, 40)
	u16 := func(i int) uint64 { return uint64(f.order.Uint16(h[at+2*i:])) }
	f.phentsize, f.phnum, f.shentsz, f.shnum, f.shstrndx = u16(1), u16(2), u16(3), u16(4), u16(5)
	if f.shoff == 0 {
		f.shnum = 0
		return nil
	}
	if f.shentsz != want {
		return corrupted("section headers of %d bytes", f.shentsz)
	}
	if f.shnum != 0 && f.shstrndx != 0xffff && f.phnum != 0xffff {
		return nil
	}
	b, err := f.read(f.shoff, want)
	if err != nil {
		return err
	}
	s := f.section(b)
	if f.shnum == 0 {
		f.shnum = s.size
	}
	if f.shstrndx == 0xffff {
		f.shstrndx = uint64(s.link)
	}
	if f.phnum == 0xffff {
		f.phnum = uint64(s.info)
	}
	return nil
}
