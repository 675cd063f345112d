package macho

import (
	"encoding/binary"
	"errors"
	"io"
)

// Slice is the file of one architecture in a file of several.
type Slice struct {
	// Arch is the name of the architecture.
	Arch string
	// Offset and Size count bytes.
	Offset, Size int64
}

// maxSlices bounds the architectures of one file: there are about a dozen.
const maxSlices = 32

// isFat reports whether a file that begins so has several architectures. The number of these is small; in a class file of Java, which
// begins with the same four bytes, it is the version, which is 45 or more.
func isFat(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	m, n := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	return (m == fat32 || m == fat64) && n > 0 && n <= maxSlices
}

// Slices returns the files of the architectures in the file of size bytes in r, in its order; nil if it is of one architecture or of
// another kind. Those that are not in the file, or overlap others, are left out.
func Slices(r io.ReaderAt, size int64) []Slice {
	b := make([]byte, min(size, 8+32*maxSlices))
	if n, err := r.ReadAt(b, 0); n < len(b) && !errors.Is(err, io.EOF) || !isFat(b) {
		return nil
	}
	order := binary.BigEndian
	entry := 20
	if order.Uint32(b) == fat64 {
		entry = 32
	}
	var list []Slice
	for i := range int(order.Uint32(b[4:])) {
		at := 8 + i*entry
		if at+entry > len(b) {
			break
		}
		e := b[at:]
		s := Slice{Arch: archName(order.Uint32(e), order.Uint32(e[4:]))}
		if entry == 20 {
			s.Offset, s.Size = int64(order.Uint32(e[8:])), int64(order.Uint32(e[12:]))
		} else {
			s.Offset, s.Size = int64(order.Uint64(e[8:])), int64(order.Uint64(e[16:]))
		}
		if s.Offset <= 0 || s.Size <= 0 || s.Offset > size || s.Size > size-s.Offset || overlaps(list, s) {
			continue
		}
		list = append(list, s)
	}
	return list
}

func overlaps(list []Slice, s Slice) bool {
	for _, o := range list {
		if s.Offset < o.Offset+o.Size && o.Offset < s.Offset+s.Size {
			return true
		}
	}
	return false
}
