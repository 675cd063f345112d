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

// TestTwinDamage changes a twin in all ways: it is not used, and made anew.
func TestTwinDamage(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, twinned(t, path, dir), path, 1)
	twin := filepath.Join(dir, "twins", twinFiles(t, dir)[0])
	stat, err := os.Stat(twin)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range damages(dir, twin, stat) {
		if err := damage(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s := twinned(t, path, dir)
		m := symsrc.Module{Name: path}
		if ask(s, m, 1); settleTwins(s, m) {
			t.Errorf("%s: it is used", name)
		}
		if got := allAnswers(t, s, path, 1); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: other answers", name)
		}
		if again, err := os.Lstat(twin); err != nil || !s.module(m).opened[0].twin.sound(again) {
			if os.RemoveAll(twin); name != "directory" {
				t.Errorf("%s: it was not made anew: %v", name, err)
			}
			allAnswers(t, twinned(t, path, dir), path, 64)
		}
	}
}

// damages are ways to change a twin that was as stat says.
func damages(dir, twin string, stat os.FileInfo) map[string]func() error {
	flip := func(at int64) func() error { return func() error { return flipByte(twin, at) } }
	keepTime := func(damage func() error) func() error {
		return func() error {
			if err := damage(); err != nil {
				return err
			}
			return os.Chtimes(twin, time.Now(), stat.ModTime())
		}
	}
	replace := func(with func() error) func() error {
		return func() error {
			if err := os.Remove(twin); err != nil {
				return err
			}
			return with()
		}
	}
	ways := map[string]func() error{
		"shorter":        keepTime(func() error { return os.Truncate(twin, stat.Size()-1) }),
		"longer":         keepTime(func() error { return os.Truncate(twin, stat.Size()+1) }),
		"empty":          keepTime(func() error { return os.Truncate(twin, 0) }),
		"touched":        func() error { return os.Chtimes(twin, time.Now(), stat.ModTime().Add(time.Second)) },
		"group may":      func() error { return os.Chmod(twin, 0o620) },
		"everybody may":  func() error { return os.Chmod(twin, 0o602) },
		"unreadable":     func() error { return os.Chmod(twin, 0o222) },
		"directory":      replace(func() error { return os.Mkdir(twin, 0o700) }),
		"other contents": replace(func() error { return os.WriteFile(twin, make([]byte, stat.Size()), 0o600) }),
	}
	ways["symbolic link"] = func() error {
		if err := os.Rename(twin, filepath.Join(dir, "moved")); err != nil {
			return err
		}
		return os.Symlink(filepath.Join(dir, "moved"), twin)
	}
	if os.Geteuid() == 0 {
		ways["of another user"] = func() error { return os.Chown(twin, 12345, -1) }
	}
	for at := int64(0); at < stat.Size(); at += 499 {
		ways[fmt.Sprintf("byte %d", at)] = flip(at)
		if at < twinPage {
			ways[fmt.Sprintf("byte %d, unseen", at)] = keepTime(flip(at))
		}
	}
	return ways
}

// flipByte changes one bit of a byte of a file.
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

// TestTwinOfBoot: a twin from before the machine was started again does not count, for it may lack what was not on disk yet.
func TestTwinOfBoot(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	allAnswers(t, twinned(t, path, dir), path, 64)
	s := twinned(t, path, dir)
	s.twins.boot += "x"
	m := symsrc.Module{Name: path}
	if ask(s, m, 1); settleTwins(s, m) {
		t.Error("it is used")
	}
}

// TestTwinsBound: what was not used for the longest time goes first, and what another process left unfinished at once.
func TestTwinsBound(t *testing.T) {
	dir := t.TempDir()
	var size, limit int64
	twinOf := make(map[string]bool)
	var order []string
	for i := range 6 {
		path := aged(t, "clang4-zlib.elf")
		left := filepath.Join(dir, "twins", diskcache.TempPrefix+"123")
		if i > 0 {
			if err := os.WriteFile(left, make([]byte, 100), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := twinned(t, path, dir)
		if limit > 0 {
			s.twins.max = limit
		}
		allAnswers(t, s, path, 64)
		total := int64(0)
		for _, name := range twinFiles(t, dir) {
			file := filepath.Join(dir, "twins", name)
			stat, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if total += stat.Size(); !twinOf[name] {
				twinOf[name], size = true, stat.Size()
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
		if _, err := os.Stat(left); err == nil {
			t.Error("the unfinished file is still there")
		}
	}
	names := make(map[string]bool)
	for _, name := range twinFiles(t, dir) {
		names[name] = true
	}
	if len(names) != 3 || !names[order[3]] || !names[order[4]] || !names[order[5]] {
		t.Errorf("left of %q: %v", order, names)
	}
}

// TestTwinsRefused: where nothing can or may be written the answers are the same.
func TestTwinsRefused(t *testing.T) {
	path := aged(t, "clang4-zlib.elf")
	want := allAnswers(t, twinned(t, path, ""), path, 8)
	for name, prepare := range map[string]func(s *Source, dir string) error{
		"a file in its place":  func(_ *Source, dir string) error { return os.WriteFile(filepath.Join(dir, "twins"), nil, 0o600) },
		"read-only":            func(_ *Source, dir string) error { return os.Chmod(dir, 0o500) },
		"others may write":     func(_ *Source, dir string) error { return open777(filepath.Join(dir, "twins")) },
		"a link in its place":  func(_ *Source, dir string) error { return os.Symlink(t.TempDir(), filepath.Join(dir, "twins")) },
		"no such file system":  func(s *Source, _ string) error { s.twins.dir = "/proc/self/twins"; return nil },
		"no room on the disk":  func(s *Source, _ string) error { s.twins.reserve = 1 << 60; return nil },
		"more than all may be": func(s *Source, _ string) error { s.twins.max = 2 * twinPage; return nil },
		"closed":               func(s *Source, _ string) error { return s.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := twinned(t, path, dir)
			if err := prepare(s, dir); err != nil {
				t.Fatal(err)
			}
			if got := allAnswers(t, s, path, 8); !reflect.DeepEqual(got, want) {
				t.Error("other answers")
			}
			if name == "read-only" && os.Geteuid() == 0 {
				t.Skip("root may write anywhere")
			}
			files, err := filepath.Glob(filepath.Join(dir, "twins", "*"))
			if err != nil || len(files) > 1 || len(files) == 1 && filepath.Base(files[0]) != "lock" {
				t.Errorf("files %q, %v", files, err)
			}
		})
	}
}

// open777 makes a directory that everybody may write to.
func open777(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777)
}

// TestTwinsClose closes a source while it writes: nothing is left, and nothing waited for.
func TestTwinsClose(t *testing.T) {
	path, dir := aged(t, "clang4-zlib.elf"), t.TempDir()
	want := allAnswers(t, twinned(t, path, ""), path, 8)
	s := twinned(t, path, dir)
	m := symsrc.Module{Name: path}
	s.twins.asking.Add(1) // so that it takes its time
	for range 2 {
		ask(s, m, 1)
	}
	for s.twins.unfinished() == "" {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if names := twinFiles(t, dir); len(names) != 0 {
		t.Errorf("files %q", names)
	}
	if got := allAnswers(t, s, path, 8); !reflect.DeepEqual(got, want) || len(twinFiles(t, dir)) != 0 {
		t.Errorf("other answers, or files %q", twinFiles(t, dir))
	}
}

// unfinished is the file that is being written.
func (t *twins) unfinished() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writing
}
