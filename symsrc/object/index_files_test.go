package object

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/index"
)

// TestIndexDamage damages an index in many ways: it is not used, and written again.
func TestIndexDamage(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, indexing(t, path, ""), path, 1)
	writeIndex(t, path, dir)
	kept := filepath.Join(dir, "index", indexFiles(t, dir)[0])
	m := symsrc.Module{Name: path}
	stat, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range damages(dir, kept, stat) {
		if err := damage(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := indexing(t, path, dir)
		if ask(s, m, 1); usesIndex(s, m) {
			t.Errorf("%s: the index is used", name)
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other answers", name)
		}
		if name == "directory" {
			if err := os.RemoveAll(kept); err != nil {
				t.Fatal(err)
			}
		}
		writeIndex(t, path, dir)
		if s := indexing(t, path, dir); len(ask(s, m, 1).Frames) > 0 || !usesIndex(s, m) {
			t.Errorf("%s: it was not written again", name)
		}
	}
}

// damages returns functions that damage a copy. stat is its FileInfo.
func damages(dir, kept string, stat os.FileInfo) map[string]func() error {
	flip := func(at int64) func() error { return func() error { return flipByte(kept, at) } }
	keepTime := func(damage func() error) func() error {
		return func() error {
			if err := damage(); err != nil {
				return err
			}
			return os.Chtimes(kept, time.Now(), stat.ModTime())
		}
	}
	replace := func(with func() error) func() error {
		return func() error {
			if err := os.Remove(kept); err != nil {
				return err
			}
			return with()
		}
	}
	ways := map[string]func() error{
		"shorter":          keepTime(func() error { return os.Truncate(kept, stat.Size()-1) }),
		"longer":           keepTime(func() error { return os.Truncate(kept, stat.Size()+1) }),
		"empty":            keepTime(func() error { return os.Truncate(kept, 0) }),
		"touched":          func() error { return os.Chtimes(kept, time.Now(), stat.ModTime().Add(time.Second)) },
		"group may write":  func() error { return os.Chmod(kept, 0o620) },
		"others may write": func() error { return os.Chmod(kept, 0o602) },
		"unreadable":       func() error { return os.Chmod(kept, 0o222) },
		"directory":        replace(func() error { return os.Mkdir(kept, 0o700) }),
		"other contents":   replace(func() error { return os.WriteFile(kept, make([]byte, stat.Size()), 0o600) }),
	}
	ways["symbolic link"] = func() error {
		if err := os.Rename(kept, filepath.Join(dir, "moved")); err != nil {
			return err
		}
		return os.Symlink(filepath.Join(dir, "moved"), kept)
	}
	if os.Geteuid() == 0 {
		ways["of another user"] = func() error { return os.Chown(kept, 12345, -1) }
	}
	for at := int64(0); at < stat.Size(); at += 499 {
		ways[fmt.Sprintf("byte %d", at)] = flip(at)
		if at < indexPage {
			ways[fmt.Sprintf("byte %d, unseen", at)] = keepTime(flip(at))
		}
	}
	return ways
}

// flipByte changes one bit of the byte at an offset of a file.
func flipByte(path string, at int64) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	b := make([]byte, 1)
	if _, err := file.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 0x10
	_, err = file.WriteAt(b, at)
	return err
}

// TestIndexBound checks that the least recently used indexes are removed first, and unfinished ones always.
func TestIndexBound(t *testing.T) {
	dir := t.TempDir()
	var size, limit int64
	known := make(map[string]bool)
	var order []string
	for i := range 6 {
		path := aged(t, "clang4-zlib.elf")
		unfinished := filepath.Join(dir, "index", diskcache.TempPrefix+"123")
		if i > 0 {
			if err := os.WriteFile(unfinished, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := indexing(t, path, dir)
		if limit > 0 {
			s.indexes.max = limit
		}
		if err := s.writeIndex(t.Context(), symsrc.Module{Name: path}); err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, name := range indexFiles(t, dir) {
			file := filepath.Join(dir, "index", name)
			stat, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if total += stat.Size(); !known[name] {
				known[name], size = true, max(size, stat.Size())
				order = append(order, name)
				used := time.Now().Add(time.Duration(i-10) * time.Hour)
				if err := os.Chtimes(file, used, stat.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if limit = 3*size + 100; total > limit || len(order) != i+1 {
			t.Errorf("%d files: %d bytes of %d, %q", i+1, total, limit, order)
		}
		if _, err := os.Stat(unfinished); err == nil {
			t.Error("the unfinished file is still there")
		}
	}
	names := make(map[string]bool)
	for _, name := range indexFiles(t, dir) {
		names[name] = true
	}
	if len(names) != 3 || !names[order[3]] || !names[order[4]] || !names[order[5]] {
		t.Errorf("remaining of %q: %v", order, names)
	}
}

// TestIndexRefused checks that no index is written where none may be, and that the answers are the same.
func TestIndexRefused(t *testing.T) {
	path := aged(t, "clang4-zlib.elf")
	want := allAnswers(t, indexing(t, path, ""), path, 8)
	for name, prepare := range map[string]func(s *Source, dir string) error{
		"a file in its place":  func(_ *Source, dir string) error { return os.WriteFile(filepath.Join(dir, "index"), nil, 0o600) },
		"read-only":            func(_ *Source, dir string) error { return os.Chmod(dir, 0o500) },
		"others may write":     func(_ *Source, dir string) error { return open777(filepath.Join(dir, "index")) },
		"a link in its place":  func(_ *Source, dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, "index")) },
		"no such file system":  func(s *Source, _ string) error { s.indexes.dir = "/proc/self/index"; return nil },
		"no room on the disk":  func(s *Source, _ string) error { s.indexes.reserve = 1 << 60; return nil },
		"more than all may be": func(s *Source, _ string) error { s.indexes.max = indexPage + 100; return nil },
		"small":                func(s *Source, _ string) error { s.indexes.min = minIndexed; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := indexing(t, path, dir)
			if err := prepare(s, dir); err != nil {
				t.Fatal(err)
			}
			if name == "read-only" && os.Geteuid() == 0 {
				t.Skip("root may write anywhere")
			}
			if err := s.writeIndex(t.Context(), symsrc.Module{Name: path}); err == nil {
				t.Error("no error")
			}
			if got := allAnswers(t, s, path, 8); !reflect.DeepEqual(got, want) {
				t.Error("other answers")
			}
			files, err := filepath.Glob(filepath.Join(dir, "index", "*"))
			for _, path := range files {
				if stat, statErr := os.Stat(path); statErr != nil || stat.Size() > 0 {
					t.Errorf("files %q, %v, %v", files, err, statErr)
				}
			}
		})
	}
}

// TestIndexTried checks that an index that cannot be written is not wanted again within a day.
func TestIndexTried(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	m := symsrc.Module{Name: path}
	s := indexing(t, path, dir)
	s.indexes.max = indexPage + 100
	if err := s.writeIndex(t.Context(), m); !errors.Is(err, index.ErrTooLarge) {
		t.Fatal(err)
	}
	wanted := func() bool {
		s := indexing(t, path, dir)
		jobs := make(chan IndexJob, 1)
		s.indexes.build = func(j IndexJob) { jobs <- j }
		ask(s, m, 1)
		if s.module(m).index().tried {
			ask(s, m, 1)
			return len(jobs) > 0
		}
		ask(s, m, 1)
		<-jobs
		return true
	}
	if wanted() {
		t.Error("it is wanted at once")
	}
	marker := filepath.Join(dir, "index", indexFiles(t, dir)[0])
	stat, err := os.Stat(marker)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(marker, time.Now().Add(-2*retryIndex), stat.ModTime()); err != nil {
		t.Fatal(err)
	}
	if !wanted() {
		t.Error("it is not wanted after two days")
	}
}

// TestIndexCanceled checks that nothing is left of an index that was not finished.
func TestIndexCanceled(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := indexing(t, path, dir).writeIndex(ctx, symsrc.Module{Name: path}); err == nil {
		t.Error("no error")
	}
	for _, name := range indexFiles(t, dir) {
		if stat, err := os.Stat(filepath.Join(dir, "index", name)); err != nil || stat.Size() > 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// open777 creates a directory that others may write to.
func open777(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777)
}
