package cache

import (
	"flag"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"64M": 64 << 20, "1G": 1 << 30, "65536K": 64 << 20, "64MiB": 64 << 20, "64mb": 64 << 20, "67108864": 64 << 20, "67108864B": 64 << 20,
		"31M": 31 << 20, "": 0, "M": 0, "-1G": 0, "64MM": 0, "1T": 0, "64 M": 0, "9999999999G": 0, "99999999999999999999": 0, "64i": 0, "1.5G": 0,
	} {
		got, err := ParseSize(text)
		if got != want || (err == nil) != (want != 0) {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
}

// TestLeastMax refuses a cache that is too small for the files of Badger.
func TestLeastMax(t *testing.T) {
	for size, good := range map[string]bool{"31M": false, "0": false, "32M": true} {
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		fs.SetOutput(io.Discard)
		var o Options
		o.Register(fs)
		if err := fs.Parse([]string{"--cache-max", size}); (err == nil) != good {
			t.Errorf("%s: %v", size, err)
		}
	}
}

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

func TestRegister(t *testing.T) {
	for args, want := range map[string]Options{
		"":                             {},
		"--cache-dir /d --no-cache":    {Dir: "/d", Off: true},
		"--cache-db=/d --cache-max=1G": {Dir: "/d", Max: 1 << 30},
	} {
		var o Options
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		o.Register(fs)
		if err := fs.Parse(strings.Fields(args)); err != nil || o.Dir != want.Dir || o.Off != want.Off || o.Max != want.Max {
			t.Errorf("%s: %+v, %v", args, o, err)
		}
	}
	var o Options
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.Register(fs)
	if fs.Parse([]string{"--cache-max=1"}) == nil {
		t.Error("one byte is taken for a limit")
	}
}
