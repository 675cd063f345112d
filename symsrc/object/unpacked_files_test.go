package object

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// TestUnpackedDamage damages a copy in many ways: it is not used, and written again.
func TestUnpackedDamage(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, keeping(t, path, dir), path, 1)
	kept := filepath.Join(dir, "unpacked", copyFiles(t, dir)[0])
	stat, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range damages(dir, kept, stat) {
		if err := damage(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := keeping(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); waitForCopies(s, m) {
			t.Errorf("%s: the copy is used", name)
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other answers", name)
		}
		if again, err := os.Lstat(kept); err != nil || !s.module(m).opened[0].unpacked.isValid(again) {
			if os.RemoveAll(kept); name != "directory" {
				t.Errorf("%s: it was not written again: %v", name, err)
			}
			allAnswers(t, keeping(t, path, dir), path, 64)
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
		if at < copyPage {
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

// TestUnpackedOfBoot checks that a copy from an earlier boot is not used, because it may be incomplete after a crash.
func TestUnpackedOfBoot(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	allAnswers(t, keeping(t, path, dir), path, 64)
	s := keeping(t, path, dir)
	s.unpacked.boot += "x"
	m := symsrc.Module{Name: path}
	if ask(s, m, 1); waitForCopies(s, m) {
		t.Error("the copy is used")
	}
}

// TestUnpackedBound checks that the least recently used copies are removed first, and unfinished ones always.
func TestUnpackedBound(t *testing.T) {
	dir := t.TempDir()
	var size, limit int64
	copyOf := make(map[string]bool)
	var order []string
	for i := range 6 {
		path := aged(t, "clang4-zlib.elf")
		unfinished := filepath.Join(dir, "unpacked", diskcache.TempPrefix+"123")
		if i > 0 {
			if err := os.WriteFile(unfinished, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := keeping(t, path, dir)
		if limit > 0 {
			s.unpacked.max = limit
		}
		allAnswers(t, s, path, 64)
		total := int64(0)
		for _, name := range copyFiles(t, dir) {
			file := filepath.Join(dir, "unpacked", name)
			stat, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if total += stat.Size(); !copyOf[name] {
				copyOf[name], size = true, stat.Size()
				order = append(order, name)
				used := time.Now().Add(time.Duration(i-10) * time.Hour)
				if err := os.Chtimes(file, used, stat.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if limit = 3*size + 1; total > limit || len(order) != i+1 {
			t.Errorf("%d files: %d bytes of %d, %q", i+1, total, limit, order)
		}
		if _, err := os.Stat(unfinished); err == nil {
			t.Error("the unfinished file is still there")
		}
	}
	names := make(map[string]bool)
	for _, name := range copyFiles(t, dir) {
		names[name] = true
	}
	if len(names) != 3 || !names[order[3]] || !names[order[4]] || !names[order[5]] {
		t.Errorf("remaining of %q: %v", order, names)
	}
}

// TestUnpackedRefused checks that the answers are the same if no copy can be written.
func TestUnpackedRefused(t *testing.T) {
	path := aged(t, "clang4-zlib.elf")
	want := allAnswers(t, keeping(t, path, ""), path, 8)
	for name, prepare := range map[string]func(s *Source, dir string) error{
		"a file in its place":  func(_ *Source, dir string) error { return os.WriteFile(filepath.Join(dir, "unpacked"), nil, 0o600) },
		"read-only":            func(_ *Source, dir string) error { return os.Chmod(dir, 0o500) },
		"others may write":     func(_ *Source, dir string) error { return open777(filepath.Join(dir, "unpacked")) },
		"a link in its place":  func(_ *Source, dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, "unpacked")) },
		"no such file system":  func(s *Source, _ string) error { s.unpacked.dir = "/proc/self/unpacked"; return nil },
		"no room on the disk":  func(s *Source, _ string) error { s.unpacked.reserve = 1 << 60; return nil },
		"more than all may be": func(s *Source, _ string) error { s.unpacked.max = 2 * copyPage; return nil },
		"closed":               func(s *Source, _ string) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := keeping(t, path, dir)
			if err := prepare(s, dir); err != nil {
				t.Fatal(err)
			}
			if got := allAnswers(t, s, path, 8); !reflect.DeepEqual(got, want) {
				t.Error("other answers")
			}
			if name == "read-only" && os.Geteuid() == 0 {
				t.Skip("root may write anywhere")
			}
			files, err := filepath.Glob(filepath.Join(dir, "unpacked", "*"))
			if err != nil || len(files) > 1 || len(files) == 1 && filepath.Base(files[0]) != "lock" {
				t.Errorf("files %q, %v", files, err)
			}
		})
	}
}

// open777 creates a directory that others may write to.
func open777(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777)
}

// TestUnpackedClose closes a source while it writes a copy, of which nothing must remain.
func TestUnpackedClose(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, keeping(t, path, ""), path, 8)
	s := keeping(t, path, dir)
	m := symsrc.Module{Name: path}
	s.unpacked.asking.Add(1) // slows the writer down
	for range 2 {
		ask(s, m, 1)
	}
	for s.unpacked.unfinished() == "" {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names := copyFiles(t, dir); len(names) != 0 {
		t.Errorf("files %q", names)
	}
	if got := allAnswers(t, s, path, 8); !reflect.DeepEqual(got, want) || len(copyFiles(t, dir)) != 0 {
		t.Errorf("other answers, or files %q", copyFiles(t, dir))
	}
}

// unfinished returns the path of the file that is being written.
func (t *unpackedCache) unfinished() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writing
}
