package macho_test

import (
	"bytes"
	stdelf "debug/elf"
	"debug/macho"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	own "qss-filter/symsrc/macho"
	"qss-filter/symsrc/names"
)

const (
	programFile = "../../testdata/apple/bin/demo"
	dsymFile    = "../../testdata/apple/syms/demo.dSYM/Contents/Resources/DWARF/demo"
)

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files returns the files of one architecture of testdata.
func files(t testing.TB) (all [][]byte) {
	all = append(all, read(t, programFile))
	fat := read(t, dsymFile)
	for _, s := range own.Slices(bytes.NewReader(fat), int64(len(fat))) {
		all = append(all, fat[s.Offset:s.Offset+s.Size])
	}
	return all
}

// TestSections compares sections, segments and the UUID with what Go's own reader says.
func TestSections(t *testing.T) {
	for i, b := range files(t) {
		f, err := own.New(b, budget.NewFile(len(b)), elf.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := macho.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		for k, s := range want.Sections {
			got := f.ELF.Sections[k+1]
			if got.Addr != s.Addr || got.Size != s.Size || got.Offset != uint64(s.Offset) {
				t.Errorf("file %d: section %s: %+v", i, s.Name, got)
			}
		}
		for _, l := range want.Loads {
			if raw := l.Raw(); binary.LittleEndian.Uint32(raw) == 0x1b && string(f.ID) != string(raw[8:24]) {
				t.Errorf("file %d: UUID %s", i, f.ID)
			}
		}
		if isDSYM := want.Type == 10; f.DebugOnly != isDSYM || f.ELF.DebugOnly != isDSYM || f.HasInfo != isDSYM {
			t.Errorf("file %d: %+v", i, f.Head)
		}
	}
}

// TestSymbols compares the symbols of code with Go's own reader, at the address of each.
func TestSymbols(t *testing.T) {
	for i, b := range files(t) {
		limits := budget.NewFile(len(b))
		f, err := own.New(b, limits, elf.Rules{})
		if err != nil {
			t.Fatal(err)
		}
		table, err := f.ELF.SymbolTable(stdelf.SHT_SYMTAB, &names.Table{Budget: limits})
		if err != nil || table == nil {
			t.Fatal(err)
		}
		want, err := macho.NewFile(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, s := range want.Symtab.Syms {
			if s.Type&0xe0 != 0 || s.Type&0xe != 0xe || s.Name == "__mh_execute_header" {
				continue
			}
			n++
			if got := table.At(s.Value); got == nil || "_"+got.Name.Linkage != s.Name || got.Start != s.Value {
				t.Errorf("file %d: %s: %+v", i, s.Name, got)
			}
		}
		if n < 4 {
			t.Errorf("file %d: %d symbols", i, n)
		}
		if got := table.At(0x100000000); got != nil {
			t.Errorf("file %d: the header is %+v", i, got)
		}
	}
}

// TestBounds holds that a symbol ends where the next function begins, whose symbol was removed.
func TestBounds(t *testing.T) {
	b := read(t, programFile)
	limits := budget.NewFile(len(b))
	f, err := own.New(b, limits, elf.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.ELF.SymbolTable(stdelf.SHT_SYMTAB, &names.Table{Budget: limits})
	if err != nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x1000003d0: "run", 0x10000041f: "run", 0x100000420: "", 0x10000048f: "", 0x100000490: "other", 0x1000004a0: ""} {
		if got := table.At(addr); (got != nil) != (want != "") || got != nil && got.Name.Linkage != want {
			t.Errorf("%#x: %+v", addr, got)
		}
	}
}

// TestSlices holds that slices which are not in the file, or overlap, are left out, and that a class file of Java is none.
func TestSlices(t *testing.T) {
	fat := read(t, dsymFile)
	if list := own.Slices(bytes.NewReader(fat), int64(len(fat))); len(list) != 2 || list[0].Arch != "x86_64" || list[1].Arch != "arm64" {
		t.Errorf("%+v", list)
	}
	if list := own.Slices(bytes.NewReader(fat[:20000]), 20000); len(list) != 1 {
		t.Errorf("cut off: %+v", list)
	}
	same := bytes.Clone(fat)
	copy(same[28:48], same[8:28])
	if list := own.Slices(bytes.NewReader(same), int64(len(same))); len(list) != 1 {
		t.Errorf("twice: %+v", list)
	}
	class := []byte("\xca\xfe\xba\xbe\x00\x00\x00\x34" + "\x00\x1d\x0a\x00\x06\x00\x0f")
	if own.IsMagic(class) || own.Slices(bytes.NewReader(class), int64(len(class))) != nil {
		t.Error("a class file of Java")
	}
	wide := append([]byte("\xca\xfe\xba\xbf\x00\x00\x00\x01\x01\x00\x00\x0c\x80\x00\x00\x02"), make([]byte, 24)...)
	binary.BigEndian.PutUint64(wide[16:], 40)
	binary.BigEndian.PutUint64(wide[24:], 8)
	wide = append(wide, "12345678"...)
	if list := own.Slices(bytes.NewReader(wide), int64(len(wide))); len(list) != 1 || list[0] != (own.Slice{Arch: "arm64e", Offset: 40, Size: 8}) {
		t.Errorf("64 bits: %+v", list)
	}
}

// TestMember reads static libraries with the names of BSD and of GNU.
func TestMember(t *testing.T) {
	header := func(name, date, size string) string {
		return pad(name, 16) + pad(date, 12) + pad("0", 6) + pad("0", 6) + pad("644", 8) + pad(size, 10) + "`\n"
	}
	bsd := "!<arch>\n" + header("#1/12", "7", "16") + "long name.o\x00data" + header("b.o/", "8", "3") + "bbb\n" + header("b.o/", "9", "3") + "BBB\n"
	gnu := "!<arch>\n" + header("//", "", "22") + "a long name of one.o/\n" + header("/0", "7", "4") + "data"
	for _, tc := range []struct {
		lib, name string
		date      int64
		want      string
	}{
		{bsd, "long name.o", 7, "data"}, {bsd, "long name.o", 0, "data"}, {bsd, "long name.o", 8, ""}, {bsd, "b.o", 8, "bbb"}, {bsd, "b.o", 9, "BBB"},
		{bsd, "b.o", 0, ""}, {gnu, "a long name of one.o", 7, "data"}, {gnu, "a.o", 7, ""}, {"!<arch>\n", "a.o", 0, ""}, {"", "a.o", 0, ""},
	} {
		if got, ok := own.Member([]byte(tc.lib), tc.name, tc.date); string(got) != tc.want || ok != (tc.want != "") {
			t.Errorf("%s of %d: %q %v", tc.name, tc.date, got, ok)
		}
	}
}

func pad(text string, n int) string {
	return text + string(bytes.Repeat([]byte{' '}, n-len(text)))
}

// FuzzNew reads damaged files. Nothing but a budget that is exceeded may panic, and the work is bounded by that.
func FuzzNew(f *testing.F) {
	for _, b := range files(f) {
		f.Add(b)
	}
	f.Add(trieFile())
	f.Add(withoutStarts(read(f, programFile)))
	f.Fuzz(func(t *testing.T, b []byte) {
		defer func() {
			if r := recover(); r != nil {
				if err, ok := r.(error); !ok || !isBudget(err) {
					panic(r)
				}
			}
		}()
		limits := budget.NewFile(len(b))
		x, err := own.New(b, limits, elf.Rules{})
		if err != nil {
			return
		}
		for _, typ := range [...]stdelf.SectionType{stdelf.SHT_SYMTAB, stdelf.SHT_DYNSYM} {
			if table, err := x.ELF.SymbolTable(typ, &names.Table{Budget: limits}); err == nil && table != nil {
				table.At(0x100000400)
				table.At(0x100000410)
			}
		}
		if m := x.ReadDebugMap(limits); m != nil {
			m.At(0x100000400)
		}
	})
}

// FuzzHead holds that what the search for files reads is what a reader of the whole file does.
func FuzzHead(f *testing.F) {
	for _, b := range files(f) {
		f.Add(b)
	}
	f.Add(read(f, dsymFile))
	f.Fuzz(func(t *testing.T, b []byte) {
		own.Slices(bytes.NewReader(b), int64(len(b)))
		h, err := own.ReadHead(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		defer func() { _ = recover() }() // of the budget
		if x, err := own.New(b, budget.NewFile(len(b)), elf.Rules{}); err == nil && (x.ID != h.ID || x.HasInfo != h.HasInfo) {
			t.Errorf("%+v and %+v", x.Head, h)
		}
	})
}

// FuzzMember reads damaged static libraries.
func FuzzMember(f *testing.F) {
	f.Add([]byte("!<arch>\n#1/12           7           0     0     644     16        `\nlong name.o\x00data"), "long name.o", int64(7))
	f.Fuzz(func(_ *testing.T, b []byte, name string, date int64) { own.Member(b, name, date) })
}

// trieFile returns a library without a symbol table that exports _alpha and _beta.
func trieFile() []byte {
	le := binary.LittleEndian
	trie := []byte("\x00\x01_\x00\x05" + "\x00\x02alpha\x00\x14beta\x00\x19" + "\x03\x00\x90\x04\x00" + "\x03\x00\x80\x04\x00")
	b := le.AppendUint32(nil, 0xfeedfacf)
	for _, v := range []uint32{0x0100000c, 0, 6, 3, 152 + 16 + 24, 0, 0} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint32(le.AppendUint32(b, 0x19), 152)
	b = append(b, pad0("__TEXT", 16)...)
	for _, v := range []uint64{0, 0x4000, 0, 0x1000} {
		b = le.AppendUint64(b, v)
	}
	for _, v := range []uint32{5, 5, 1, 0} {
		b = le.AppendUint32(b, v)
	}
	b = append(append(b, pad0("__text", 16)...), pad0("__TEXT", 16)...)
	b = le.AppendUint64(le.AppendUint64(b, 0x200), 0x100)
	for _, v := range []uint32{0x200, 4, 0, 0, 0x80000400, 0, 0, 0} {
		b = le.AppendUint32(b, v)
	}
	at := uint32(len(b) + 16 + 24)
	for _, v := range []uint32{0x80000033, 16, at, uint32(len(trie))} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint32(le.AppendUint32(b, 0x1b), 24)
	b = append(b, "0123456789abcdef"...)
	b = append(b, trie...)
	return append(b, make([]byte, 0x1000-len(b))...)
}

func pad0(text string, n int) string { return text + string(make([]byte, n-len(text))) }

// TestTrie names exported functions of a library whose symbol table was removed.
func TestTrie(t *testing.T) {
	b := trieFile()
	limits := budget.NewFile(len(b))
	f, err := own.New(b, limits, elf.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.ELF.SymbolTable(stdelf.SHT_DYNSYM, &names.Table{Budget: limits})
	if err != nil || table == nil {
		t.Fatal(err)
	}
	for addr, want := range map[uint64]string{0x200: "beta", 0x210: "alpha"} {
		if got := table.At(addr); got == nil || got.Name.Linkage != want {
			t.Errorf("%#x: %+v", addr, got)
		}
	}
}

// isBudget reports whether an error is that of a budget that is exceeded.
func isBudget(err error) bool { return errors.Is(err, budget.ErrExceeded) }
