package object

import (
	"reflect"
	"slices"
	"testing"

	"qss-filter/symsrc/elf/elftest"
)

// Operations of line number programs (DWARF 4 §6.2.5).
var (
	setAddress = func(addr uint64) []byte { return elftest.LE([]byte{0, 9, numLNESetAddress}, addr) }
	defineFile = func(name string) []byte {
		return append(append([]byte{0, byte(len(name) + 5), numLNEDefineFile}, name...), 0, 0, 0, 0)
	}
	copyRow     = []byte{numLNSCopy}
	endSequence = []byte{0, 1, numLNEEndSequence}
	line7       = []byte{numLNSAdvanceLine, 6}
	line0       = []byte{numLNSAdvanceLine, 0x7f} // from line 1
	back7       = []byte{numLNSAdvanceLine, 0x79}
	file2       = []byte{numLNSSetFile, 2}
	next4       = []byte{numLNSAdvancePC, 4}
)

// lineFile returns a file with one unit, with 8 GiB of code, and a line number program.
func lineFile(program ...[]byte) []byte {
	code := slices.Concat(program...)
	header := elftest.LE(uint8(1), uint8(1), int8(-5), uint8(14), uint8(10), []byte{0, 1, 1, 1, 1, 0, 0, 0, 1}, uint8(0), []byte("a.c\x00\x00\x00\x00\x00"))
	line := elftest.LE(uint32(6+len(header)+len(code)), uint16(2), uint32(len(header)), header, code)
	decls := elftest.AbbrevTable([]byte{1, numTagCompileUnit, 0, 0x10, 0x17, attrLowPCNumber, 1, attrHighPCNumber, 7})
	unit := elftest.Unit4(elftest.LE(uint8(1), uint32(0), uint64(elftest.CodeAt), uint64(8<<30)))
	return elftest.CodeFile(elftest.DebugPart(".debug_info", unit), elftest.DebugPart(".debug_abbrev", decls), elftest.DebugPart(".debug_line", line))
}

// TestRows looks up addresses before and after the rows are stored.
func TestRows(t *testing.T) {
	const far = elftest.CodeAt + 4<<30 + 1
	for _, c := range []struct {
		name    string
		program [][]byte
		addr    uint64
		file    string
		line    int
		approx  bool
	}{
		{"plain", [][]byte{setAddress(elftest.CodeAt), line7, copyRow, next4, endSequence}, elftest.CodeAt + 1, "a.c", 7, false},
		{"line 0", [][]byte{setAddress(elftest.CodeAt), line7, copyRow, next4, back7, copyRow, next4, endSequence}, elftest.CodeAt + 5, "a.c", 7, true},
		{"line 0 alone", [][]byte{setAddress(elftest.CodeAt), line0, copyRow, next4, endSequence}, elftest.CodeAt + 1, "a.c", 0, false},
		{"a file defined later", [][]byte{setAddress(elftest.CodeAt), file2, line7, copyRow, next4, endSequence, defineFile("b.c")},
			elftest.CodeAt + 1, "b.c", 7, false},
		{"no such file", [][]byte{setAddress(elftest.CodeAt), file2, line7, copyRow, next4, endSequence}, elftest.CodeAt + 1, "", 0, false},
		{"decreasing addresses, and another sequence", [][]byte{setAddress(elftest.CodeAt), line7, copyRow, setAddress(elftest.CodeAt + 0x10), copyRow,
			setAddress(elftest.CodeAt - 4), copyRow, next4, next4, endSequence, setAddress(elftest.CodeAt), copyRow, next4, endSequence},
			elftest.CodeAt + 1, "a.c", 1, false},
		{"without an end", [][]byte{setAddress(elftest.CodeAt), line7, copyRow, next4, copyRow}, elftest.CodeAt + 1, "", 0, false},
		{"twice", [][]byte{setAddress(elftest.CodeAt), line7, copyRow, next4, endSequence, setAddress(elftest.CodeAt), copyRow, next4, endSequence},
			elftest.CodeAt + 1, "a.c", 7, false},
		{"an end far away", [][]byte{setAddress(elftest.CodeAt), copyRow, next4, line7, copyRow, setAddress(far + 8), endSequence},
			far, "a.c", 7, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := newFile(lineFile(c.program...))
			if err != nil {
				t.Fatal(err)
			}
			first := f.Code(c.addr)
			if c.file == "" && len(first) == 0 {
				return
			}
			if len(first) != 1 || first[0].File != c.file || first[0].Line != c.line || first[0].Approx != c.approx {
				t.Errorf("%+v", first)
			}
			for range 2 {
				if again := f.Code(c.addr); !reflect.DeepEqual(again, first) {
					t.Errorf("first %+v, then %+v", first, again)
				}
			}
		})
	}
}
