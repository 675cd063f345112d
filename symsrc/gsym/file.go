// Package gsym reads GSYM files, LLVM's compact symbol files: functions sorted by address, each with its line table and its inlined
// calls (LLVM, DebugInfo/GSYM). It supports versions 1 and 2 in both byte orders. A lookup reads only what it needs, and stores nothing.
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

// ErrCorrupted is the error of a file whose header or tables are damaged.
var ErrCorrupted = errors.New("corrupted GSYM file")

// File is a GSYM file. It is safe for concurrent use.
type File struct {
	order    binary.ByteOrder
	base     uint64 // base address; addrs are relative to it
	count    int    // number of functions
	addrSize int    // size of an entry of addrs, in bytes: 1, 2, 4 or 8
	infoSize int    // size of an entry of infos, in bytes: 4 or 8
	nameSize int    // size of an offset in names, in bytes: 4 or 8
	work     *budget.Work

	addrs, infos []byte // sorted addresses, and the offsets of their FunctionInfo in functions
	files        []byte // pairs of offsets in names: directory and base name
	names        []byte // string table
	functions    []byte
}

// New returns the file with the given contents, which must not change. Its errors wrap ErrCorrupted, unless the data is not a GSYM file or
// of an unsupported version.
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
		return nil, fmt.Errorf("%w: %d bytes are too few for a header", ErrCorrupted, len(data))
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
		return nil, fmt.Errorf("GSYM version %d is not supported", version)
	}
}

// version1 finds the tables, which are consecutive (LLVM, DebugInfo/GSYM/GsymReader.h).
func (f *File) version1(data []byte) error {
	const headerSize = 48
	if len(data) < headerSize {
		return fmt.Errorf("%w: %d bytes are too few for a header", ErrCorrupted, len(data))
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
		return fmt.Errorf("%w: its tables extend beyond its end", ErrCorrupted)
	}
	return nil
}

// Kinds of sections in version 2 (LLVM, DebugInfo/GSYM/GlobalData.h).
const (
	endOfList = iota
	addrOffsets
	addrInfoOffsets
	stringTable
	fileTable
	functionInfo
)

// version2 finds the tables in the list of sections after the header of 20 bytes (LLVM, DebugInfo/GSYM/HeaderV2.h).
func (f *File) version2(data []byte) error {
	if data[7] != 0 {
		return fmt.Errorf("GSYM string table of kind %d is not supported", data[7])
	}
	f.infoSize, f.nameSize = 8, 8
	const maxSections = 64 // there are six kinds
	c := cursor{b: data, p: 20, order: f.order}
	var sections [functionInfo + 1][]byte
	for range maxSections {
		kind, off, n := c.uint(4), c.uint(8), c.uint(8)
		if kind == endOfList || c.bad {
			break
		}
		if off > uint64(len(data)) || n > uint64(len(data))-off {
			return fmt.Errorf("%w: a section extends beyond its end", ErrCorrupted)
		}
		if kind <= functionInfo {
			sections[kind] = data[off : off+n]
		}
	}
	f.addrs, f.infos, f.names, f.functions = sections[addrOffsets], sections[addrInfoOffsets], sections[stringTable], sections[functionInfo]
	table := cursor{b: sections[fileTable], order: f.order}
	f.files = table.bytes(table.uint(4) * 16)
	if c.bad || table.bad || len(f.addrs)/f.addrSize < f.count || len(f.infos)/f.infoSize < f.count {
		return fmt.Errorf("%w: its tables extend beyond its end", ErrCorrupted)
	}
	return nil
}

// Base returns the base address: that of the image in files that llvm-gsymutil makes.
func (f *File) Base() uint64 { return f.base }

// Lowest returns the address of the first function, or false if there is none.
func (f *File) Lowest() (addr uint64, ok bool) {
	if f.count == 0 {
		return 0, false
	}
	return f.addr(0), true
}

// addr returns the address of function i.
func (f *File) addr(i int) uint64 { return f.base + f.entry(f.addrs, f.addrSize, i) }

// entry returns entry i of a table whose entries have size bytes.
func (f *File) entry(table []byte, size, i int) uint64 {
	c := cursor{b: table, p: i * size, order: f.order}
	return c.uint(size)
}

// Frames returns the functions at an address of the file's own address space, the innermost inlined one first, or nil if nothing is
// known. It fails with budget.ErrExceeded if it would take too much work, and with budget.ErrTooLong if the answer is too long.
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
	const maxSame = 64 // functions with the same address
	for ; i < after && after-i <= maxSame; i++ {
		fn := f.function(i, start)
		// A symbol without a size extends to the next one; the end of the last one is unknown.
		if addr-start < fn.size || fn.size == 0 && !fn.c.bad && (addr == start || after < f.count) {
			q, err := f.work.Query()
			if err != nil {
				return nil, err
			}
			return fn.frames(addr, &q)
		}
	}
	return nil, nil
}

// str returns the string at an offset in the string table, or "" if it is invalid.
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

// maxName bounds the length of a string, in bytes; only damaged files have longer ones.
const maxName = 1 << 16

// file returns the path of the file with a number, or "". Number 0 means no file.
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
