package symfile

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc/diskcache"
)

// TestPacked reads files of gzip and zstd, whole and cut off.
func TestPacked(t *testing.T) {
	plain, err := os.ReadFile(symFile)
	if err != nil {
		t.Fatal(err)
	}
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(plain); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for name, data := range map[string][]byte{"gz": zipped.Bytes(), "zst": z.EncodeAll(plain, nil)} {
		path := filepath.Join(t.TempDir(), "x.sym."+name)
		for _, n := range []int{len(data), len(data) - 5, 20, 4} {
			if err := os.WriteFile(path, data[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := open(path)
			if whole := n == len(data); whole != (err == nil) {
				t.Errorf("%s, %d of %d bytes: %v", name, n, len(data), err)
			}
			if err == nil {
				if frames, err := f.frames(0x1710, 0); text(frames) != chain || err != nil {
					t.Errorf("%s: %s %v", name, text(frames), err)
				}
			}
		}
	}
}

// TestChange replaces a file while it is in use, takes it away and cuts it off.
func TestChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sym")
	var s store
	defer s.close()
	put := func(function string, size int) {
		t.Helper()
		text := "MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 x\nFUNC 10 10 0 " + function + "\n" + strings.Repeat("FILE 0 x\n", size)
		if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() (string, error) {
		for _, o := range s.files {
			o.checked = time.Time{} // a second later
		}
		f, err := s.open(path)
		if err != nil {
			return "", err
		}
		defer s.release(f)
		frames, err := f.frames(0x18, 0)
		return text(frames), err
	}
	if _, err := ask(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	put("first", 0)
	if got, err := ask(); got != "first:0" {
		t.Error(got, err)
	}
	put("second", 1<<14)
	got, err := ask()
	if got != "second:0" {
		t.Error(got, err)
	}
	f, err := s.open(path)
	if err != nil {
		t.Fatal(err)
	}
	put("third", 1)
	if got, err := ask(); got != "third:0" {
		t.Error(got, err)
	}
	if frames, err := f.frames(0x18, 0); text(frames) != "second:0" || err != nil { // it is still in use
		t.Error(text(frames), err)
	}
	s.release(f)
	put("fourth", 1<<14)
	if f, err = s.open(path); err != nil { // not looked at yet
		t.Fatal(err)
	}
	s.release(f)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestChangeUnseen overwrites a file in place with one of its size and time, as cp --preserve does with files of a reproducible build.
func TestChangeUnseen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing shows it")
	}
	path := filepath.Join(t.TempDir(), "x.sym")
	var s store
	defer s.close()
	for _, name := range []string{"first", "other"} {
		text := []byte("MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 x\nFUNC 10 10 0 " + name + "\n")
		before, _ := diskcache.StampAt(path, false)
		for now := before; now == before; now, _ = diskcache.StampAt(path, false) { // the clock of the file system is coarse
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		f, err := s.open(path)
		if err != nil {
			t.Fatal(err)
		}
		if frames, err := f.frames(0x18, 0); len(frames) != 1 || frames[0].Func != name || err != nil {
			t.Error(frames, err)
		}
		s.release(f)
		for _, o := range s.files {
			o.checked = time.Time{} // a second later
		}
	}
}

// TestFault reads a file that becomes shorter while it is mapped.
func TestFault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sym")
	if err := os.WriteFile(path, []byte("MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 x\n"+strings.Repeat("FILE 0 x\n", 1<<16)), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := f.frames(0x10, 0); !errors.Is(err, errFault) {
		t.Skipf("the file is not mapped here: %v", err)
	}
	if err := f.unmap(); err != nil {
		t.Error(err)
	}
}

// TestMany uses more files than are kept open, from several goroutines.
func TestMany(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 * maxOpen {
		text := fmt.Sprintf("MODULE Linux x86_64 1B5136E5BC75BE65B3673345D73240C90 x\nFUNC 10 10 0 f%d\n", i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var s store
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 6 * maxOpen {
				i %= 2 * maxOpen
				f, err := s.open(filepath.Join(dir, fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
					return
				}
				if frames, err := f.frames(0x10, 0); text(frames) != fmt.Sprintf("f%d:0", i) || err != nil {
					t.Error(text(frames), err)
				}
				s.release(f)
			}
		})
	}
	wg.Wait()
	if len(s.files) > maxOpen {
		t.Errorf("%d files are open", len(s.files))
	}
	s.close()
}
