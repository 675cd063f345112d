// Package corefile reads the mappings of a process that has ended from its ELF core file.
//
//	corefile.go   the headers of the file, in one pass, and the mappings as text
//	notes.go      the list of mapped files, and the build IDs of files whose first page was dumped
//
// Sources of the format: elf(5), core(5), and fs/binfmt_elf.c of Linux.
package corefile

import (
	"bufio"
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"qss-filter/symsrc"
)

// Limits of what is read of a core file, which may lie about its sizes.
const (
	maxNotes = 16 << 20 // bytes of a segment of notes; NT_FILE has 4 MiB at most in Linux
	maxFiles = 1 << 17  // mappings; Linux has 65530 at most by default
	maxLoads = 1 << 17  // segments
	maxHead  = 64 << 10 // bytes of the beginning of a file that are searched for its build ID
)

// Errors of files without mappings.
var (
	ErrNoCore = errors.New("not a core file")
	ErrNoList = errors.New("no list of mapped files (NT_FILE) in this core file")
	errBad    = errors.New("the list of mapped files (NT_FILE) of this core file is damaged")
)

// identLen is how many bytes tell a core file: e_ident and e_type.
const identLen = elf.EI_NIDENT + 2

// Is reports whether a file that begins so is an ELF core file.
func Is(begin []byte) bool {
	l, ok := layoutOf(begin)
	return ok && len(begin) >= identLen && elf.Type(l.order.Uint16(begin[elf.EI_NIDENT:])) == elf.ET_CORE
}

// layout is how numbers are written in a file.
type layout struct {
	order binary.ByteOrder
	word  int // bytes of an address: 4 or 8
}

// layoutOf reads e_ident. ok is false for what is no ELF file.
func layoutOf(ident []byte) (l layout, ok bool) {
	if len(ident) < elf.EI_NIDENT || !bytes.HasPrefix(ident, []byte(elf.ELFMAG)) {
		return l, false
	}
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS32:
		l.word = 4
	case elf.ELFCLASS64:
		l.word = 8
	}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		l.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		l.order = binary.BigEndian
	}
	return l, l.word != 0 && l.order != nil
}

// number reads a number of the size of an address at the beginning of b.
func (l layout) number(b []byte) uint64 {
	if l.word == 4 {
		return uint64(l.order.Uint32(b))
	}
	return l.order.Uint64(b)
}

// headerLen is the size of the ELF header in bytes.
func (l layout) headerLen() int {
	if l.word == 4 {
		return 52
	}
	return 64
}

// segments returns where the program headers are, the size of each, and their number, as the ELF header has them.
func (l layout) segments(header []byte) (at, size, count uint64) {
	ends := header[l.headerLen()-10:] // e_phentsize is the fifth half word from the end
	return l.number(header[24+l.word:]), uint64(l.order.Uint16(ends)), uint64(l.order.Uint16(ends[2:]))
}

// segmentLen is the size of a program header in bytes.
func (l layout) segmentLen() int {
	if l.word == 4 {
		return 32
	}
	return 56
}

// segment is a program header.
type segment struct {
	kind                 elf.ProgType
	flags                elf.ProgFlag
	offset, address      uint64
	fileSize, memorySize uint64
}

// segment reads a program header.
func (l layout) segment(b []byte) segment {
	s := segment{kind: elf.ProgType(l.order.Uint32(b))}
	at := 8
	if l.word == 4 {
		s.flags, at = elf.ProgFlag(l.order.Uint32(b[24:])), 4
	} else {
		s.flags = elf.ProgFlag(l.order.Uint32(b[4:]))
	}
	s.offset, s.address = l.number(b[at:]), l.number(b[at+l.word:])
	s.fileSize, s.memorySize = l.number(b[at+3*l.word:]), l.number(b[at+4*l.word:])
	return s
}

// core is a core file that is read from its beginning to its end, once: it may be the output of a decompressor.
type core struct {
	layout
	in   *bufio.Reader
	seek io.ReadSeeker // below in; nil if that cannot seek
	at   uint64        // offset of the next byte

	loads  []segment // by their addresses
	files  []file
	begins map[uint64]bool           // the addresses of the beginnings of files
	ids    map[uint64]symsrc.BuildID // by the address of the file's beginning
}

// List returns the mappings of files of the process that a core file is of, as a tombstone of Android lists them. What it does not
// need is skipped with Seek if in is an io.ReadSeeker.
func List(in io.Reader) ([]byte, error) {
	c := &core{in: bufio.NewReaderSize(in, maxHead), begins: map[uint64]bool{}, ids: map[uint64]symsrc.BuildID{}}
	c.seek, _ = in.(io.ReadSeeker)
	all, err := c.headers()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.kind == elf.PT_LOAD {
			c.loads = append(c.loads, s)
		}
	}
	slices.SortStableFunc(c.loads, func(a, b segment) int { return cmp.Compare(a.address, b.address) })
	slices.SortStableFunc(all, func(a, b segment) int { return cmp.Compare(a.offset, b.offset) })
	if err := c.read(all); err != nil {
		return nil, err
	}
	if c.files == nil {
		return nil, ErrNoList
	}
	return c.text(), nil
}

// headers reads the program headers.
func (c *core) headers() ([]segment, error) {
	ident, _ := c.in.Peek(identLen)
	if !Is(ident) {
		return nil, ErrNoCore
	}
	c.layout, _ = layoutOf(ident)
	header, err := c.take(uint64(c.headerLen()))
	if err != nil {
		return nil, err
	}
	at, size, count := c.segments(header)
	if size < uint64(c.segmentLen()) || count == 0 {
		return nil, ErrNoList
	}
	if !c.reach(at) {
		return nil, fmt.Errorf("read the core file: %w", io.ErrUnexpectedEOF)
	}
	const more = 0xffff // PN_XNUM: the number is in a section header at the end of the file, but data follows the program headers
	var all []segment
	for n := uint64(0); n < count; n++ {
		b, err := c.take(size)
		if err != nil {
			return nil, err
		}
		s := c.segment(b)
		if all = append(all, s); n == 0 && count == more && s.offset > at {
			count = (s.offset - at) / size
		}
		if len(all) > maxLoads {
			break
		}
	}
	return all, nil
}

// read reads the notes and the beginnings of files, which are in the order of their offsets.
func (c *core) read(all []segment) error {
	for _, s := range all {
		if s.fileSize == 0 || s.kind != elf.PT_NOTE && (s.kind != elf.PT_LOAD || !c.mayBegin(s.address)) || !c.reach(s.offset) {
			continue
		}
		if s.kind == elf.PT_LOAD {
			head, _ := c.in.Peek(int(min(maxHead, s.fileSize)))
			if id := c.buildID(head); id != "" {
				c.ids[s.address] = id
			}
			continue
		}
		if c.files != nil {
			continue
		}
		notes, err := c.take(min(maxNotes, s.fileSize))
		if err != nil {
			return err
		}
		if err := c.list(notes); err != nil {
			return err
		}
	}
	return nil
}

// mayBegin reports whether a file may begin at an address: all may while the list of files is not known.
func (c *core) mayBegin(address uint64) bool {
	return c.files == nil || c.begins[address]
}

// take reads n bytes.
func (c *core) take(n uint64) ([]byte, error) {
	var b bytes.Buffer // grows with what there is, not with what the file claims
	got, err := io.CopyN(&b, c.in, int64(n))
	c.at += uint64(got)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("read the core file: %w", err)
	}
	return b.Bytes(), nil
}

// reach goes on to an offset. It returns false if that was passed, or the file ends before it.
func (c *core) reach(offset uint64) bool {
	if offset < c.at || offset > 1<<62 {
		return false
	}
	n := int64(offset - c.at)
	if buffered := int64(c.in.Buffered()); c.seek != nil && n > buffered {
		if _, err := c.seek.Seek(n-buffered, io.SeekCurrent); err != nil {
			return false
		}
		c.in.Reset(c.seek)
	} else if _, err := io.CopyN(io.Discard, c.in, n); err != nil {
		c.at = offset + 1 // nothing more can be read
		return false
	}
	c.at = offset
	return true
}

// text writes the mappings. Names that such a list cannot hold are left out, and so are files of which several builds are mapped.
func (c *core) text() []byte {
	ids, several := c.identities()
	var out bytes.Buffer
	for i := range c.files {
		f := &c.files[i]
		if several[f.name] || !writable(f.name) {
			continue
		}
		fmt.Fprintf(&out, "    %016x-%016x %s %9x %9x  %s", f.start, f.end-1, c.mode(f.start), f.offset, f.end-f.start, f.name)
		if id := ids[f.name]; id != "" {
			fmt.Fprintf(&out, " (BuildId: %s)", id)
		}
		out.WriteByte('\n')
	}
	return out.Bytes()
}

// identities returns the build IDs of files by their names, and the names that have several.
func (c *core) identities() (ids map[string]symsrc.BuildID, several map[string]bool) {
	ids, several = map[string]symsrc.BuildID{}, map[string]bool{}
	for i := range c.files {
		f := &c.files[i]
		id := c.ids[f.start]
		if f.offset != 0 || id == "" {
			continue
		}
		if known, ok := ids[f.name]; ok && known != id {
			several[f.name] = true
		}
		ids[f.name] = id
	}
	return ids, several
}

// writable reports whether a line of the list can hold a name.
func writable(name string) bool {
	return name != "" && strings.TrimSpace(name) == name && !strings.ContainsAny(name, "\n\r") &&
		!strings.Contains(name, " (BuildId: ") && !strings.Contains(name, " (load bias ")
}

// mode returns the permissions at an address. gdb writes no segment for what the file itself still has, such as code: that may be executed.
func (c *core) mode(address uint64) string {
	k, found := slices.BinarySearchFunc(c.loads, address, func(s segment, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		k--
	}
	if k < 0 || address-c.loads[k].address >= c.loads[k].memorySize {
		return "r-x"
	}
	mode := []byte("---")
	for i, flag := range [...]elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		if c.loads[k].flags&flag != 0 {
			mode[i] = "rwx"[i]
		}
	}
	return string(mode)
}
