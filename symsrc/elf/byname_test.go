package elf

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
	"qss-filter/symsrc/names"
)

// TestWords checks that the index of words finds the same functions as a scan of all names.
func TestWords(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../object/testdata/*.elf")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range append(paths, self) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(data, budget.NewFile(len(data)), Rules{})
		if err != nil {
			continue // the test binary of another system is not an ELF file
		}
		symtab, err := f.SymbolTable(elf.SHT_SYMTAB, &names.Table{})
		if err != nil || symtab == nil {
			continue
		}
		var names []string
		symtab.each(&Span{0, ^uint64(0)}, func(s *symbol) { names = append(names, string(symtab.str(s.name))) }, func(fileSymbol) {})
		for i := 0; i < len(names); i += max(1, len(names)/100) {
			plain := demangle.PlainName(names[i])
			token := LastWord(plain)
			if token == "" {
				continue
			}
			look := func(touched bool) (found [][2]uint64, tries int) {
				symtab.words.touched.Store(touched)
				tries = 1 << 12
				symtab.FunctionsNamed(plain, token, &tries, func(raw string) bool { return demangle.PlainName(raw) == plain },
					func(addr, size uint64) { found = append(found, [2]uint64{addr, size}) })
				return found, tries
			}
			want, wantTries := look(false)
			if got, tries := look(true); !reflect.DeepEqual(got, want) || tries != wantTries {
				t.Errorf("%s: %s is %v, want %v", path, plain, got, want)
			}
			checked += len(want)
		}
	}
	if checked < 10 {
		t.Errorf("only %d functions were found", checked)
	}
}

// TestWordsOfName splits names into words.
func TestWordsOfName(t *testing.T) {
	for name, want := range map[string][]string{
		"_ZN1n1AIiE3getEi":                  {"n", "A", "get"},
		"_RNvCs1_7mycrate3foo":              {"mycrate", "foo"},
		"main.(*T).Method·f":                {"main", "T", "Method·f"},
		"_cgo_3abc.cold":                    {"abc", "_cgo_3abc", "cold"},
		"foo@@V_1":                          {"foo", "V_1"},
		"":                                  nil,
		"_Z" + strings.Repeat("9", 9) + "x": nil,
	} {
		var got []string
		words([]byte(name), func(word []byte) { got = append(got, string(word)) })
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%s: %q lacks %q", name, got, w)
			}
		}
		if len(want) == 0 && strings.Contains(name, "_Z9") && len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestWordsCost checks that the number of candidates for a name does not grow with the table.
func TestWordsCost(t *testing.T) {
	for _, n := range []int{5000, 10000, 20000} {
		table := &SymbolTable{rawSymbols: rawSymbols{Format: Format{Is64: true}}, table: &names.Table{}}
		table.raw = make([]byte, table.entrySize()*n)
		table.names = []byte{0}
		name := func(i int) string { return fmt.Sprintf("function%d", i) }
		for i := 1; i < n; i++ {
			binary.LittleEndian.PutUint32(table.raw[i*table.entrySize():], uint32(len(table.names)))
			long := ""
			if i%1000 == 0 {
				long = strings.Repeat("9a", longName)
			}
			table.names = fmt.Appendf(table.names, "_ZN9namespace%d%sEv%s\x00", len(name(i)), name(i), long)
		}
		looked := 0
		for i := 1; i < n; i += n / 100 {
			found := table.withWord(name(i))
			if !slices.Contains(found, uint32(i)) || !slices.IsSorted(found) {
				t.Fatalf("%s is not in %v", name(i), found)
			}
			looked += len(found)
		}
		if most := 100 * (16 + n/1000); looked > most {
			t.Errorf("%d candidates among %d names for 100 of them", looked, n)
		}
		if all := table.withWord("namespace"); len(all) < n-1 {
			t.Errorf("the word of all %d names was found in %d of them", n, len(all))
		}
	}
}
