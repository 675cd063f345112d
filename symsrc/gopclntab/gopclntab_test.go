package gopclntab

import (
	"cmp"
	"compress/gzip"
	"debug/gosym"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// goLayout writes a table of two functions in a layout: first from 0x1000 to 0x1040, of whose lines 7 and 8 the latter is
// inlined from 0x1020 on, and second from 0x1040 to 0x1080.
type goLayout struct {
	magic uint32
	ptr   int
	order binary.AppendByteOrder
}

func (l goLayout) word(b []byte, v int) []byte {
	if l.ptr == 8 {
		return l.order.AppendUint64(b, uint64(v))
	}
	return l.order.AppendUint32(b, uint32(v))
}

func (l goLayout) numbers(b []byte, vs ...int) []byte {
	for _, v := range vs {
		b = l.order.AppendUint32(b, uint32(v))
	}
	return b
}

const goTexts = "\x00first\x00second\x00a.go\x00"

// Value tables at 1, 4, 9 and 12: the file; the lines 7 and 8; the line 9; inlined from 0x1020 on.
const goValues = "\x00" + "\x02\x40\x00" + "\x10\x20\x02\x20\x00" + "\x14\x40\x00" + "\x00\x20\x02\x20\x00"

func (l goLayout) function(entry, name, line int) []byte {
	var b []byte
	relative := l.magic == go118 || l.magic == go120
	if relative {
		b = l.numbers(b, entry-0x1000)
	} else {
		b = l.word(b, entry)
	}
	b = l.numbers(b, name, 0, 0, 0, 1, line, 3)
	if l.magic != go12 {
		b = l.numbers(b, 0) // unit
	}
	if l.magic == go120 {
		b = l.numbers(b, 1)
	}
	inlined := 12
	if line != 4 {
		inlined = 0
	}
	return l.numbers(append(b, 0, 0, 0, 0), 0, 0, inlined)
}

func (l goLayout) table() []byte {
	b := append(l.numbers(nil, int(l.magic)), 0, 0, 1, byte(l.ptr))
	b = l.word(b, 2)
	relative := l.magic == go118 || l.magic == go120
	entries := func(b []byte, first, second int) []byte {
		if relative {
			return l.numbers(b, 0, first, 0x40, second, 0x80)
		}
		return l.word(l.word(l.word(l.word(l.word(b, 0x1000), first), 0x1040), second), 0x1080)
	}
	one, two := l.function(0x1000, 1, 4), l.function(0x1040, 7, 9)
	if l.magic == go12 {
		// Everything is relative to the header, and files count from 1.
		const texts = 0x100
		b = l.numbers(entries(b, 0x200, 0x300), 0x180)
		b = append(append(b, make([]byte, texts-len(b))...), goTexts...)
		for _, f := range []struct {
			at   int
			data []byte
		}{{0x180, l.numbers(nil, 2, texts+14)}, {0x200, l.moved(one)}, {0x300, l.moved(two)}, {0x380, []byte("\x00\x04" + goValues[2:])}} {
			b = append(append(b, make([]byte, f.at-len(b))...), f.data...)
		}
		return b
	}
	b = l.word(b, 1)
	if l.magic != go116 {
		b = l.word(b, 0x1000)
	}
	// names, units, files, values, functions
	const names, units, files, values, functions = 0x100, 0x140, 0x100, 0x160, 0x180
	for _, off := range []int{names, units, files, values, functions} {
		b = l.word(b, off)
	}
	b = append(append(b, make([]byte, names-len(b))...), goTexts...)
	b = l.numbers(append(b, make([]byte, units-len(b))...), 14)
	b = append(append(b, make([]byte, values-len(b))...), goValues...)
	b = entries(append(b, make([]byte, functions-len(b))...), 0x40, 0xc0)
	b = append(append(b, make([]byte, functions+0x40-len(b))...), one...)
	return append(append(b, make([]byte, functions+0xc0-len(b))...), two...)
}

// moved makes the offsets of a function of the oldest layout relative to the header.
func (l goLayout) moved(fn []byte) []byte {
	for _, f := range []struct{ at, by int }{{0, 0x100}, {16, 0x380}, {20, 0x380}, {40, 0x380}} {
		p := fn[l.ptr+f.at:]
		var v uint32
		if v = binary.LittleEndian.Uint32(p); l.order == binary.AppendByteOrder(binary.BigEndian) {
			v = binary.BigEndian.Uint32(p)
		}
		if v != 0 {
			copy(p, l.numbers(nil, int(v)+f.by))
		}
	}
	return fn
}

// says writes frames as text.
func says(frames []symsrc.Frame) string {
	if len(frames) == 0 {
		return "?? ??:0:0"
	}
	var all []string
	for _, f := range frames {
		all = append(all, fmt.Sprintf("%s %s:%d:%d", f.Linkage, cmp.Or(f.File, "??"), f.Line, f.Column))
	}
	return strings.Join(all, " < ")
}

// TestGoLayouts reads all layouts in both word sizes and byte orders, here without inline trees.
func TestGoLayouts(t *testing.T) {
	for _, magic := range []uint32{go12, go116, go118, go120} {
		for _, ptr := range []int{4, 8} {
			for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
				l := goLayout{magic, ptr, order}
				b := l.table()
				f := &elf.File{Header: elf.Header{Format: elf.Format{Is64: ptr == 8, Big: order == binary.AppendByteOrder(binary.BigEndian)}}, Data: b}
				table := &Table{f: f}
				if !table.readHeader(b) || !table.readModule() {
					t.Errorf("%x, %d bytes, %v: not read", magic, ptr, order)
					continue
				}
				for addr, want := range map[uint64]string{0xfff: "?? ??:0:0", 0x1000: "first a.go:7:0", 0x101f: "first a.go:7:0",
					0x1020: "first ??:0:0", 0x103f: "first ??:0:0", 0x1040: "second a.go:9:0", 0x107f: "second a.go:9:0", 0x1080: "?? ??:0:0"} {
					if got := says(table.Frames(addr)); got != want {
						t.Errorf("%x, %d bytes, %v: %#x: %s instead of %s", magic, ptr, order, addr, got, want)
					}
				}
				for cut := range b { // wherever it ends, nothing but less is known
					part := &Table{f: f}
					if part.readHeader(b[:cut]) && part.readModule() {
						part.Frames(0x1020)
						part.Frames(0x1040)
					}
				}
			}
		}
	}
}

// TestGo115 compares with debug/gosym on the table of Go 1.15 that it brings along.
func TestGo115(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skipf("go is not installed: %v", err)
	}
	file, err := os.Open(filepath.Join(strings.TrimSpace(string(root)), "src/debug/gosym/testdata/pcln115.gz"))
	if err != nil {
		t.Skipf("Go's sources are not installed: %v", err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	const text = 0x1001000
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(b, text))
	if err != nil {
		t.Fatal(err)
	}
	table := &Table{f: &elf.File{Header: elf.Header{Format: elf.Format{Is64: true}}, Data: b}}
	if !table.readHeader(b) || table.layout != go12 {
		t.Fatalf("layout %x", table.layout)
	}
	positions := 0
	for _, fn := range symbols.Funcs {
		for addr := fn.Entry; addr < fn.End; addr += 29 {
			frames := table.Frames(addr)
			if len(frames) != 1 {
				continue // padding
			}
			file, line, _ := symbols.PCToLine(addr)
			if got := frames[0]; got.Func != fn.Name || got.File != "" && fmt.Sprint(got.File, got.Line) != fmt.Sprint(file, line) {
				t.Fatalf("%#x: %+v instead of %s %s:%d", addr, got, fn.Name, file, line)
			} else if got.File != "" {
				positions++
			}
		}
	}
	if positions < 1000 {
		t.Errorf("%d positions", positions)
	}
}

// FuzzGoTable reads damaged tables of all layouts.
func FuzzGoTable(f *testing.F) {
	for _, magic := range []uint32{go12, go116, go118, go120} {
		f.Add(goLayout{magic, 8, binary.LittleEndian}.table(), uint64(0x1020))
	}
	f.Fuzz(func(t *testing.T, b []byte, addr uint64) {
		table := &Table{f: &elf.File{Header: elf.Header{Format: elf.Format{Is64: true}}, Data: b}}
		if !table.readHeader(b) || !table.readModule() {
			return
		}
		for i := range uint64(8) {
			if n := len(table.Frames(addr + i*16)); n > maxGoInlined+1 {
				t.Fatalf("%d frames", n)
			}
		}
	})
}
