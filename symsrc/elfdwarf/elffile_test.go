package elfdwarf

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// part is a section of a file that elfFile makes.
type part struct {
	name  string
	typ   elf.SectionType
	flags elf.SectionFlag
	addr  uint64
	data  []byte
	size  uint64 // 0: that of data
}

// elfFile makes a little-endian file of 64 bits for x86-64.
func elfFile(parts ...part) []byte {
	names := []byte{0}
	var body bytes.Buffer
	headers := []elf.Section64{{}}
	const head = 64
	for _, p := range append(parts, part{name: ".shstrtab", typ: elf.SHT_STRTAB}) {
		h := elf.Section64{Name: uint32(len(names)), Type: uint32(p.typ), Flags: uint64(p.flags), Addr: p.addr, Off: uint64(head + body.Len())}
		names = append(append(names, p.name...), 0)
		if p.name == ".shstrtab" {
			p.data = names
		}
		if h.Size = p.size; h.Size == 0 {
			h.Size = uint64(len(p.data))
		}
		body.Write(p.data)
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

// codeAt is where the code lies of files that codeFile makes, and how much there is.
const codeAt, codeSize = 0x1000, 0x10000

// codeFile is elfFile with a section of code.
func codeFile(parts ...part) []byte {
	text := part{name: ".text", typ: elf.SHT_NOBITS, flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, addr: codeAt, size: codeSize}
	return elfFile(append([]part{text}, parts...)...)
}

// dwarf puts a section of debug information together.
func dwarfPart(name string, data []byte) part {
	return part{name: name, typ: elf.SHT_PROGBITS, data: data}
}

// abbrevTable is a table of declarations: of each its code, tag, whether it has children, and pairs of attribute and form.
func abbrevTable(decls ...[]byte) []byte {
	var b []byte
	for _, d := range decls {
		b = append(append(b, d...), 0, 0)
	}
	return append(b, 0)
}

// le is numbers in little-endian order, as many bytes each as its type has.
func le(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// unit4 is a unit of DWARF 4 around its entries.
func unit4(entries []byte) []byte {
	return append(le(uint32(7+len(entries)), uint16(4), uint32(0), uint8(8)), entries...)
}

// unitHead4 is the length of such a unit's header.
const unitHead4 = 11

// zlibSection packs data as the contents of a compressed section that says it has that size.
func zlibSection(t *testing.T, data []byte, size uint64) []byte {
	t.Helper()
	var b bytes.Buffer
	b.Write(le(uint32(elf.COMPRESS_ZLIB), uint32(0), size, uint64(1)))
	w := zlib.NewWriter(&b)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zstdSection is zlibSection for zstd.
func zstdSection(t *testing.T, data []byte, size uint64) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, le(uint32(elf.COMPRESS_ZSTD), uint32(0), size, uint64(1)))
}
