// Package macho reads Mach-O files in memory, for the machines of Apple: programs, libraries, objects and dSYM files. What it finds it
// hands to the readers of package elf, as sections, segments and symbols: the debug information and the code are read by the same packages
// as those of ELF files. The bytes may be damaged or hostile.
//
//   - head.go: the header and the load commands, which the search for files reads, too; the names of architectures
//   - fat.go: the files of several architectures in one
//   - file.go: the file as package elf has it, and its sections, whose names are cut to 16 bytes
//   - symbols.go: the symbol table, without sizes in the file, bounded by the starts of functions; the trie of exports
//   - unwind.go: bounds of functions in the tables of the unwinder, for files without a list of the starts
//   - debugmap.go: the objects that have the debug information of a program without a dSYM; archive.go: objects in static libraries
//
// The layouts are those of Apple's <mach-o/loader.h>, <mach-o/nlist.h>, <mach-o/stab.h> and <mach-o/fat.h>.
package macho

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// Magic numbers in the byte order of the file.
const (
	magic32, magic64 = 0xfeedface, 0xfeedfacf
	fat32, fat64     = 0xcafebabe, 0xcafebabf
)

// Types of files, as in Header.Type.
const (
	typeObject  = 1
	typeProgram = 2
	typeDylib   = 6
	typeDSYM    = 10
)

// Load commands.
const (
	cmdSegment        = 0x1
	cmdSymtab         = 0x2
	cmdSegment64      = 0x19
	cmdUUID           = 0x1b
	cmdFunctionStarts = 0x26
	cmdDyldInfo       = 0x22
	cmdExportsTrie    = 0x33
	required          = 0x80000000 // a flag of a command
)

// maxCommands bounds the load commands, in bytes. Those of real files have some kilobytes.
const maxCommands = 8 << 20

// Head is what the header and the load commands of a file say.
type Head struct {
	// ID is the UUID, which the log and the dSYM have, too; "" if there is none.
	ID symsrc.BuildID
	// Arch is the name of the architecture as Apple's tools write it, such as arm64e.
	Arch string
	// HasInfo is set where the file has debug information, HasSymbols where it has a symbol table.
	HasInfo, HasSymbols bool
	// HasGoTable is set where the file has the table of functions of a Go program.
	HasGoTable bool
	// DebugOnly is set for the file in a dSYM, which has no code.
	DebugOnly bool
	// End is where the contents of the file end, in bytes from its start.
	End uint64

	is64, big    bool
	machine      elf.Machine
	typ, flags   uint32
	uuidAt       int // where the UUID is in the load commands
	segments     []segment
	sections     []section
	symtab       symtab
	starts, trie blob
}

type segment struct {
	name                         string
	addr, size, offset, fileSize uint64
	executable                   bool
}

type section struct {
	name, segment      string
	addr, size         uint64
	offset             uint64
	relocs, relocCount uint32
	flags              uint32
}

// symtab is LC_SYMTAB; blob is a linkedit_data_command.
type symtab struct{ offset, count, strings, stringsSize uint32 }

type blob struct{ offset, size uint32 }

// IsMagic reports whether a file that begins so is a Mach-O file, or one of several architectures. A class file of Java begins like the
// latter: its version is in place of the number of architectures.
func IsMagic(b []byte) bool { return isThin(b) || isFat(b) }

func isThin(b []byte) bool {
	if len(b) < 4 {
		return false
	}
	for _, order := range [...]binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if m := order.Uint32(b); m == magic32 || m == magic64 {
			return true
		}
	}
	return false
}

// ErrNotMachO is the error of a file of another kind, and ErrCut of one that is shorter than its headers say.
var (
	ErrNotMachO = errors.New("no Mach-O magic")
	ErrCut      = errors.New("a Mach-O file that is cut off")
	errDamaged  = errors.New("a damaged Mach-O file")
)

// ReadHead reads the header and the load commands of the file of size bytes in r.
func ReadHead(r io.ReaderAt, size int64) (*Head, error) {
	const headerSize = 32
	first := make([]byte, min(size, headerSize))
	if _, err := r.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read: %w", err)
	}
	if !isThin(first) {
		return nil, ErrNotMachO
	}
	commands, ok := commandsEnd(first)
	if !ok || int64(commands) > size {
		return nil, ErrCut
	}
	b := make([]byte, commands)
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read: %w", err)
	}
	return parseHead(b)
}

// commandsEnd returns where the load commands end. It returns false if the header is cut off, or if they are longer than they ever are.
func commandsEnd(b []byte) (end uint64, ok bool) {
	if len(b) < 28 {
		return 0, false
	}
	order, is64 := orderOf(b)
	size := uint64(order.Uint32(b[20:]))
	end = 28 + size
	if is64 {
		end += 4
	}
	return end, size <= maxCommands
}

// orderOf returns the byte order of a file that isThin, and whether it is one of 64 bits.
func orderOf(b []byte) (order binary.ByteOrder, is64 bool) {
	order = binary.LittleEndian
	if m := order.Uint32(b); m != magic32 && m != magic64 {
		order = binary.BigEndian
	}
	return order, order.Uint32(b) == magic64
}

// parseHead reads the header and the load commands at the beginning of b.
func parseHead(b []byte) (*Head, error) {
	if !isThin(b) {
		return nil, ErrNotMachO
	}
	end, ok := commandsEnd(b)
	if !ok || end > uint64(len(b)) {
		return nil, ErrCut
	}
	order, is64 := orderOf(b)
	h := &Head{is64: is64, big: order == binary.BigEndian}
	c := &bin.Cursor{B: b[:end], P: 4, Big: h.big}
	cpu, subtype := c.U32(), c.U32()
	h.typ = c.U32()
	count := c.U32()
	c.Skip(4)
	h.flags = c.U32()
	if is64 {
		c.Skip(4)
	}
	h.machine, h.Arch = machineOf(cpu), archName(cpu, subtype)
	h.DebugOnly = h.typ == typeDSYM
	for ; count > 0 && c.OK() && c.P+8 <= len(c.B); count-- {
		at := c.P
		cmd, size := c.U32(), uint64(c.U32())
		body, ok := bin.Slice(c.B, uint64(at), size)
		if !ok || size < 8 {
			return nil, errDamaged
		}
		h.command(cmd&^required, body, at)
		c.P = at + int(size)
	}
	h.HasSymbols = h.symtab.count > 0
	return h, nil
}

// command reads a load command, which stands at an offset in the file.
func (h *Head) command(cmd uint32, b []byte, at int) {
	c := &bin.Cursor{B: b, P: 8, Big: h.big}
	switch cmd {
	case cmdUUID:
		const size = 16
		if id := c.Bytes(size); len(id) == size && h.ID == "" && !bytes.Equal(id, make([]byte, size)) {
			h.ID, h.uuidAt = symsrc.BuildID(id), at+8
		}
	case cmdSegment, cmdSegment64:
		h.segment(c, cmd == cmdSegment64)
	case cmdSymtab:
		t := symtab{c.U32(), c.U32(), c.U32(), c.U32()}
		if c.OK() {
			h.symtab = t
			h.ends(uint64(t.offset), uint64(t.count)*h.nlistSize())
			h.ends(uint64(t.strings), uint64(t.stringsSize))
		}
	case cmdFunctionStarts:
		h.starts = h.blob(c)
	case cmdExportsTrie:
		h.trie = h.blob(c)
	case cmdDyldInfo:
		c.Skip(32) // rebase, bind, weak bind, lazy bind
		h.trie = h.blob(c)
	}
}

func (h *Head) blob(c *bin.Cursor) blob {
	b := blob{c.U32(), c.U32()}
	if !c.OK() {
		return blob{}
	}
	h.ends(uint64(b.offset), uint64(b.size))
	return b
}

// ends records that the file has so many bytes at an offset.
func (h *Head) ends(offset, size uint64) {
	if size > 0 && offset+size > offset {
		h.End = max(h.End, offset+size)
	}
}

func (h *Head) nlistSize() uint64 {
	if h.is64 {
		return 16
	}
	return 12
}

// segment reads the rest of a segment_command and its sections.
func (h *Head) segment(c *bin.Cursor, is64 bool) {
	word := 4
	if is64 {
		word = 8
	}
	s := segment{name: fixedString(c.Bytes(16))}
	s.addr, s.size, s.offset, s.fileSize = c.Uint(word), c.Uint(word), c.Uint(word), c.Uint(word)
	maxProtection, protection := c.U32(), c.U32()
	const execute = 4 // VM_PROT_EXECUTE
	s.executable = (maxProtection|protection)&execute != 0 && (protection&execute != 0 || h.typ == typeDSYM && s.name == "__TEXT")
	count := c.U32()
	c.Skip(4)
	if !c.OK() {
		return
	}
	h.segments = append(h.segments, s)
	if s.name != "__LINKEDIT" { // its parts are recorded where they are
		h.ends(s.offset, s.fileSize)
	}
	for ; count > 0; count-- {
		var x section
		x.name, x.segment = fixedString(c.Bytes(16)), fixedString(c.Bytes(16))
		x.addr, x.size = c.Uint(word), c.Uint(word)
		x.offset = uint64(c.U32())
		c.Skip(4)
		x.relocs, x.relocCount, x.flags = c.U32(), c.U32(), c.U32()
		c.Skip(8)
		if is64 {
			c.Skip(4)
		}
		if !c.OK() {
			return
		}
		h.HasInfo = h.HasInfo || x.isDebug() && x.size > 0 && (x.name == "__debug_info" || x.name == "__zdebug_info")
		h.HasGoTable = h.HasGoTable || x.name == "__gopclntab"
		h.sections = append(h.sections, x)
	}
}

// isDebug reports whether a section has debug information.
func (x *section) isDebug() bool { return x.segment == "__DWARF" }

// fixedString returns the text in a field of fixed size.
func fixedString(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

// Numbers of machines (<mach/machine.h>).
const (
	cpuX86     = 7
	cpuARM     = 12
	cpuPPC     = 18
	cpu64      = 0x01000000
	cpu64on32  = 0x02000000 // 64-bit hardware, pointers of 32 bits
	subtypeAll = 0x00ffffff // without the capabilities
)

func machineOf(cpu uint32) elf.Machine {
	switch cpu {
	case cpuX86:
		return elf.EM_386
	case cpuX86 | cpu64:
		return elf.EM_X86_64
	case cpuARM:
		return elf.EM_ARM
	case cpuARM | cpu64, cpuARM | cpu64on32:
		return elf.EM_AARCH64
	case cpuPPC:
		return elf.EM_PPC
	case cpuPPC | cpu64:
		return elf.EM_PPC64
	}
	return elf.EM_NONE
}

// archName returns the name of an architecture.
func archName(cpu, subtype uint32) string {
	subtype &= subtypeAll
	switch cpu {
	case cpuX86:
		return "i386"
	case cpuX86 | cpu64:
		if subtype == 8 {
			return "x86_64h"
		}
		return "x86_64"
	case cpuARM:
		switch subtype {
		case 6:
			return "armv6"
		case 9:
			return "armv7"
		case 11:
			return "armv7s"
		case 12:
			return "armv7k"
		case 14:
			return "armv6m"
		case 15:
			return "armv7m"
		case 16:
			return "armv7em"
		}
		return "arm"
	case cpuARM | cpu64:
		if subtype == 2 {
			return "arm64e"
		}
		return "arm64"
	case cpuARM | cpu64on32:
		return "arm64_32"
	case cpuPPC:
		return "ppc"
	case cpuPPC | cpu64:
		return "ppc64"
	}
	return fmt.Sprintf("cpu%d.%d", cpu, subtype)
}
