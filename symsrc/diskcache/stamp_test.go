package diskcache_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"qss-filter/symsrc/diskcache"
)

func stampAt(t *testing.T, path string) diskcache.Stamp {
	t.Helper()
	s, err := diskcache.StampAt(path, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func stat(t *testing.T, path string) fs.FileInfo {
	t.Helper()
	fi, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return fi
}

// TestStamp sees each way in which a file becomes another one.
func TestStamp(t *testing.T) {
	then := time.Unix(1_000_000_000, 0)
	put := func(path, text string) error {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		return os.Chtimes(path, then, then)
	}
	for _, c := range []struct {
		how    string
		change func(path string) error
		kept   bool
		unix   bool // elsewhere it does not show
	}{
		{how: "nothing", change: func(string) error { return nil }, kept: true},
		{how: "read", change: func(path string) error { _, err := os.ReadFile(path); return err }, kept: true},
		{how: "longer", change: func(path string) error { return put(path, "content and more") }},
		{how: "later", change: func(path string) error { return os.Chtimes(path, then, then.Add(time.Nanosecond*100)) }},
		// As cp --preserve and rsync --inplace do it with files of reproducible builds, which all have one time.
		{how: "in place, with the time set back", unix: true, change: func(path string) error { return put(path, "CONTENT") }},
		{how: "replaced by one of the same size and time", unix: true, change: func(path string) error {
			if err := put(path+".new", "CONTENT"); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}},
		{how: "removed", change: os.Remove},
		{how: "a directory", change: func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) }},
	} {
		if c.unix && runtime.GOOS == "windows" {
			continue
		}
		path := filepath.Join(t.TempDir(), "file")
		if err := put(path, "content"); err != nil {
			t.Fatal(err)
		}
		before, info := stampAt(t, path), stat(t, path)
		if of := diskcache.StampOf(path, info); of != before {
			t.Errorf("%s: the stamps are %v and %v", c.how, of, before)
		}
		changed := func() bool {
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			now, err := diskcache.StampAt(path, true)
			if got := diskcache.Changed(path, info); got != (err != nil || now != before) {
				t.Errorf("%s: changed %v, from %v to %v, %v", c.how, got, before, now, err)
			}
			return err != nil || now != before
		}
		got := changed()
		for end := time.Now().Add(10 * time.Second); c.unix && !got && time.Now().Before(end); { // the clock of the file system is coarse
			got = changed()
		}
		if got == c.kept {
			t.Errorf("%s: changed %v", c.how, got)
		}
	}
}

// TestStampLink follows a link only when it is told to.
func TestStampLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if os.Symlink(file, link) != nil {
		t.Skip("there are no links")
	}
	if s, err := diskcache.StampAt(link, true); err != nil || s.Size != 1 || runtime.GOOS != "windows" && s != stampAt(t, file) {
		t.Errorf("followed: %v, %v", s, err)
	}
	if s, err := diskcache.StampAt(link, false); !errors.Is(err, diskcache.ErrNotRegular) {
		t.Errorf("not followed: %v, %v", s, err)
	}
	for path, want := range map[string]error{dir: diskcache.ErrNotRegular, os.DevNull: diskcache.ErrNotRegular, dir + "/none": fs.ErrNotExist} {
		if s, err := diskcache.StampAt(path, true); s != (diskcache.Stamp{}) || runtime.GOOS != "windows" && !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", path, s, err)
		}
	}
}

// TestStampString: caches on disk have it in their keys, so that another form empties them.
func TestStampString(t *testing.T) {
	if got := (diskcache.Stamp{Device: 1, Inode: 2, Size: 3, Mtime: 4, Ctime: 5}).String(); got != "1 2 3 4 5" {
		t.Error(got)
	}
}
