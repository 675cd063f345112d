// Package elftest creates small ELF files, and parts of their debug information, for tests.
package elftest

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Part is a section of a file that File creates.
type Part struct {
	Name  string
	Type  elf.SectionType
	Flags elf.SectionFlag
	Addr  uint64
	Data  []byte
	Size  uint64 // 0: len(Data)
}

// File returns a 64-bit little-endian ELF file for x86-64 with the parts as sections.
func File(parts ...Part) []byte {
	names := []byte{0}
	var body bytes.Buffer
	headers := []elf.Section64{{}}
	const head = 64
	for _, p := range append(parts, Part{Name: ".shstrtab", Type: elf.SHT_STRTAB}) {
		h := elf.Section64{Name: uint32(len(names)), Type: uint32(p.Type), Flags: uint64(p.Flags), Addr: p.Addr, Off: uint64(head + body.Len())}
		names = append(append(names, p.Name...), 0)
		if p.Name == ".shstrtab" {
			p.Data = names
		}
		if h.Size = p.Size; h.Size == 0 {
			h.Size = uint64(len(p.Data))
		}
		body.Write(p.Data)
		headers = append(headers, h)
	}
	out := elf.Header64{
		Type: uint16(elf.ET_DYN), Machine: uint16(elf.EM_X86_64), Version: 1, Shoff: uint64(head + body.Len()), Ehsize: head,
		Shentsize: 64, Shnum: uint16(len(headers)), Shstrndx: uint16(len(headers) - 1),
	}
	copy(out.Ident[:], elf.ELFMAG+"\x02\x01\x01")
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, out)
	file.Write(body.Bytes())
	binary.Write(&file, binary.LittleEndian, headers)
	return file.Bytes()
}

// CodeAt and CodeSize are the address and the size of the code section in files that CodeFile creates.
const CodeAt, CodeSize = 0x1000, 0x10000

// CodeFile is File with a code section, without contents, before the parts.
func CodeFile(parts ...Part) []byte {
	text := Part{Name: ".text", Type: elf.SHT_NOBITS, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, Addr: CodeAt, Size: CodeSize}
	return File(append([]Part{text}, parts...)...)
}

// DebugPart returns a section of debug information.
func DebugPart(name string, data []byte) Part {
	return Part{Name: name, Type: elf.SHT_PROGBITS, Data: data}
}

// AbbrevTable returns an abbreviation table. Each declaration is its code, its tag, DW_CHILDREN, and pairs of attribute and form.
func AbbrevTable(decls ...[]byte) []byte {
	var b []byte
	for _, d := range decls {
		b = append(append(b, d...), 0, 0)
	}
	return append(b, 0)
}

// LE returns the bytes of numbers of fixed size in little-endian order. It panics for other values.
func LE(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// Unit4 returns a DWARF 4 unit with the given entries.
func Unit4(entries []byte) []byte {
	return append(LE(uint32(7+len(entries)), uint16(4), uint32(0), uint8(8)), entries...)
}

// UnitHead4 is the size of the header of a DWARF 4 unit, in bytes.
const UnitHead4 = 11

// ZlibSection returns the contents of a section with data compressed by zlib, whose header says that the uncompressed size is size.
func ZlibSection(t *testing.T, data []byte, size uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(LE(uint32(elf.COMPRESS_ZLIB), uint32(0), size, uint64(1)))
	w := zlib.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ZSTDSection is ZlibSection for zstd.
func ZSTDSection(t *testing.T, data []byte, size uint64) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, LE(uint32(elf.COMPRESS_ZSTD), uint32(0), size, uint64(1)))
}

// XZStream returns an xz stream with a number of equal blocks that contain data uncompressed. According to the index, each block
// unpacks to claimed bytes.
func XZStream(data []byte, claimed uint64, blocks int) []byte {
	stored := append([]byte{1, byte((len(data) - 1) >> 8), byte(len(data) - 1)}, data...)
	block := append([]byte{2, 0, 0x21, 1, 40, 0, 0, 0, 0, 0, 0, 0}, append(stored, 0)...) // a dictionary of 4 GiB
	size := uint64(len(block))
	for len(block)%4 != 0 {
		block = append(block, 0)
	}
	index := binary.AppendUvarint([]byte{0}, uint64(blocks))
	out := []byte("\xfd7zXZ\x00\x00\x00....")
	for range blocks {
		index = binary.AppendUvarint(binary.AppendUvarint(index, size), claimed)
		out = append(out, block...)
	}
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	out = append(append(out, index...), "...."...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(index)/4-1)), "\x00\x00YZ"...)
}
