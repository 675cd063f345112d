package locate

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/macho"
)

// member is a file in a zip archive that may be an ELF file, stored or deflated, or what a compressed file has in it.
type member struct {
	name    string
	packing packing
	crc     uint32 // CRC-32 of its content, as the archive says; 0 for a compressed file
	header  int64  // the offset of its local header in the archive; less than 0 if there is none
	data    int64  // the offset of its content
	packed  int64  // the size of that in the archive
	size    int64  // the unpacked size; for a compressed file the most that it may be

	slice macho.Slice // its part for one architecture; the zero Slice if it is used as a whole
}

// sliceFits reports whether the slice is inside of the content.
func (m *member) sliceFits() bool {
	return m.slice.Offset <= m.size && m.slice.Size <= m.size-m.slice.Offset
}

// title returns the member's name with its architecture, if it is one of several.
func (m *member) title() string {
	if m.slice.Size > 0 {
		return m.name + ":" + m.slice.Arch
	}
	return m.name
}

// packing is how a member is packed.
type packing uint8

const (
	stored   packing = iota
	deflated         // in a zip archive
	whole            // the archive is a file that is compressed as a whole, as its first bytes say
)

// Bounds on what is read of one archive.
const (
	maxDirectory   = 512 << 20 // bytes of the central directory
	maxMembers     = 1 << 15   // members that are read
	maxMemberName  = 1024
	maxMemberSize  = 4 << 30 // unpacked bytes of a deflated member
	smallestELF    = 52      // an Elf32_Ehdr
	zipStored      = 0
	zipDeflated    = 8
	zipEnd         = "PK\x05\x06" // APPNOTE.TXT 4.3.16: end of central directory record
	zipEnd64       = "PK\x06\x06" // 4.3.14
	zipLocator64   = "PK\x06\x07" // 4.3.15
	zipDirectory   = "PK\x01\x02" // 4.3.12: central directory header
	zipLocal       = "PK\x03\x04" // 4.3.7: local file header
	zipEndSize     = 22
	zipEnd64Size   = 56
	zipLocatorSize = 20
	zipHeaderSize  = 46
	zipLocalSize   = 30
)

var errZip = errors.New("damaged zip archive")

// zipMembers returns the members of a zip archive that may be ELF files by their names, in the archive's order, without
// overlapping ones.
func zipMembers(r io.ReaderAt, size int64) ([]member, error) {
	off, length, err := zipDirectoryAt(r, size)
	if err != nil {
		return nil, err
	}
	list, err := readDirectory(io.NewSectionReader(r, off, length))
	if err != nil {
		return nil, err
	}
	located := list[:0]
	for _, m := range list {
		if m.locate(r, off) == nil {
			located = append(located, m)
		}
	}
	return apart(located), nil
}

// zipDirectoryAt returns the offset and length of the central directory.
func zipDirectoryAt(r io.ReaderAt, size int64) (off, length int64, err error) {
	for _, n := range [...]int64{zipEndSize, zipEndSize + 0xffff} { // most archives have no comment at the end
		b := make([]byte, min(n, size))
		if _, err := r.ReadAt(b, size-int64(len(b))); err != nil && !errors.Is(err, io.EOF) {
			return 0, 0, err
		}
		at := bytes.LastIndex(b, []byte(zipEnd))
		if at < 0 || at+zipEndSize > len(b) {
			continue
		}
		end := size - int64(len(b)-at)
		length, off := int64(le32(b[at+12:])), int64(le32(b[at+16:]))
		if le16(b[at+10:]) == 0xffff || length == 0xffffffff || off == 0xffffffff {
			if o, l, ok := zip64Directory(r, end); ok {
				off, length = o, l
			}
		}
		if off < 0 || length < 0 || length > maxDirectory || off > end || length > end-off {
			return 0, 0, fmt.Errorf("%w: its directory is not in it", errZip)
		}
		return off, length, nil
	}
	return 0, 0, fmt.Errorf("%w: no directory", errZip)
}

// zip64Directory reads the record of an archive with large numbers, before the one at end.
func zip64Directory(r io.ReaderAt, end int64) (off, length int64, ok bool) {
	var l [zipLocatorSize]byte
	if end < zipLocatorSize {
		return 0, 0, false
	}
	if _, err := r.ReadAt(l[:], end-zipLocatorSize); err != nil || string(l[:4]) != zipLocator64 {
		return 0, 0, false
	}
	at := le64(l[8:])
	var b [zipEnd64Size]byte
	if at < 0 || at > end-zipEnd64Size {
		return 0, 0, false
	}
	if _, err := r.ReadAt(b[:], at); err != nil || string(b[:4]) != zipEnd64 {
		return 0, 0, false
	}
	return le64(b[48:]), le64(b[40:]), true
}

// readDirectory reads the central directory, up to the first invalid entry.
func readDirectory(r io.Reader) ([]member, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var list []member
	var h [zipHeaderSize]byte
	var rest []byte // name and extra field
	for {
		if _, err := io.ReadFull(in, h[:]); err != nil || string(h[:4]) != zipDirectory {
			return list, ioError(err)
		}
		name, extra, comment := int(le16(h[28:])), int(le16(h[30:])), int(le16(h[32:]))
		rest = slices.Grow(rest[:0], name+extra)[:name+extra]
		if _, err := io.ReadFull(in, rest); err != nil {
			return list, ioError(err)
		}
		if _, err := in.Discard(comment); err != nil {
			return list, ioError(err)
		}
		if !wantedName(rest[:name]) {
			continue
		}
		if m, ok := parseMember(&h, string(rest[:name]), rest[name:]); ok {
			if list = append(list, m); len(list) == maxMembers {
				return list, nil
			}
		}
	}
}

// ioError returns nil for the errors that mark the end of the directory.
func ioError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// wantedName reports whether a name may be that of an ELF file: it has no extension, or that
// of libraries (also before a version), debug files or firmware.
func wantedName(name []byte) bool {
	if len(name) == 0 || len(name) > maxMemberName {
		return false
	}
	base := name[bytes.LastIndexByte(name, '/')+1:]
	dot := bytes.LastIndexByte(base, '.')
	if len(base) == 0 || dot < 0 {
		return len(base) > 0
	}
	switch string(base[dot:]) {
	case ".so", ".debug", ".dbg", ".sym", ".elf", ".ko", ".axf", ".exe", ".out", ".node", ".dylib":
		return true
	}
	return bytes.Contains(base, []byte(".so.")) || bytes.Contains(name, []byte(inDSYM))
}

// parseMember reads a central directory header. It returns false for members that are neither stored nor deflated, and for encrypted
// and hostile ones.
func parseMember(h *[zipHeaderSize]byte, name string, extra []byte) (member, bool) {
	m := member{
		name: strings.TrimPrefix(name, "/"), crc: le32(h[16:]), packed: int64(le32(h[20:])), size: int64(le32(h[24:])),
		header: int64(le32(h[42:])),
	}
	if le16(h[10:]) == zipDeflated {
		m.packing = deflated
	}
	const encrypted = 1 | 1<<6 | 1<<13
	if m.packing == stored && le16(h[10:]) != zipStored || le16(h[8:])&encrypted != 0 || !plainName(m.name) || !m.large(extra) {
		return m, false
	}
	switch {
	case m.header < 0, m.packed <= 0, m.size < smallestELF:
		return m, false
	case m.packing != stored:
		return m, m.size <= maxMemberSize && m.size <= budget.Bytes(m.packed)
	}
	return m, m.size == m.packed
}

// plainName reports whether a name does not lead out of the archive and has no control characters.
func plainName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// large reads 64-bit numbers from the extra field (APPNOTE.TXT 4.5.3), in place of those that do not fit in 32 bits.
func (m *member) large(extra []byte) bool {
	const beyond = 0xffffffff
	if m.size != beyond && m.packed != beyond && m.header != beyond {
		return true
	}
	for len(extra) >= 4 {
		id, n := le16(extra), int(le16(extra[2:]))
		if extra = extra[4:]; n > len(extra) {
			return false
		}
		if id != 1 {
			extra = extra[n:]
			continue
		}
		field := extra[:n]
		for _, v := range [...]*int64{&m.size, &m.packed, &m.header} {
			if *v != beyond {
				continue
			}
			if len(field) < 8 {
				return false
			}
			*v, field = le64(field), field[8:]
		}
		return true
	}
	return false
}

// locate finds the member's content after its local header. It must end before the directory, at limit.
func (m *member) locate(r io.ReaderAt, limit int64) error {
	var b [zipLocalSize]byte
	if m.header > limit-zipLocalSize {
		return errZip
	}
	if _, err := r.ReadAt(b[:], m.header); err != nil {
		return err
	}
	if string(b[:4]) != zipLocal || (le16(b[8:]) == zipDeflated) != (m.packing == deflated) {
		return errZip
	}
	m.data = m.header + zipLocalSize + int64(le16(b[26:])) + int64(le16(b[28:]))
	if m.data > limit || m.packed > limit-m.data {
		return errZip
	}
	return nil
}

// apart returns the members whose content does not overlap that of an earlier one. Valid archives have no others.
func apart(list []member) []member {
	order := make([]*member, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	slices.SortFunc(order, func(a, b *member) int { return cmp.Compare(a.header, b.header) })
	end := int64(0)
	for _, m := range order {
		if m.header < end {
			m.size = 0
			continue
		}
		end = m.data + m.packed
	}
	return slices.DeleteFunc(list, func(m member) bool { return m.size == 0 })
}

// base returns the member's name without its directories.
func (m *member) base() string { return path.Base(m.name) }

func le16(b []byte) uint16 { return binary.LittleEndian.Uint16(b) }
func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
func le64(b []byte) int64  { return int64(binary.LittleEndian.Uint64(b)) }
