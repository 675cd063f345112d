// Package gsym answers from GSYM files, LLVM's compact symbol files: functions sorted by address, each with its line table and
// its inlined calls (LLVM, DebugInfo/GSYM). Versions 1 and 2 are read, in both byte orders. A look-up reads what it needs of the
// file's bytes, and keeps nothing.
package gsym

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// ErrCorrupted is the error of a file whose tables do not fit into it.
var ErrCorrupted = errors.New("corrupted GSYM file")

// File is a GSYM file. It may be asked by several goroutines at once.
type File struct {
	order    binary.ByteOrder
	base     uint64 // that the addresses count from
	count    int    // of functions
	addrSize int    // bytes of an entry of addrs: 1, 2, 4 or 8
	infoSize int    // bytes of an entry of infos: 4 or 8
	nameSize int    // bytes of an offset in names: 4 or 8
	work     *budget.Work

	addrs, infos []byte // sorted addresses, and where in functions these are described
	files        []byte // pairs of offsets in names: directory and base name
	names        []byte
	functions    []byte
}

// New takes the contents of a file, which must not change. Its error wraps ErrCorrupted, or is of an unknown version.
func New(data []byte) (*File, error) {
	f := &File{order: binary.LittleEndian, work: budget.NewWork(int64(len(data)))}
	switch {
	case bytes.HasPrefix(data, []byte("MYSG")):
	case bytes.HasPrefix(data, []byte("GSYM")):
		f.order = binary.BigEndian
	default:
		return nil, errors.New("not a GSYM file")
	}
	if len(data) < 20 {
		return nil, fmt.Errorf("%w: %d bytes are no header", ErrCorrupted, len(data))
	}
	f.addrSize = int(data[6])
	f.base, f.count = f.order.Uint64(data[8:]), int(min(f.order.Uint32(data[16:]), math.MaxInt32))
	switch f.addrSize {
	case 1, 2, 4, 8:
	default:
		return nil, fmt.Errorf("%w: addresses of %d bytes", ErrCorrupted, f.addrSize)
	}
	switch version := f.order.Uint16(data[4:]); version {
	case 1:
		return f, f.version1(data)
	case 2:
		return f, f.version2(data)
	default:
		return nil, fmt.Errorf("GSYM version %d is not read", version)
	}
}

// version1 finds the tables, which follow one another (LLVM, DebugInfo/GSYM/GsymReader.h).
func (f *File) version1(data []byte) error {
	const headerSize = 48
	if len(data) < headerSize {
		return fmt.Errorf("%w: %d bytes are no header", ErrCorrupted, len(data))
	}
	f.infoSize, f.nameSize, f.functions = 4, 4, data
	c := cursor{b: data, p: headerSize, order: f.order}
	c.align(f.addrSize)
	f.addrs = c.bytes(uint64(f.count) * uint64(f.addrSize))
	c.align(f.infoSize)
	f.infos = c.bytes(uint64(f.count) * uint64(f.infoSize))
	f.files = c.bytes(c.uint(4) * 8)
	at, n := uint64(f.order.Uint32(data[20:])), uint64(f.order.Uint32(data[24:]))
	names := cursor{b: data, p: int(min(at, math.MaxInt32)), order: f.order}
	if f.names = names.bytes(n); c.bad || names.bad {
		return fmt.Errorf("%w: its tables go beyond its end", ErrCorrupted)
	}
	return nil
}

// Sections of version 2 (LLVM, DebugInfo/GSYM/GlobalData.h).
const (
	endOfList = iota
	addrOffsets
	addrInfoOffsets
	stringTable
	fileTable
	functionInfo
)

// version2 finds the tables in a list of sections behind the header, of 20 bytes (LLVM, DebugInfo/GSYM/HeaderV2.h).
func (f *File) version2(data []byte) error {
	if data[7] != 0 {
		return fmt.Errorf("GSYM string table of kind %d is not read", data[7])
	}
	f.infoSize, f.nameSize = 8, 8
	const most = 64 // sections; there are six kinds
	c := cursor{b: data, p: 20, order: f.order}
	var sections [functionInfo + 1][]byte
	for range most {
		kind, off, n := c.uint(4), c.uint(8), c.uint(8)
		if kind == endOfList || c.bad {
			break
		}
		if off > uint64(len(data)) || n > uint64(len(data))-off {
			return fmt.Errorf("%w: a section goes beyond its end", ErrCorrupted)
		}
		if kind <= functionInfo {
			sections[kind] = data[off : off+n]
		}
	}
	f.addrs, f.infos, f.names, f.functions = sections[addrOffsets], sections[addrInfoOffsets], sections[stringTable], sections[functionInfo]
	table := cursor{b: sections[fileTable], order: f.order}
	f.files = table.bytes(table.uint(4) * 16)
	if c.bad || table.bad || len(f.addrs)/f.addrSize < f.count || len(f.infos)/f.infoSize < f.count {
		return fmt.Errorf("%w: its tables go beyond its end", ErrCorrupted)
	}
	return nil
}

// Lowest is the address of the first function; false where there is none.
func (f *File) Lowest() (addr uint64, ok bool) {
	if f.count == 0 {
		return 0, false
	}
	return f.addr(0), true
}

// addr is the address of a function.
func (f *File) addr(i int) uint64 { return f.base + f.entry(f.addrs, f.addrSize, i) }

// entry is an entry of a table whose entries have size bytes.
func (f *File) entry(table []byte, size, i int) uint64 {
	c := cursor{b: table, p: i * size, order: f.order}
	return c.uint(size)
}

// Frames returns the functions at an address of the program's own address space: the innermost inlined one first; nil where
// nothing is known. It fails with budget.ErrExceeded where that would take too much work, and with budget.ErrTooLong where the
// answer is too long.
func (f *File) Frames(addr uint64) ([]symsrc.Frame, error) {
	if addr < f.base {
		return nil, nil
	}
	after := sort.Search(f.count, func(i int) bool { return f.addr(i) > addr })
	if after == 0 {
		return nil, nil
	}
	start := f.addr(after - 1)
	i := sort.Search(after, func(i int) bool { return f.addr(i) >= start })
	const mostSame = 64 // functions of one address
	for ; i < after && after-i <= mostSame; i++ {
		fn := f.function(i, start)
		// A symbol without a size goes on up to the next one, but how far the last one goes is not known.
		if addr-start < fn.size || fn.size == 0 && !fn.c.bad && (addr == start || after < f.count) {
			q, err := f.work.Question()
			if err != nil {
				return nil, err
			}
			return fn.frames(addr, &q)
		}
	}
	return nil, nil
}

// str is a text of the string table, "" where there is none.
func (f *File) str(off uint64) string {
	if off >= uint64(len(f.names)) {
		return ""
	}
	s := f.names[off:]
	n := bytes.IndexByte(s[:min(len(s), maxName)], 0)
	if n < 0 {
		return ""
	}
	return string(s[:n])
}

// maxName bounds a text; a longer one is damage.
const maxName = 1 << 16

// file is the path of a number; 0 is none.
func (f *File) file(number uint64) string {
	if number == 0 || number >= uint64(len(f.files)/(2*f.nameSize)) {
		return ""
	}
	c := cursor{b: f.files, p: int(number) * 2 * f.nameSize, order: f.order}
	dir, base := f.str(c.uint(f.nameSize)), f.str(c.uint(f.nameSize))
	switch {
	case dir == "" || base == "":
		return dir + base
	case strings.Contains(dir, `\`) && !strings.Contains(dir, "/"):
		return dir + `\` + base
	case strings.HasSuffix(dir, "/"):
		return dir + base
	}
	return dir + "/" + base
}
