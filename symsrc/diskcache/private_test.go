//go:build unix

package diskcache_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qss-filter/symsrc/diskcache"
)

// nobody is the user of that name: none of ours.
const nobody = 65534

// TestSafe names the directories that another user could exchange.
func TestSafe(t *testing.T) {
	top := t.TempDir()
	dir := func(name string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(top, name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, name)); err != nil {
			t.Fatal(err)
		}
	}
	dir("own/cache", 0o700)
	dir("open/cache", 0o700)
	dir("open", 0o777)
	dir("sticky/cache", 0o700)
	dir("sticky", 0o777|os.ModeSticky)
	dir("foreign/cache", 0o700)
	link("own/cache", "own/link")
	link("open/cache", "own/out")
	link("own", "sticky/theirs")
	link("own/cache", "sticky/theirs-too")
	for _, tc := range []struct{ path, why string }{
		{"own/cache", ""}, {"own/not/yet", ""}, {"own/link", ""}, {"sticky/cache", ""}, {"sticky/new", ""},
		{"open/cache", "others may exchange"}, {"open/new/deep", "others may exchange"}, {"own/out", "others may exchange"},
	} {
		err := diskcache.Safe(filepath.Join(top, tc.path))
		if (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: %v, want %q", tc.path, err, tc.why)
		}
		if terr := diskcache.MakeRoot(filepath.Join(top, tc.path)); (terr == nil) != (tc.why == "") {
			t.Errorf("%s: trusted: %v", tc.path, terr)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of another user")
	}
	for _, path := range []string{"sticky/theirs", "sticky/theirs-too", "foreign"} {
		if err := os.Lchown(filepath.Join(top, path), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	for path, why := range map[string]string{"sticky/theirs/cache": "a link of another user", "sticky/theirs-too": "a link of another user",
		"foreign/cache": "another user", "foreign/new": "another user"} {
		before, _ := os.ReadDir(filepath.Join(top, "own", "cache"))
		if err := diskcache.MakeRoot(filepath.Join(top, path)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", path, err, why)
		}
		if after, _ := os.ReadDir(filepath.Join(top, "own", "cache")); len(after) != len(before) {
			t.Errorf("%s: something was written behind the link", path)
		}
	}
}

// TestMakeDir refuses a directory that others can write to, or that is a link. Others may read it: files are created so that they
// cannot, and a cache must not be off because its directory was copied, or opened to readers.
func TestMakeDir(t *testing.T) {
	for _, c := range []struct {
		name string
		mode os.FileMode
		good bool
	}{{"new", 0, true}, {"own", 0o700, true}, {"read", 0o755, true}, {"group", 0o770, false}, {"everybody", 0o702, false}} {
		top := t.TempDir()
		want := filepath.Join(top, c.name)
		if c.mode != 0 {
			if err := os.Mkdir(want, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(want, c.mode); err != nil {
				t.Fatal(err)
			}
		}
		got, err := diskcache.MakeDir(top, c.name)
		if got != want || (err == nil) != c.good {
			t.Errorf("%s: %s, %v", c.name, got, err)
		}
		fi, err := os.Stat(want)
		if err != nil || c.mode == 0 && fi.Mode().Perm() != 0o700 || diskcache.IsPrivate(fi) != c.good {
			t.Errorf("%s: %v, %v", c.name, fi.Mode(), err)
		}
		if err := os.Symlink(want, filepath.Join(top, "link")); err != nil {
			t.Fatal(err)
		}
		if _, err := diskcache.MakeDir(top, "link"); err == nil {
			t.Errorf("%s: a link to it is used", c.name)
		}
	}
	top := t.TempDir()
	if err := os.WriteFile(filepath.Join(top, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := diskcache.MakeDir(top, "file"); err == nil {
		t.Error("a file is used as a directory")
	}
}

// TestOpen opens nothing but what this user has written, and waits for nothing.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, mode := range map[string]os.FileMode{"own": 0o600, "read": 0o644, "group": 0o620, "everybody": 0o602} {
		if err := os.WriteFile(path(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("own", path("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"own": true, "read": true, "group": false, "everybody": false, "link": false, "pipe": false, ".": false, "none": false}
	if os.Geteuid() == 0 {
		if err := os.WriteFile(path("foreign"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path("foreign"), nobody, nobody); err != nil {
			t.Fatal(err)
		}
		all["foreign"] = false
	}
	for name, good := range all {
		f, fi, err := diskcache.Open(path(name))
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			if fi.Size() != int64(len(name)) {
				t.Errorf("%s: %d bytes", name, fi.Size())
			}
			f.Close()
		}
	}
}
