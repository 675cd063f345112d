package symfile

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
)

// packedFile writes a Breakpad file with so many bytes of a record, packed.
func packedFile(t *testing.T, name, record string, size int) string {
	t.Helper()
	text := "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 x.so\nFUNC 10 10 0 f\n" + strings.Repeat(record, size/len(record))
	path := filepath.Join(t.TempDir(), name)
	var b bytes.Buffer
	if strings.HasSuffix(name, ".gz") {
		w := gzip.NewWriter(&b)
		_, _ = w.Write([]byte(text))
		w.Close()
	} else {
		w, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
		w.Close()
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBombs opens packed files that unpack to more than symbol files of their size do. What is unpacked of them, and the tables of
// it, take no more than a file of their size may.
func TestBombs(t *testing.T) {
	for _, name := range []string{"x.sym.gz", "x.sym.zst"} {
		for size, want := range map[int]error{1 << 20: nil, 80 << 20: errUnpacked, 40 << 20: budget.ErrExceeded} {
			path := packedFile(t, name, "FUNC 1000 1000 0 g\n", size)
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := open(path)
			if err == nil {
				if _, err = f.frames(0x18, 0); f.held() > budget.Bytes(st.Size()) {
					t.Errorf("%s of %d bytes: %d are held", name, st.Size(), f.held())
				}
			}
			if !errors.Is(err, want) {
				t.Errorf("%s of %d MiB: %v", name, size>>20, err)
			}
		}
	}
}

// TestHeldTogether opens many files that are large in memory: those that were not used for the longest time are given up, and are
// read again when they are asked once more.
func TestHeldTogether(t *testing.T) {
	s := store{most: 10 << 20}
	defer s.close()
	var paths []string
	for range 24 {
		paths = append(paths, packedFile(t, "x.sym.gz", "1000 1 1 0\n", 1<<20))
	}
	for round := range 2 {
		for i, path := range paths {
			f, err := s.open(path)
			if err != nil {
				t.Fatal(err)
			}
			if frames, err := f.frames(0x18, 0); text(frames) != "f:0" || err != nil {
				t.Errorf("round %d, %d: %s %v", round, i, text(frames), err)
			}
			s.release(f)
			held := int64(0)
			for _, o := range s.files {
				held += o.held()
			}
			if held > s.most {
				t.Fatalf("%d bytes are held", held)
			}
		}
	}
	if n := len(s.files); n >= len(paths) || n < 5 {
		t.Errorf("%d files are open", n)
	}
}

// TestUselessOnce holds that a file which is of no use is looked at once, until it changes.
func TestUselessOnce(t *testing.T) {
	path := packedFile(t, "x.sym.gz", "1000 1 1 0\n", 80<<20)
	var s store
	defer s.close()
	_, first := s.open(path)
	for range 3 {
		s.files[path].checked = time.Time{} // a second later
		if _, err := s.open(path); err != first {
			t.Errorf("%v, and later %v", first, err)
		}
	}
	good := packedFile(t, "x.sym.gz", "1000 1 1 0\n", 1<<10)
	if err := os.Rename(good, path); err != nil {
		t.Fatal(err)
	}
	s.files[path].checked = time.Time{}
	f, err := s.open(path)
	if err != nil {
		t.Fatal(err)
	}
	s.release(f)
}

// TestSaysWhy holds that the files of a module say why its symbol file is of no use.
func TestSaysWhy(t *testing.T) {
	bomb := packedFile(t, "x.sym.gz", "1000 1 1 0\n", 80<<20)
	files := symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found", Symbols: []string{bomb}}
	e := &engine{answer: symsrc.Answer{Files: &files}}
	s := Wrap(e, e)
	defer s.Close()
	a := s.Frames(context.Background(), symsrc.Addr{Offset: 0x18})
	want := fmt.Sprintf("elf not found; open %s: unpack: %v", bomb, errUnpacked)
	if a.Files.Reason() != symsrc.Corrupted || !strings.HasPrefix(a.Files.Note, want) || !a.Partial || files.Note != "elf not found" {
		t.Errorf("%v, %s", a.Files.Reason(), a.Files.Note)
	}
	if again := s.Frames(context.Background(), symsrc.Addr{Offset: 0x28}); again.Files != a.Files {
		t.Error("other files the second time")
	}
}
