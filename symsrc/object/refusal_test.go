package object

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf/elftest"
)

// TestRefused asks about a file that exceeds its budget. It is closed, not opened again for any module, and opened again after it has
// changed.
func TestRefused(t *testing.T) {
	var data []byte
	for _, k := range hostileKinds {
		if k.name == "ranges shared by units" {
			data = k.make(t)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSource(finderFunc(func(symsrc.Module) *symsrc.Files { return &symsrc.Files{Elf: path} }))
	s.wait = time.Hour // no timeout on a busy machine
	for i := range 5 {
		m := symsrc.Module{Name: strconv.Itoa(i / 2)}
		a := ask(s, m, elftest.CodeAt)
		if i == 0 { // the first query reads less of the file
			a = ask(s, m, elftest.CodeAt+1<<12)
		}
		if len(a.Frames) > 0 || a.Files.ElfStatus != symsrc.Corrupted || a.Files.Note == "" {
			t.Fatalf("query %d: %+v, %+v", i, a.Frames, a.Files)
		}
		if s.inUse.Load() != 0 || len(s.module(m).opened) > 0 {
			t.Fatalf("query %d: %d bytes in use", i, s.inUse.Load())
		}
	}
	good, err := os.ReadFile(filepath.Join("testdata", "gcc5.elf"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	addr := findSymbol(t, open(t, path), "_Z5otheri")
	m := symsrc.Module{Name: "0"}
	s.module(m).checked.Store(0) // check for changes on disk
	if a := ask(s, m, addr); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" {
		t.Errorf("after the change: %+v, %+v", a.Frames, a.Files)
	}
}

// TestOpenDescriptors opens more modules than many processes may have file descriptors: none stays open.
func TestOpenDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("no list of file descriptors")
	}
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	path := filepath.Join("testdata", "clang4-zlib.elf")
	s := NewSource(finderFunc(func(symsrc.Module) *symsrc.Files { return &symsrc.Files{Elf: path} }))
	before := count()
	const modules = 2000
	for i := range modules {
		ask(s, symsrc.Module{Name: strconv.Itoa(i)}, 0x1000)
	}
	if n := count(); n > before+16 || len(s.open) != modules {
		t.Errorf("%d descriptors for %d modules, %d before", n, len(s.open), before)
	}
}

// TestLongAnswers asks about nested calls with very long names: there is no answer, and the file still answers other queries.
func TestLongAnswers(t *testing.T) {
	const names = 90
	var entries, calls []byte
	for i := range names {
		entries = append(entries, elftest.LE(uint8(5), uint32(i))...)
		calls = append(calls, inlinedCall(elftest.CodeAt, 16, uint32(bodyAt+5*i))...)
	}
	other := inlinedCall(elftest.CodeAt+32, 16, uint32(bodyAt))
	data := withUnit(append(entries, inFunction(append(append(calls, make([]byte, names)...), append(other, 0)...))...),
		elftest.DebugPart(".debug_str", append(times(1000, 'x'), 0)))
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	s := NewSource(fixedFinder{&symsrc.Files{Elf: path, DebugStatus: symsrc.NotFound}})
	m := symsrc.Module{Name: "f"}
	for range 2 {
		a := ask(s, m, elftest.CodeAt)
		if len(a.Frames) > 0 || a.Files.ElfStatus != symsrc.OK || a.Files.Note != "answers of more than 64 KiB are left out" {
			t.Errorf("%d frames, %+v", len(a.Frames), a.Files)
		}
		if a := ask(s, m, elftest.CodeAt+32); len(a.Frames) != 2 || len(a.Frames[0].Func) != 1000 || a.Files.Note != "" {
			t.Errorf("%d frames, %+v", len(a.Frames), a.Files)
		}
	}
}
