package symfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// engine stands in for the reader of ELF files.
type engine struct {
	answer     symsrc.Answer
	base       uint64
	placed     bool
	addr       uint64
	placedAddr bool
}

func (e *engine) Frames(context.Context, symsrc.Addr) symsrc.Answer { return e.answer }

func (e *engine) Place(_ context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	if e.placedAddr {
		return e.addr, e.base, true
	}
	return q.Offset, e.base, e.placed
}

func (e *engine) Probe(_ context.Context, q symsrc.Addr) symsrc.Probe {
	return symsrc.Probe{Linked: q.Offset + 1}
}

const (
	gsymFile = "../gsym/testdata/fixed.gsym"
	symFile  = "../breakpad/testdata/fixed.sym"
	libFile  = "../breakpad/testdata/inline.sym"
	chain    = "demo::scale(int, int):6 demo::twice(int):9 plain:27"
)

func text(frames []symsrc.Frame) string {
	var all []string
	for _, f := range frames {
		all = append(all, fmt.Sprintf("%s:%d", f.Func, f.Line))
	}
	return strings.Join(all, " ")
}

// named is a copy of a Breakpad file in a directory of the test's, of a module of another name.
func named(t *testing.T, from, name string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := bytes.Cut(b, []byte("\n"))
	head = append(head[:bytes.LastIndexByte(head, ' ')+1], name...)
	path := filepath.Join(t.TempDir(), "x.sym")
	if err := os.WriteFile(path, append(append(head, '\n'), rest...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestFrames asks for addresses of programs linked to 0 and to 0x200000, with their ELF files and without.
func TestFrames(t *testing.T) {
	symbol := []symsrc.Frame{{Func: "plain_alias", Linkage: "plain_alias", Origin: symsrc.SymbolOnly}}
	lines := []symsrc.Frame{{Func: "known", File: "k.c", Line: 1}}
	stripped := symsrc.Files{Elf: "/bin/x", DebugStatus: symsrc.Incomplete, Note: "no .debug_info"}
	missing := symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
	library := named(t, libFile, "libinline.so.1")
	const none = "NO_SYMBOL" // in a file that was found
	for _, tc := range []struct {
		what   string
		files  symsrc.Files
		paths  []string
		q      symsrc.Addr
		engine engine
		want   string
	}{
		{"an ELF file tells where it is loaded", stripped, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{base: 0x200000, placed: true}, chain},
		{"GSYM has whole addresses", stripped, []string{gsymFile}, symsrc.Addr{Offset: 0x201710}, engine{base: 0x200000, placed: true}, chain},
		{"below where it is loaded", stripped, []string{symFile}, symsrc.Addr{Offset: 0x1710}, engine{base: 0x200000, placed: true}, none},
		{"the ELF file converts", stripped, []string{symFile}, symsrc.Addr{Offset: 0x710, Space: symsrc.InFile}, engine{base: 0x200000, addr: 0x201710, placedAddr: true}, chain},
		{"the ELF file cannot be read", stripped, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{}, ""},
		{"the symbol table's name", stripped, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{base: 0x200000, placed: true, answer: symsrc.Answer{Frames: symbol}},
			"demo::scale(int, int):6 demo::twice(int):9 plain_alias:27"},
		{"the symbol table alone knows", stripped, []string{symFile}, symsrc.Addr{Offset: 0x20f710}, engine{base: 0x200000, placed: true, answer: symsrc.Answer{Frames: symbol}}, "plain_alias:0"},
		{"lines are there", stripped, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{base: 0x200000, placed: true, answer: symsrc.Answer{Frames: lines}}, "known:1"},
		{"debug information is there", symsrc.Files{Elf: "/bin/x"}, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{base: 0x200000, placed: true}, ""},
		{"the first good file", stripped, []string{"/none", "source_test.go", gsymFile}, symsrc.Addr{Offset: 0x201710}, engine{placed: true}, chain},
		{"data", stripped, []string{symFile}, symsrc.Addr{Offset: 0x201710, Kind: symsrc.Data}, engine{base: 0x200000, placed: true}, ""},

		{"from the start of the image", missing, []string{symFile}, symsrc.Addr{Offset: 0x1710, Space: symsrc.InImage}, engine{}, chain},
		{"an address of a library", missing, []string{library}, symsrc.Addr{Offset: 0x17e0}, engine{}, chain},
		{"an address of a program", missing, []string{symFile}, symsrc.Addr{Offset: 0x1710}, engine{}, chain},
		{"it is unknown whether it is linked to 0", missing, []string{symFile}, symsrc.Addr{Offset: 0x201710}, engine{}, ""},
		{"nothing at an address of a program", missing, []string{symFile}, symsrc.Addr{Offset: 0x17}, engine{}, none},
		{"nothing at an address of a library", missing, []string{library}, symsrc.Addr{Offset: 0x401710}, engine{}, none},
		{"nothing from the start of the image", missing, []string{symFile}, symsrc.Addr{Offset: 0x17, Space: symsrc.InImage}, engine{}, none},
		{"nothing in GSYM", missing, []string{gsymFile}, symsrc.Addr{Offset: 0x17}, engine{}, none},
		{"GSYM, whole addresses", missing, []string{gsymFile}, symsrc.Addr{Offset: 0x201710}, engine{}, chain},
		{"GSYM, where does the image begin?", missing, []string{gsymFile}, symsrc.Addr{Offset: 0x1710, Space: symsrc.InImage}, engine{}, ""},
		{"a byte of the file", missing, []string{symFile}, symsrc.Addr{Offset: 0x1710, Space: symsrc.InFile}, engine{}, ""},
		{"the distance from a symbol", missing, []string{symFile}, symsrc.Addr{Offset: 0x1710, Symbol: "plain"}, engine{}, ""},
	} {
		files := tc.files
		files.Symbols = tc.paths
		tc.engine.answer.Files = &files
		s := Wrap(&tc.engine, &tc.engine)
		got := s.Frames(t.Context(), tc.q)
		names := text(got.Frames)
		if got.Files != &files && names == "" && got.Files.Reason() == symsrc.OK {
			names = none
		}
		if names != tc.want {
			t.Errorf("%s: got %q, want %q", tc.what, names, tc.want)
		}
		if used := got.Files != &files; used != got.Partial || used && (got.Files.DebugStatus != symsrc.OK || got.Files.Debug == "") {
			t.Errorf("%s: %+v, partial %v", tc.what, got.Files, got.Partial)
		}
		if again := s.Frames(t.Context(), tc.q); again.Files != got.Files {
			t.Errorf("%s: the files are others the second time", tc.what)
		}
		if p := s.Probe(t.Context(), tc.q); p.Linked != tc.q.Offset+1 {
			t.Errorf("%s: %+v", tc.what, p)
		}
		s.Close()
	}
}

// TestAmbiguous has a program whose code would cover an address both if it were linked to 0 and to where lld puts programs that
// are loaded at one address.
func TestAmbiguous(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.sym")
	head := "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 big"
	rest := "\nFUNC 1000 10 0 small\nFUNC 201000 10 0 large\nFUNC 202000 10 0 alone\n"
	for _, tc := range []struct {
		name, want string
		addr       uint64
	}{{"", "", 0x201000}, {".so", "large:0", 0x201000}, {"", "alone:0", 0x202000}, {"", "small:0", 0x1000}} {
		if err := os.WriteFile(path, []byte(head+tc.name+rest), 0o600); err != nil {
			t.Fatal(err)
		}
		e := &engine{answer: symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Symbols: []string{path}}}}
		if got := text(Wrap(e, e).Frames(t.Context(), symsrc.Addr{Offset: tc.addr}).Frames); got != tc.want {
			t.Errorf("big%s: %#x: got %q, want %q", tc.name, tc.addr, got, tc.want)
		}
	}
}
