package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf/inflate"
	"qss-filter/symsrc/pages"
)

// Content is the contents of a section. A compressed section is unpacked as far as it is needed. It is safe for concurrent use: the
// bytes before ready do not change.
type Content struct {
	Size  int // uncompressed size, in bytes
	ready atomic.Int64
	data  []byte // of length Size if ready > 0

	mu     sync.Mutex
	unpack unpacker     // nil if everything is unpacked, or after an error
	limits *budget.File // set for compressed sections
}

// unpacker unpacks at least the first n bytes of a section. It returns the section, always the same slice of full size, and the number
// of its bytes that are valid.
type unpacker func(n int) (out []byte, valid int, err error)

// plain sets the section to uncompressed bytes.
func (s *Content) plain(b []byte) {
	s.Size, s.data = len(b), b
	s.ready.Store(int64(len(b)))
}

// UpTo returns the first n bytes, or fewer if the section is shorter or its compressed data is damaged.
func (s *Content) UpTo(n int) []byte {
	n = min(n, s.Size)
	if n > int(s.ready.Load()) {
		s.unpackTo(n)
		n = min(n, int(s.ready.Load()))
	}
	if n <= 0 {
		return nil
	}
	return s.data[:n:n]
}

// unpackTo unpacks at least the first n bytes.
func (s *Content) unpackTo(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unpack == nil || n <= int(s.ready.Load()) {
		return
	}
	out, valid, err := s.unpack(n)
	if valid = min(valid, len(out), s.Size); valid < int(s.ready.Load()) {
		return
	}
	if len(s.data) == 0 {
		s.data = out
	}
	if err != nil || valid == s.Size {
		s.unpack = nil // valid bytes stay valid
	}
	s.limits.Use(valid - int(s.ready.Load()))
	s.ready.Store(int64(valid))
}

// Packed reports whether a part of the section is not unpacked yet.
func (s *Content) Packed() bool { return s.unpack != nil }

// Replace sets the section to its uncompressed bytes.
func (s *Content) Replace(b []byte) {
	s.unpack = nil
	s.plain(b)
}

// Unpacked returns the number of bytes that are unpacked.
func (s *Content) Unpacked() int { return int(s.ready.Load()) }

// All returns the whole section.
func (s *Content) All() []byte { return s.UpTo(s.Size) }

// CString returns the string at off without its NUL, or nil if it is outside of the section or longer than bin.MaxString.
func (s *Content) CString(off uint64) []byte {
	if off >= uint64(s.Size) {
		return nil
	}
	for n := 1 << 12; ; n *= 4 {
		n = min(n, bin.MaxString+1)
		b := s.UpTo(int(off) + n)
		if int(off) >= len(b) {
			return nil
		}
		if i := bytes.IndexByte(b[off:], 0); i >= 0 {
			return b[off : int(off)+i]
		}
		if len(b) < int(off)+n || n > bin.MaxString {
			return nil
		}
	}
}

// Limits of the uncompressed size of a section. The best compression ratio of DEFLATE is 1032 to 1.
const (
	maxRatio    = 1100
	maxUnpacked = (4<<30 - 1) & math.MaxInt
)

// Load sets s to the contents of a section, which may be compressed. Its errors are *StatusError.
func (f *File) Load(s *Content, sh *Section) error {
	b, ok := f.Contents(sh)
	if !ok {
		return Corrupted("section %s lies outside of the file", sh.Name)
	}
	return s.load(&f.Format, sh, b, f.Budget)
}

// load is Load for a section with the contents b.
func (s *Content) load(h *Format, sh *Section, b []byte, limits *budget.File) error {
	var (
		size   uint64
		method elf.CompressionType
		packed []byte
	)
	switch {
	case sh.Flags&elf.SHF_COMPRESSED != 0: // gABI, "Compression Header"
		c := &bin.Cursor{B: b, Big: h.Big}
		method = elf.CompressionType(c.U32())
		if h.Is64 {
			c.Skip(4)
		}
		size = c.Uint(h.WordSize())
		c.Skip(uint64(h.WordSize()))
		if !c.OK() {
			return Corrupted("section %s: compression header is cut off", sh.Name)
		}
		packed = b[c.P:]
	case len(b) >= 12 && string(b[:4]) == "ZLIB" && len(sh.Name) > 2 && sh.Name[:2] == ".z":
		method, size, packed = elf.COMPRESS_ZLIB, binary.BigEndian.Uint64(b[4:]), b[12:]
	default:
		s.plain(b)
		return nil
	}
	if size > maxRatio*uint64(len(packed))+1024 || size > uint64(min(limits.Room(), maxUnpacked)) {
		return Corrupted("section %s: %d bytes are to unpack to %d", sh.Name, len(packed), size)
	}
	switch method {
	case elf.COMPRESS_ZLIB:
		s.unpack = unzlib(packed, int(size))
	case elf.COMPRESS_ZSTD:
		s.unpack = unzstd(packed, int(size))
	default:
		return &StatusError{symsrc.UnsupportedCompressed, fmt.Errorf("section %s: compression %d", sh.Name, method)}
	}
	limits.AddUnpacked(int(size))
	s.Size, s.limits = int(size), limits
	return nil
}

var errSize = errors.New("unpacks to a different size than its header says")

// unzlib returns an unpacker of a zlib stream (RFC 1950), which decodes as much as is needed.
func unzlib(packed []byte, size int) unpacker {
	var stream *inflate.Stream
	return func(n int) (out []byte, valid int, err error) {
		if stream == nil {
			if stream, err = inflate.NewZlib(packed, size); err != nil {
				return nil, 0, err
			}
		}
		out, err = stream.To(n)
		return out, stream.Valid(), err
	}
}

// unzstd returns an unpacker of a zstd frame (RFC 8878). It decodes in the caller's goroutine, because only that one recovers from
// faults of mapped memory.
func unzstd(packed []byte, size int) unpacker {
	return func(int) ([]byte, int, error) {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(size)+1<<20))
		if err != nil {
			return nil, 0, err
		}
		defer z.Close()
		out, err := z.DecodeAll(packed, pages.Make(size)[:0])
		if err == nil && len(out) != size {
			err = errSize
		}
		return out, len(out), err
	}
}

// firstPlaced is the first address at which sections of relocatable files are placed. It is greater than the size of any section,
// which distinguishes such addresses from offsets in sections.
const firstPlaced = 1 << 30

// place assigns different addresses to the sections of a relocatable file, as a linker would. In the file all addresses are 0.
func (f *File) place() {
	next := uint64(firstPlaced)
	for i := range f.Sections {
		s := &f.Sections[i]
		s.Addr = placeNext(&next, s.Flags, s.Addr, s.Size)
	}
	f.Addressing.codeAtZero = false
}

// placeNext returns the address of a section, which is at next if it is to be placed. next is then moved after it.
func placeNext(next *uint64, flags elf.SectionFlag, addr, size uint64) uint64 {
	const limit = 1 << 31
	if flags&elf.SHF_ALLOC == 0 || addr != 0 || size == 0 || *next >= limit || size > limit-*next {
		return addr
	}
	addr = *next
	*next = (addr + size + 0xff) &^ 0xf
	return addr
}

// PlacedAddr returns the address that queries know a section by. In a relocatable file it is the one at which the section is placed.
func PlacedAddr(f *elf.File, section *elf.Section) (addr uint64) {
	next := uint64(firstPlaced)
	for _, s := range f.Sections {
		if addr = s.Addr; f.Type == elf.ET_REL {
			addr = placeNext(&next, s.Flags, s.Addr, s.Size)
		}
		if s == section {
			break
		}
	}
	return addr
}

// Placed converts an offset in a relocatable file to the address in the first section of code, or of data, that is long enough, which
// is the section that llvm chooses. An address at which a section was placed is unchanged, as is any address in other files.
func (h *Header) Placed(off uint64, code bool) uint64 {
	if h.Type != elf.ET_REL || off >= firstPlaced {
		return off
	}
	for i := range h.Sections {
		s := &h.Sections[i]
		isCode := s.Flags&elf.SHF_EXECINSTR != 0
		if isCode == code && s.Flags&elf.SHF_ALLOC != 0 && off < s.Size {
			return s.Addr + off
		}
	}
	return ^uint64(0) >> 1 // an address outside of all sections
}

// placedSymbols holds the values of the symbols of a relocatable file, for relocations.
type placedSymbols struct {
	symbolSection uint32 // index of the symbol table's section
	symbolValues  []uint64
}

// relocation is the effect of a relocation type on a number in debug information.
type relocation struct {
	size int // of the number, in bytes
	add  int // 0: the sum of symbol value and addend replaces the number; 1: it is added to it; −1: it is subtracted from it
}

// relocations are the relocation types, by machine, that compilers use in debug information. Those of size 0 are ignored: they
// occur in data that is not used, such as the locations of thread-local variables.
var relocations = map[elf.Machine]map[uint32]relocation{
	elf.EM_X86_64:  {0: {}, 1: {size: 8}, 10: {size: 4}, 11: {size: 4}, 17: {}, 21: {}},
	elf.EM_386:     {0: {}, 1: {size: 4}, 32: {}},
	elf.EM_AARCH64: {0: {}, 256: {}, 257: {size: 8}, 258: {size: 4}, 1029: {}},
	elf.EM_ARM:     {0: {}, 2: {size: 4}, 106: {}},
	elf.EM_MIPS:    {0: {}, 2: {size: 4}, 18: {size: 8}, 39: {}, 41: {}},
	elf.EM_PPC:     {0: {}, 1: {size: 4}, 78: {}},
	elf.EM_PPC64:   {0: {}, 1: {size: 4}, 38: {size: 8}, 51: {}, 78: {}},
	elf.EM_S390:    {0: {}, 4: {size: 4}, 22: {size: 8}, 52: {}, 53: {}},
	elf.EM_RISCV: {0: {}, 1: {size: 4}, 2: {size: 8}, 8: {}, 9: {}, 33: {1, 1}, 34: {2, 1}, 35: {4, 1}, 36: {8, 1},
		37: {1, -1}, 38: {2, -1}, 39: {4, -1}, 40: {8, -1}},
}

// Relocate applies the relocations of a relocatable file to its sections of debug information, given by their indexes. It returns the
// original contents of the sections that it changed. It returns false if a relocation is invalid or of an unknown type, because the
// debug information is then useless.
func (f *File) Relocate(debug map[uint32]*Content) (before map[*Content][]byte, ok bool) {
	left := len(f.Data) // bounds the work if many sections share the same bytes
	before = make(map[*Content][]byte)
	for i := range f.Sections {
		sh := &f.Sections[i]
		if sh.Type != elf.SHT_RELA && sh.Type != elf.SHT_REL {
			continue
		}
		s := debug[sh.Info]
		if s == nil {
			continue
		}
		entries, ok := f.Contents(sh)
		if left -= len(entries); !ok || left < 0 || sh.Link != f.symbolSection {
			return nil, false
		}
		b := s.All()
		if len(b) != s.Size {
			return nil, false
		}
		if _, copied := before[s]; !copied {
			f.Budget.Hold(len(b))
			before[s], b = b, slices.Clone(b)
			s.Replace(b)
		}
		if !f.relocateSection(b, entries, sh.Type == elf.SHT_RELA) {
			return nil, false
		}
	}
	return before, true
}

// relocateSection applies the relocations of one section to b. addends is set for SHT_RELA.
func (f *File) relocateSection(b, entries []byte, addends bool) bool {
	known, word := relocations[f.Machine], f.WordSize()
	size := 2 * word
	if addends {
		size += word
	}
	for ; len(entries) >= size; entries = entries[size:] {
		c := &bin.Cursor{B: entries, Big: f.Big}
		off, info := c.Uint(word), c.Uint(word)
		typ, symbol := uint32(info), info>>32
		if !f.Is64 {
			typ, symbol = uint32(info&0xff), info>>8
		}
		r, ok := known[typ]
		if !ok || symbol >= uint64(len(f.symbolValues)) {
			return false
		}
		if r.size == 0 {
			continue
		}
		if off >= uint64(len(b)) || r.size > len(b)-int(off) {
			return false
		}
		old, _ := bin.Uint(b, int(off), r.size, f.Big)
		v, addend := f.symbolValues[symbol], old
		if addends {
			addend = c.Uint(word)
		}
		switch v += addend; r.add {
		case 1:
			v = old + v
		case -1:
			v = old - v
		}
		putUint(b[off:int(off)+r.size], v, f.Big)
	}
	return true
}

// placeSymbols returns a copy of the symbol table of a relocatable file in which the address of the symbol's section is added to each
// value. table is the index of the table's section.
func (f *File) placeSymbols(table int, raw []byte) []byte {
	f.Budget.Hold(2 * len(raw))
	raw, f.symbolValues = slices.Clone(raw), nil
	var xindex []byte
	for i := range f.Sections {
		if x := &f.Sections[i]; x.Type == elf.SHT_SYMTAB_SHNDX && x.Link == uint32(table) {
			xindex, _ = f.Contents(x)
		}
	}
	size, value, index, word := elf.Sym32Size, 4, 14, f.WordSize()
	if f.Is64 {
		size, value, index = elf.Sym64Size, 8, 6
	}
	for i := 0; (i+1)*size <= len(raw); i++ {
		b := raw[i*size:]
		v, _ := bin.Uint(b, value, word, f.Big)
		section, _ := bin.Uint(b, index, 2, f.Big)
		if section == uint64(elf.SHN_XINDEX) {
			section, _ = bin.Uint(xindex, 4*i, 4, f.Big)
		}
		if section < uint64(len(f.Sections)) {
			v += f.Sections[section].Addr
		}
		putUint(b[value:value+word], v, f.Big)
		f.symbolValues = append(f.symbolValues, v)
	}
	f.symbolSection = uint32(table)
	return raw
}

// putUint writes v to all bytes of b.
func putUint(b []byte, v uint64, big bool) {
	for i := range b {
		shift := 8 * i
		if big {
			shift = 8 * (len(b) - 1 - i)
		}
		b[i] = byte(v >> shift)
	}
}

// applyRules sets the file's Addressing according to the rules.
func (f *File) applyRules(by Rules) {
	f.Addressing.codeAtZero = f.Addressing.codeAtZero || by.CodeAtZero
	for i := range f.Sections {
		if s := &f.Sections[i]; by.SectionRelative && f.Type == elf.ET_REL && s.Addr >= firstPlaced && s.Flags&elf.SHF_ALLOC != 0 {
			f.Starts = append(f.Starts, s.Addr)
		}
	}
}

// SectionRelative converts a range of placed addresses to offsets in its section if Starts is set. Other ranges are unchanged.
func (f *Addressing) SectionRelative(s Span) Span {
	if f.Starts == nil || s.Lo < firstPlaced {
		return s
	}
	i, found := slices.BinarySearch(f.Starts, s.Lo)
	if !found {
		i--
	}
	return Span{s.Lo - f.Starts[i], s.Hi - f.Starts[i]}
}
