//go:build linux || darwin

package cache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nobody is a user that is none of ours.
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
		err := Safe(filepath.Join(top, tc.path))
		if (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: %v, want %q", tc.path, err, tc.why)
		}
		if terr := trust(filepath.Join(top, tc.path)); (terr == nil) != (tc.why == "") {
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
		if err := trust(filepath.Join(top, path)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %q", path, err, why)
		}
		if after, _ := os.ReadDir(filepath.Join(top, "own", "cache")); len(after) != len(before) {
			t.Errorf("%s: something was written behind the link", path)
		}
	}
}
