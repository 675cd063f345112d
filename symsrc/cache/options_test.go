package cache

import (
	"path/filepath"
	"testing"
)

func TestDirectory(t *testing.T) {
	for _, c := range []struct{ dir, xdg, home, want string }{
		{"/d", "/x", "/h", "/d"},
		{"", "/x", "/h", "/x/qss-filter"},
		{"", "", "/h", "/h/.cache/qss-filter"},
		{"", "relative", "/h", "/h/.cache/qss-filter"},
		{"", "", "", ""},
		{"", "", "relative", ""},
	} {
		t.Setenv("XDG_CACHE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		got, err := (&Options{Dir: c.dir}).Directory()
		if filepath.ToSlash(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%+v: %q, %v", c, got, err)
		}
	}
	if got, err := (&Options{Dir: "rel"}).Directory(); err != nil || !filepath.IsAbs(got) {
		t.Errorf("a relative directory is %q, %v", got, err)
	}
}
