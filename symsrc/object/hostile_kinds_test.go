package object

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf/elftest"
)

var hostileDir = flag.String("hostile", "", "write the files of TestHostileKinds to this directory, each with a log")

// hostileKind is a small file that could cost any amount of work or memory.
type hostileKind struct {
	name string
	make func(t *testing.T) []byte
	// steps and bytes are the limits for reading it, in units of 1024; refused says whether it exceeds its budget.
	steps, bytes int64
	refused      bool
}

// loadedFile adds a build ID and a loadable segment to a file, in which offsets in the file are addresses.
func loadedFile(name string, data []byte) []byte {
	id := []byte(fmt.Sprintf("%-20.20s", name))
	data = slices.Clone(data)
	note := elftest.LE(uint32(4), uint32(len(id)), uint32(3), []byte("GNU\x00"), id)
	at := uint64(len(data))
	data = append(data, note...)
	load := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_X | elf.PF_R), Filesz: elftest.CodeAt + elftest.CodeSize, Memsz: elftest.CodeAt + elftest.CodeSize}
	notes := elf.Prog64{Type: uint32(elf.PT_NOTE), Off: at, Filesz: uint64(len(note))}
	binary.LittleEndian.PutUint64(data[32:], uint64(len(data)))
	binary.LittleEndian.PutUint16(data[54:], 56)
	binary.LittleEndian.PutUint16(data[56:], 2)
	return append(data, elftest.LE(load, notes)...)
}

// uleb128 returns a number in LEB128 encoding.
func uleb128(v uint64) (b []byte) {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// times returns n copies of b.
func times(n int, b ...byte) []byte { return bytes.Repeat(b, n) }

// line5 returns a line table of version 5 with the given directory and file lists and the given program.
func line5(lists, program []byte) []byte {
	header := slices.Concat([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, lists)
	return elftest.LE(uint32(8+len(header)+len(program)), uint16(5), uint8(8), uint8(0), uint32(len(header)), header, program)
}

// line4 returns a line table of version 4 with one file.
func line4(program []byte) []byte {
	header := slices.Concat([]byte{1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1}, []byte("\x00a.c\x00\x00\x00\x00\x00"))
	return elftest.LE(uint32(6+len(header)+len(program)), uint16(4), uint32(len(header)), header, program)
}

// atCode and sequenceEnd are line program operations: the start of a sequence at the code, and its end.
var atCode, sequenceEnd = append([]byte{0, 9, 2}, elftest.LE(uint64(elftest.CodeAt))...), []byte{2, 0xc8, 1, 0, 1, 1}

// Abbreviation declarations of hostile files.
var kindDecls = elftest.AbbrevTable(
	[]byte{1, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6},
	[]byte{2, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, 0x10, 0x17},
	[]byte{3, numTagSubprogram, 1, attrLowPCNumber, 1, attrHighPCNumber, 6},
	[]byte{4, numTagInlinedSubroutine, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, originNumber, 0x13},
	[]byte{5, numTagSubprogram, 0, 0x03, numFormStrp},
	[]byte{6, numTagSubprogram, 1, 0x01, 0x13, 0x03, numFormString},
	[]byte{7, numTagSubprogram, 0, attrLowPCNumber, 1, attrHighPCNumber, 0x0b},
	[]byte{8, numTagCompileUnit, 0, attrRangesNumber, 0x17},
	[]byte{9, numTagCompileUnit, 0, attrLowPCNumber, 1, attrHighPCNumber, 6, 0x10, 0x17, 0x1b, numFormStrp},
	[]byte{10, numTagLexicalBlock, 1},
	[]byte{11, numTagSubprogram, 0, attrLowPCNumber, 1, attrHighPCNumber, 6, 0x03, numFormStrp},
)

// lined returns a file with a line table and a unit that covers all code and uses it.
func lined(line []byte) []byte {
	unit := elftest.Unit4(elftest.LE(uint8(2), uint64(elftest.CodeAt), uint32(elftest.CodeSize), uint32(0), uint8(0)))
	return elftest.CodeFile(elftest.DebugPart(".debug_info", unit), elftest.DebugPart(".debug_abbrev", kindDecls), elftest.DebugPart(".debug_line", line))
}

// withUnit returns a file with one unit that covers all code and has the given entries.
func withUnit(entries []byte, parts ...elftest.Part) []byte {
	info := elftest.Unit4(slices.Concat(elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize)), entries, []byte{0}))
	return elftest.CodeFile(append(parts, elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls))...)
}

// bodyAt is the offset of the entries in .debug_info of withUnit.
const bodyAt = elftest.UnitHead4 + 13

// inFunction returns a function that covers all code and has the given entries as children.
func inFunction(entries []byte) []byte {
	return slices.Concat(elftest.LE(uint8(3), uint64(elftest.CodeAt), uint32(elftest.CodeSize)), entries, []byte{0})
}

// inlinedCall returns an inlined call that covers n bytes of code.
func inlinedCall(at uint64, n, origin uint32) []byte { return elftest.LE(uint8(4), at, n, origin) }

// symbolsOf returns a string table and a symbol table of n symbols.
func symbolsOf(n int, names []byte, each func(i int) elf.Sym64) []elftest.Part {
	table := []any{elf.Sym64{}}
	for i := range n {
		table = append(table, each(i))
	}
	var b bytes.Buffer
	for _, s := range table {
		binary.Write(&b, binary.LittleEndian, s)
	}
	return []elftest.Part{{Name: ".strtab", Type: elf.SHT_STRTAB, Data: names}, {Name: ".symtab", Type: elf.SHT_SYMTAB, Data: b.Bytes()}}
}

// symbolFile returns a file with the parts of symbolsOf: section 1 is the code, 2 the string table, 3 the symbol table.
func symbolFile(parts []elftest.Part, more ...elftest.Part) []byte {
	data := elftest.CodeFile(append(parts, more...)...)
	headers := binary.LittleEndian.Uint64(data[40:])
	binary.LittleEndian.PutUint32(data[headers+3*64+40:], 2)
	return data
}

// zeroForms returns the entry format of a list in a line table with n fields of size 0, and the number of entries.
func zeroForms(n int, count uint64) []byte {
	b := []byte{byte(n)}
	for range n {
		b = append(b, 1, numFormFlagPresent)
	}
	return append(b, uleb128(count)...)
}

var hostileKinds = []hostileKind{
	{"directories without end", func(*testing.T) []byte {
		return lined(line5(append(zeroForms(1, 1<<62), zeroForms(1, 1)...), slices.Concat(atCode, []byte{1}, sequenceEnd)))
	}, 1, 10, false},
	{"files without end", func(*testing.T) []byte {
		return lined(line5(append(zeroForms(1, 1), zeroForms(255, 1<<62)...), slices.Concat(atCode, []byte{4, 0xff, 0xff, 3, 1}, sequenceEnd)))
	}, 1, 19, false},
	{"a file table with all numbers", func(*testing.T) []byte {
		files := slices.Concat([]byte{1, 1, 8, 1, 'd', 0, 1, 1, 8}, uleb128(60000), times(60000, 'f', 0))
		var program []byte
		for i := range 60000 {
			program = append(append(append(program, 4), uleb128(uint64(i))...), 0x20)
		}
		return lined(line5(files, slices.Concat(atCode, program, sequenceEnd)))
	}, 1008, 2727, false},
	{"long paths", func(*testing.T) []byte {
		files := slices.Concat([]byte{1, 1, 8, 1}, times(16000, 'd'), []byte{0, 2, 1, 8, 2, 0x0b}, uleb128(30000))
		for i := range 30000 {
			files = append(files, byte('a'+i%26), byte('a'+i/26%26), byte('a'+i/676%50), 0, 0)
		}
		var program []byte
		for i := range 30000 {
			program = append(append(append(program, 4), uleb128(uint64(i))...), 0x20)
		}
		return lined(line5(files, slices.Concat(atCode, program, sequenceEnd)))
	}, 6034, 6921, false},
	{"rows shared by units", func(*testing.T) []byte {
		var info []byte
		for i := range 4000 {
			info = append(info, elftest.Unit4(elftest.LE(uint8(2), uint64(elftest.CodeAt+16*i), uint32(16), uint32(0), uint8(0)))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls),
			elftest.DebugPart(".debug_line", line4(slices.Concat(atCode, times(20000, 0x20, 0x21), sequenceEnd))))
	}, 32623, 98438, true},
	{"line 0 everywhere", func(*testing.T) []byte {
		back := slices.Concat([]byte{1, 3, 0x7f}, []byte{2, 1, 1})
		return lined(line4(slices.Concat(atCode, back, times(elftest.CodeSize/2, 5, 1, 2, 1, 1, 5, 2, 2, 1, 1), sequenceEnd)))
	}, 961, 1162, false},
	{"overlapping sequences", func(*testing.T) []byte {
		var program []byte
		for i := range 6000 {
			program = slices.Concat(program, []byte{0, 9, 2}, elftest.LE(uint64(elftest.CodeAt+i)), []byte{1, 2, 0xff, 0xff, 1, 0, 1, 1})
		}
		return lined(line4(program))
	}, 897, 1803, false},
	{"files defined", func(*testing.T) []byte {
		var program []byte
		for i := range 30000 {
			program = append(append(append(program, 4), uleb128(uint64(2+i))...), 0x20)
		}
		program = slices.Concat(atCode, program, sequenceEnd, bytes.Repeat([]byte{0, 6, 3, 'd', 0, 0, 0, 0}, 30000))
		return lined(line4(program))
	}, 1642, 2764, false},
	{"overlapping functions", func(*testing.T) []byte {
		var entries []byte
		for i := range 30000 {
			entries = append(entries, elftest.LE(uint8(3), uint64(elftest.CodeAt+i%elftest.CodeSize), uint32(elftest.CodeSize), uint8(0))...)
		}
		return withUnit(entries)
	}, 4092, 9179, false},
	{"nested functions", func(*testing.T) []byte {
		var entries []byte
		for i := range 30000 {
			entries = append(entries, elftest.LE(uint8(3), uint64(elftest.CodeAt+2*i), uint32(2))...)
		}
		return withUnit(append(entries, make([]byte, 30000)...))
	}, 147009, 3938, false},
	{"ranges shared by functions", func(*testing.T) []byte {
		decls := elftest.AbbrevTable([]byte{1, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6}, []byte{2, numTagSubprogram, 0, attrRangesNumber, 0x17})
		var ranges []byte
		for i := range 8000 {
			ranges = append(ranges, elftest.LE(uint64(2*i), uint64(2*i+1))...)
		}
		info := elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize))
		for range 8000 {
			info = append(info, elftest.LE(uint8(2), uint32(0))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(append(info, 0))), elftest.DebugPart(".debug_abbrev", decls), elftest.DebugPart(".debug_ranges", ranges))
	}, 383321, 98452, true},
	{"ranges shared by units", func(*testing.T) []byte {
		var ranges, info []byte
		for i := range 4000 {
			ranges = append(ranges, elftest.LE(uint64(elftest.CodeAt+2*i), uint64(elftest.CodeAt+2*i+1))...)
		}
		for range 4000 {
			info = append(info, elftest.Unit4(elftest.LE(uint8(8), uint32(0)))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls), elftest.DebugPart(".debug_ranges", ranges))
	}, 9766, 98439, true},
	{"address ranges", func(*testing.T) []byte {
		var info, sets []byte
		for i := range 3000 {
			sets = append(sets, elftest.LE(uint32(44), uint16(2), uint32(len(info)), uint8(8), uint8(0), uint32(0), uint64(elftest.CodeAt+i), uint64(elftest.CodeSize), uint64(0), uint64(0))...)
			info = append(info, elftest.Unit4(elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize), uint8(0)))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls), elftest.DebugPart(".debug_aranges", sets))
	}, 286, 708, false},
	{"inlined with long names", func(*testing.T) []byte {
		const depth, names = 900, 900
		var entries []byte
		for i := range names {
			entries = append(entries, elftest.LE(uint8(5), uint32(i))...)
		}
		var calls []byte
		for i := range depth {
			calls = append(calls, inlinedCall(elftest.CodeAt, elftest.CodeSize, uint32(bodyAt+5*(i%names)))...)
		}
		return withUnit(append(entries, inFunction(append(calls, make([]byte, depth)...))...), elftest.DebugPart(".debug_str", append(times(60000, 'x'), 0)))
	}, 196297, 98432, true},
	{"overlapping inlined calls", func(*testing.T) []byte {
		var calls []byte
		for range 60000 {
			calls = append(append(calls, inlinedCall(elftest.CodeAt, elftest.CodeSize, 0)...), 0)
		}
		return withUnit(inFunction(calls))
	}, 6505, 19693, false},
	{"implicit constants", func(*testing.T) []byte {
		decl := []byte{12, numTagInlinedSubroutine, 0}
		for range 30000 {
			decl = append(decl, 0x58, numFormImplicitConst, 1)
		}
		info := elftest.Unit4(slices.Concat(elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize)), inFunction(times(100000, 12)), []byte{0}))
		decls := append(slices.Clone(kindDecls[:len(kindDecls)-1]), append(decl, 0, 0, 0)...)
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", decls))
	}, 1012, 18756, false},
	{"a sibling in its own string", func(*testing.T) []byte {
		const n = 60000
		var entries []byte
		for i := range n / 8 {
			entries = append(entries, elftest.LE(uint8(6), uint32(bodyAt+8*(i+1)), []byte{'x', 'x', 'x'})...)
		}
		return withUnit(append(entries, 0))
	}, 264, 5, false},
	{"strings without an end", func(*testing.T) []byte {
		var entries []byte
		for i := range 20000 {
			entries = append(entries, elftest.LE(uint8(11), uint64(elftest.CodeAt+2*i), uint32(2), uint32(i))...)
		}
		return withUnit(entries, elftest.DebugPart(".debug_str", times(1<<20, 'x')))
	}, 1532, 2628, false},
	{"names of symbols without an end", func(*testing.T) []byte {
		return symbolFile(symbolsOf(20000, times(1<<20, 'x'), func(i int) elf.Sym64 {
			return elf.Sym64{Name: uint32(i), Info: 2, Shndx: 1, Value: uint64(elftest.CodeAt + 2*i), Size: 2}
		}))
	}, 7999, 939, false},
	{"long names of symbols", func(*testing.T) []byte {
		return symbolFile(symbolsOf(20000, append(times(1<<16, '_'), 0), func(i int) elf.Sym64 {
			return elf.Sym64{Name: uint32(i), Info: 2, Shndx: 1, Value: uint64(elftest.CodeAt + 2*i), Size: 2}
		}))
	}, 109880, 51924, true},
	{"symbols of one name", func(*testing.T) []byte {
		return symbolFile(symbolsOf(40000, []byte("\x00same\x00"), func(i int) elf.Sym64 {
			return elf.Sym64{Name: 1, Info: 2, Shndx: 1, Value: elftest.CodeAt, Size: uint64(i)}
		}))
	}, 1231, 11252, false},
	{"packed by zlib", func(t *testing.T) []byte {
		return elftest.CodeFile(elftest.Part{Name: ".debug_info", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED, Data: elftest.ZlibSection(t, make([]byte, 60<<20), 60<<20)})
	}, 23041, 92162, false},
	{"packed by zstd", func(t *testing.T) []byte {
		noise := make([]byte, 40<<20)
		for i := 0; i < len(noise); i += 700 {
			noise[i] = byte(i*i>>9) | 1
		}
		return elftest.CodeFile(elftest.Part{Name: ".debug_info", Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED, Data: elftest.ZSTDSection(t, noise, 40<<20)})
	}, 1, 61442, false},
	{"MiniDebugInfo", func(*testing.T) []byte {
		return elftest.CodeFile(elftest.Part{Name: ".gnu_debugdata", Type: elf.SHT_PROGBITS, Data: elftest.XZStream(make([]byte, 1<<16), 1<<24, 1)},
			elftest.Part{Name: ".symtab", Type: elf.SHT_DYNSYM, Data: make([]byte, 48)})
	}, 196609, 49154, false},
	{"abbreviations at every offset", func(*testing.T) []byte {
		var decls []byte
		for range 4000 {
			decls = append(decls, 0x40, numTagCompileUnit, 0, 0, 0)
		}
		decls = append(decls, kindDecls...)
		var info []byte
		for i := range 4000 {
			b := elftest.Unit4(elftest.LE(uint8(1), uint64(elftest.CodeAt+16*i), uint32(16), uint8(0)))
			binary.LittleEndian.PutUint32(b[6:], uint32(5*i))
			info = append(info, b...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", decls))
	}, 54276, 1339, false},
	{"abbreviation codes with large gaps", func(*testing.T) []byte {
		var decls, info []byte
		for i := range 60000 {
			decls = append(append(decls, uleb128(uint64(60*(i+1)))...), numTagCompileUnit, 0, 0, 0)
		}
		info = append(uleb128(60*60000), 0)
		return elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(info)), elftest.DebugPart(".debug_abbrev", append(decls, 0)))
	}, 352, 2, false},
	{"tiny units", func(*testing.T) []byte {
		var info []byte
		for i := range 3000 {
			info = append(info, elftest.Unit4(elftest.LE(uint8(7), uint64(elftest.CodeAt+16*i), uint8(16)))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls))
	}, 23, 843, false},
	{"long directories of units", func(*testing.T) []byte {
		var info []byte
		for i := range 8000 {
			info = append(info, elftest.Unit4(elftest.LE(uint8(9), uint64(elftest.CodeAt+8*i), uint32(8), uint32(0), uint32(i)))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls), elftest.DebugPart(".debug_str", append(times(60000, 'x'), 0)),
			elftest.DebugPart(".debug_line", line4(slices.Concat(atCode, []byte{1}, sequenceEnd))))
	}, 111, 1326, false},
	{"cyclic origins", func(*testing.T) []byte {
		var calls []byte
		for i := range 20000 {
			calls = append(append(calls, inlinedCall(elftest.CodeAt+uint64(3*i), 3, uint32(bodyAt+13+18*((i+7)%20000)))...), 0)
		}
		return withUnit(inFunction(calls))
	}, 2169, 6634, false},
	{"invalid bases", func(*testing.T) []byte {
		decls := elftest.AbbrevTable(
			[]byte{1, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, 0x72, 0x07, 0x73, 0x07, 0x74, 0x07},
			[]byte{2, numTagSubprogram, 0, 0x03, numFormStrx, attrLowPCNumber, numFormAddrx, attrHighPCNumber, 6},
			[]byte{3, numTagSubprogram, 0, attrRangesNumber, numFormRnglistx})
		entries := elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize), uint64(1<<39), uint64(1<<39), uint64(1<<39))
		for range 1000 {
			entries = slices.Concat(entries, []byte{2}, uleb128(1<<39), uleb128(1<<39), elftest.LE(uint32(4)), []byte{3}, uleb128(1<<31))
		}
		entries = append(entries, 0)
		info := append(elftest.LE(uint32(8+len(entries)), uint16(5), uint8(1), uint8(8), uint32(0)), entries...)
		return elftest.CodeFile(elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", decls), elftest.DebugPart(".debug_addr", make([]byte, 64)),
			elftest.DebugPart(".debug_str_offsets", make([]byte, 64)), elftest.DebugPart(".debug_rnglists", make([]byte, 64)))
	}, 102, 5, false},
	{"frames with a long augmentation", func(*testing.T) []byte {
		cie := elftest.LE(uint32(100010), uint32(0), uint8(1), []byte("z"), times(100003, 'S'), uint8(0))
		var frames []byte
		for i := range 10000 {
			at := len(cie) + len(frames)
			frames = append(frames, elftest.LE(uint32(12), uint32(at+4), uint32(elftest.CodeAt+i), uint32(4))...)
		}
		return elftest.CodeFile(elftest.Part{Name: ".eh_frame", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Addr: 0x100000, Data: append(cie, frames...)})
	}, 1, 2, false},
	{"sections of relocations", func(*testing.T) []byte {
		info := elftest.Unit4(append(elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize)), make([]byte, 500000)...))
		parts := append(symbolsOf(2, []byte("\x00a\x00"), func(int) elf.Sym64 { return elf.Sym64{Name: 1, Info: 2, Shndx: 1} }),
			elftest.DebugPart(".debug_info", info), elftest.DebugPart(".debug_abbrev", kindDecls))
		for range 5000 {
			parts = append(parts, elftest.Part{Name: ".rela", Type: elf.SHT_RELA, Data: make([]byte, 24)})
		}
		data := symbolFile(parts)
		binary.LittleEndian.PutUint16(data[16:], uint16(elf.ET_REL))
		headers := data[binary.LittleEndian.Uint64(data[40:]):]
		for i := 6; i < 5006; i++ {
			binary.LittleEndian.PutUint32(headers[64*i+40:], 3)
			binary.LittleEndian.PutUint32(headers[64*i+44:], 4)
		}
		return data
	}, 2198, 1676, false},
	{"many sections", func(*testing.T) []byte {
		var parts []elftest.Part
		for range 60000 {
			parts = append(parts, elftest.Part{Name: ".plt", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC | elf.SHF_EXECINSTR, Addr: 0x200000})
		}
		return elftest.CodeFile(append(parts, elftest.Part{Name: ".dynsym", Type: elf.SHT_DYNSYM, Data: make([]byte, 48)})...)
	}, 1, 11252, false},
	{"many notes", func(*testing.T) []byte {
		var parts []elftest.Part
		for range 20000 {
			parts = append(parts, elftest.Part{Name: ".n", Type: elf.SHT_NOTE, Data: make([]byte, 12)})
		}
		return elftest.CodeFile(parts...)
	}, 1, 3751, false},
	{"a supplement and a package that are the file itself", func(*testing.T) []byte {
		decls := elftest.AbbrevTable([]byte{1, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, 0xb0, 0x42, 0x08},
			[]byte{2, numTagSubprogram, 0, originNumber, 0xa0, 0x3e, attrLowPCNumber, 1, attrHighPCNumber, 6})
		info := slices.Concat(elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize)), []byte("self.elf\x00"))
		for i := range 2000 {
			info = append(info, elftest.LE(uint8(2), uint32(i), uint64(elftest.CodeAt+16*i), uint32(16))...)
		}
		return elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(append(info, 0))), elftest.DebugPart(".debug_abbrev", decls),
			elftest.DebugPart(".gnu_debugaltlink", append([]byte("self.elf\x00"), fmt.Sprintf("%-20.20s", "a supplement and a package that are the file itself")...)))
	}, 159, 321, false},
	{"a gopclntab without an end", func(*testing.T) []byte {
		table := elftest.LE(uint32(0xfffffff0), uint16(0), uint8(1), uint8(8), uint64(1), uint64(0), uint64(elftest.CodeAt))
		head := len(table) + 5*8
		names := []byte("\x00f\x00")
		values := append([]byte{0, 2, 1}, times(200000, 2, 1)...)
		table = append(table, elftest.LE(uint64(head), uint64(head), uint64(head), uint64(head+len(names)), uint64(head+len(names)+len(values)))...)
		table = slices.Concat(table, names, values)
		functions := elftest.LE(uint32(0), uint32(16), uint32(elftest.CodeSize), uint32(0))
		functions = append(functions, elftest.LE(uint32(0), uint32(1), uint32(0), uint32(0), uint32(0), uint32(1), uint32(1), uint32(3), uint32(0), uint32(0), uint32(0), uint32(1))...)
		return elftest.CodeFile(elftest.Part{Name: ".gopclntab", Type: elf.SHT_PROGBITS, Flags: elf.SHF_ALLOC, Addr: 0x100000, Data: append(table, functions...)})
	}, 1, 2, false},
}

// TestHostileKinds sends some hundred queries of each kind to files that could cost any amount of work. Their cost is counted in steps
// and in bytes, and must be limited.
func TestHostileKinds(t *testing.T) {
	for i := range hostileKinds {
		k := &hostileKinds[i]
		t.Run(k.name, func(t *testing.T) {
			data := loadedFile(k.name, k.make(t))
			k.write(t, data)
			path := filepath.Join(t.TempDir(), "self.elf")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, asLLVM := range []bool{false, true} {
				var f *File
				var err error
				allocated := allocates(func() {
					by := &defaultPolicy
					if asLLVM {
						by = &llvmPolicy
					}
					if f, err = openWith(path, symsrc.Range{}, by); err != nil {
						t.Fatal(err)
					}
					k.ask(f)
				})
				defer f.Close()
				fresh := budget.NewFile(len(data))
				for range f.deps.opened {
					fresh.Grow(len(data))
				}
				unpacked := int64(f.dwarf.UnpackedSize)
				freshSteps, freshBytes, freshAnswers := fresh.Left()
				leftSteps, leftBytes, leftAnswers := f.elf.Budget.Left()
				steps := freshSteps + unpackedSteps*unpacked - leftSteps
				answers := freshAnswers + unpackedSteps*unpacked - leftAnswers
				held := freshBytes - leftBytes
				t.Logf("%d bytes, llvm %t: %d steps, %d of answers, %d bytes held, %d allocated, %v", len(data), asLLVM, steps, answers, held, allocated, f.fault.Load())
				gone, err := givenUp(f)
				if err != nil {
					t.Errorf("damaged: %v", err)
				}
				if gone != k.refused && !asLLVM {
					t.Errorf("refused: %t", gone)
				}
				if steps > k.steps<<10 && !asLLVM || held > k.bytes<<10 && !asLLVM {
					t.Errorf("%d steps, want %d; %d bytes, want %d", steps, k.steps<<10, held, k.bytes<<10)
				}
				if limit := answerSteps + stepsPerQuery*f.elf.Budget.Queries(); answers > limit+1<<22 {
					t.Errorf("answers take %d steps", answers)
				}
				const headroom = 4 // for growing slices and answers
				if most := headroom * max(64<<20, 16*int64(len(data))); allocated > uint64(most) {
					t.Errorf("%d bytes allocated, want at most %d", allocated, most)
				}
			}
		})
	}
}

// Limits of budget.File, in steps: per byte that sections unpack to, for a single answer, and per query on average.
const unpackedSteps, answerSteps, stepsPerQuery = 16, 1 << 28, 1 << 11

// questionsOfKind is the number of addresses that are looked up in a file.
const questionsOfKind = 1 << 9

// ask sends queries of all kinds.
func (k *hostileKind) ask(f *File) {
	for i := range uint64(questionsOfKind) {
		a := elftest.CodeAt + i*(elftest.CodeSize/questionsOfKind)
		tooLong(f.Code(a))
		f.ShortCode(a)
		f.Data(a)
		f.Probe(a, symsrc.Linked)
		f.Symbol("same", i)
		if f.fault.Load() != nil {
			return
		}
	}
	f.Named("same", elftest.CodeAt)
}

// write writes the file to the directory of -hostile, with a log of addresses in it.
func (k *hostileKind) write(t *testing.T, data []byte) {
	t.Helper()
	if *hostileDir == "" {
		return
	}
	name := filepath.Join(*hostileDir, strings.Map(func(r rune) rune {
		if r == ' ' || r == '\'' {
			return '-'
		}
		return r
	}, k.name))
	var log, addrs bytes.Buffer
	id := hex.EncodeToString([]byte(fmt.Sprintf("%-20.20s", k.name)))
	for i := range 20000 {
		a := elftest.CodeAt + uint64(i*7919)%elftest.CodeSize
		fmt.Fprintf(&log, "    #%d 0x%x  (%s.elf+0x%x) (BuildId: %s)\n", i%40, 0x7f0000000000+a, name, a, id)
		fmt.Fprintf(&addrs, "0x%x\n", a)
	}
	for path, b := range map[string][]byte{name + ".elf": data, name + ".log": log.Bytes(), name + ".addrs": addrs.Bytes()} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
