package object

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// archive writes a file with copies of files of testdata at the given offsets.
func archive(t *testing.T, at map[int64]string) (path string, parts map[string]symsrc.Range) {
	t.Helper()
	path, parts = filepath.Join(t.TempDir(), "base.apk"), make(map[string]symsrc.Range)
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	for off, name := range at {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err == nil {
			_, err = out.WriteAt(b, off)
		}
		if err != nil {
			t.Fatal(err)
		}
		parts[name] = symsrc.Range{Offset: off, Size: int64(len(b)), Member: "lib/" + name}
	}
	if end, err := out.Seek(0, 2); err != nil || out.Truncate(end+1000) != nil {
		t.Fatal("cannot write beyond the last part")
	}
	return path, parts
}

// TestOpenRange compares files in an archive, at the start of a page and elsewhere, with the same files on disk.
func TestOpenRange(t *testing.T) {
	path, parts := archive(t, map[int64]string{4096: "gcc5.elf", 1<<20 + 4097: "clang4-zlib.elf", 3<<20 + 30: "mips2.elf"})
	for name, part := range parts {
		whole := open(t, filepath.Join("testdata", name))
		f, err := OpenRange(path, part)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		if f.BuildID() != whole.BuildID() || !bytes.Equal(f.elf.Data, whole.elf.Data) || f.changed(path) {
			t.Errorf("%s: the file is different", name)
		}
		answers := 0
		for i := range whole.elf.Sections {
			s := &whole.elf.Sections[i]
			for addr := s.Addr; s.IsCode() && addr < s.Addr+s.Size; addr += 8 {
				want := whole.Code(addr)
				if got := f.Code(addr); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %#x: %v, want %v", name, addr, got, want)
				}
				if len(want) > 0 {
					answers++
				}
			}
		}
		if answers == 0 {
			t.Errorf("%s: no answers to compare", name)
		}
	}
}

// TestSourceRange checks a Source for a program and its debug file in one archive.
func TestSourceRange(t *testing.T) {
	path, parts := archive(t, map[int64]string{100: "gcc5.elf", 2 << 20: "clang4-zlib.elf"})
	whole := open(t, filepath.Join("testdata", "gcc5.elf"))
	addr := findSymbol(t, whole, "_Z5otheri")
	for name, files := range map[string]*symsrc.Files{
		"program":    {Elf: path, ElfRange: parts["gcc5.elf"]},
		"debug file": {Elf: path, ElfRange: parts["gcc5.elf"], Debug: path, DebugRange: parts["gcc5.elf"]},
	} {
		s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": files}})
		a := ask(s, symsrc.Module{Name: "m", BuildID: whole.BuildID()}, addr)
		if len(a.Frames) == 0 || a.Frames[0].Func != "other(int)" || a.Files.Note != "" {
			t.Errorf("%s: %+v", name, a)
		}
	}
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path, ElfRange: parts["clang4-zlib.elf"]}}})
	a := ask(s, symsrc.Module{Name: "m", BuildID: whole.BuildID()}, addr)
	if len(a.Frames) > 0 || a.Files.ElfStatus != symsrc.MismatchBuildID {
		t.Errorf("another member: %+v", a)
	}
}

// TestOpenRangeRefuses checks invalid ranges.
func TestOpenRangeRefuses(t *testing.T) {
	path, parts := archive(t, map[int64]string{4096: "gcc5.elf"})
	good := parts["gcc5.elf"]
	for name, part := range map[string]symsrc.Range{
		"after the end": {Offset: 1 << 40, Size: 10}, "across the end": {Offset: 4096, Size: 1 << 30},
		"negative": {Offset: -4096, Size: 100}, "empty": {Offset: 4096}, "huge": {Offset: 1 << 62, Size: 1 << 62},
		"not an ELF file": {Offset: 8, Size: good.Size}, "truncated": {Offset: 4096, Size: 40},
	} {
		f, err := OpenRange(path, part)
		if s, ok := errors.AsType[*elf.StatusError](err); !ok || s.Status == symsrc.OK {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			f.Close()
		}
	}
	if _, err := OpenRange("/dev/zero", good); err == nil {
		t.Error("a device was opened")
	}
	f, err := OpenRange(path, symsrc.Range{})
	if err == nil {
		t.Errorf("the archive was opened as an ELF file: %v", f.elf.ID)
	}
}
