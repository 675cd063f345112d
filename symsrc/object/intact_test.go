package object

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// overwrite overwrites the file at path with a file of testdata. Its inode does not change.
func overwrite(t *testing.T, path, name string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestOverwritten overwrites an open file, without a check for changes on disk.
func TestOverwritten(t *testing.T) {
	const before, after = "gcc5.elf", "clang4-zlib.elf"
	path, debug := stage(t, before), stage(t, before)
	f := open(t, path)
	addr, id := findSymbol(t, f, "_Z5otheri"), f.BuildID()
	for _, c := range []struct {
		name     string
		id       symsrc.BuildID
		files    symsrc.Files
		path     string
		resolved bool
		want     symsrc.Status
	}{
		{"verified", id, symsrc.Files{Elf: path}, path, false, symsrc.MismatchBuildID},
		{"unverified", "", symsrc.Files{Elf: path, Unverified: true}, path, false, symsrc.OK},
		{"debug file", id, symsrc.Files{Elf: path, Debug: debug}, debug, true, symsrc.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			overwrite(t, path, before)
			overwrite(t, debug, before)
			finder := &fixedFiles{files: map[string]*symsrc.Files{"m": &c.files}}
			s := NewSource(finder)
			m := symsrc.Module{Name: "m", BuildID: c.id}
			first := ask(s, m, addr)
			if len(first.Frames) == 0 {
				t.Fatalf("no frames: %+v", first.Files)
			}
			s.module(m).checked.Store(math.MaxInt64) // prevents the check for changes on disk
			overwrite(t, c.path, after)
			a := ask(s, m, addr)
			if a.Files.ElfStatus != c.want || (len(a.Frames) > 0) != c.resolved || finder.asked != 2 {
				t.Errorf("%+v, %+v, asked %d times", a.Frames, a.Files, finder.asked)
			}
			fresh := ask(NewSource(finder), m, addr)
			if render(a.Frames) != render(fresh.Frames) {
				t.Errorf("%s, want %s", render(a.Frames), render(fresh.Frames))
			}
		})
	}
}

// TestOverwrittenMeanwhile overwrites a file while a query is answered from it: the answer is not used.
func TestOverwrittenMeanwhile(t *testing.T) {
	path := stage(t, "gcc5.elf")
	id := open(t, path).BuildID()
	s := NewSource(&fixedFiles{files: map[string]*symsrc.Files{"m": {Elf: path}}})
	for times, want := range []bool{true, true, true, true, false} {
		overwrite(t, path, "gcc5.elf")
		asked := 0
		files, ok := s.with(context.Background(), symsrc.Module{Name: "m", BuildID: id}, func(m *module, _ *symsrc.Files) {
			if asked++; asked <= times {
				m.opened = append(m.opened, openFile{File: otherBuild(t)})
			}
		})
		if ok != want || asked != min(times, maxReopened)+1 {
			t.Errorf("%d times: asked %d times, %v", times, asked, ok)
		}
		if !ok && (files.ElfStatus != symsrc.ReadError || files.Retry == nil || !files.Retry()) {
			t.Errorf("%+v", files)
		}
	}
}

// otherBuild returns an open file that has been overwritten.
func otherBuild(t *testing.T) *File {
	b, err := os.ReadFile(filepath.Join("testdata", "gcc5.elf"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFile(b)
	if err != nil {
		t.Fatal(err)
	}
	b[0] = 0
	return f
}

// TestIntact changes the parts of a file that are in its fingerprint.
func TestIntact(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "gcc5.elf"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFile(b)
	if err != nil {
		t.Fatal(err)
	}
	dependency := otherBuild(t)
	for _, c := range []struct {
		name   string
		change func()
		want   bool
	}{
		{"unchanged", func() {}, true},
		{"the header", func() { b[0x28]++ }, false},
		{"the header restored", func() { b[0x28]-- }, true},
		{"the build ID", func() { f.fingerprint.parts[1][3]++ }, false},
		{"the build ID restored", func() { f.fingerprint.parts[1][3]-- }, true},
		{"a dependency", func() { f.deps.set([]*File{dependency}) }, false},
		{"no dependency", func() { f.deps.Discard(dependency.dwarf) }, true},
	} {
		if c.change(); f.intact() != c.want {
			t.Errorf("%s: %v", c.name, !c.want)
		}
	}
}
