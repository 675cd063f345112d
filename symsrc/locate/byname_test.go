package locate

import (
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestByName has no build ID in the log.
func TestByName(t *testing.T) {
	dir := tree(t, map[string]testELF{
		"r/usr/lib/liba.so": full, "r/usr/lib/libs.so": stripped, "r/usr/lib/libn.so": nameless,
		"s/dbg/1": debugOf, "s/out/liba.so": full, "s/out/bin/app": full, "s/old/bin2/app": other, "s/out/only": full,
		"s/out/pair": stripped, "s/dbg/pair.debug": debugOf, "s/same/1/copy": full, "s/same/2/copy": full,
		"s/nameless/1/twin": nameless, "s/nameless/2/twin": nameless,
		"s/nameless/1/diff": nameless, "s/nameless/2/diff": {names: []string{".debug_info", ".symtab"}},
		"s/split/1/sep": stripped, "s/split/2/sep.debug": other,
		"w/here": full, "w/sub/there": full, "w/app": full, "o/obj": full,
	})
	roots := []string{dir + "/r"}
	trees := []string{dir + "/s"}
	tests := []struct {
		what, name string
		opt        Options
		want       string // elf and debug, or the note
	}{
		{"path", "/usr/lib/liba.so", Options{Rootfs: roots}, "r/usr/lib/liba.so -"},
		{"path without an ID in the file", "/usr/lib/libn.so", Options{Rootfs: roots}, "r/usr/lib/libn.so -"},
		{"its own ID leads on", "/usr/lib/libs.so", Options{Rootfs: roots, Symbols: trees}, "r/usr/lib/libs.so s/dbg/1"},
		{"a named root is believed", "/usr/lib/liba.so", Options{Rootfs: roots, Symbols: trees}, "r/usr/lib/liba.so -"},
		{"absolute, by file name", "/data/only", Options{Rootfs: roots, Symbols: trees}, "s/out/only -"},
		{"bare", "only", Options{Symbols: trees}, "s/out/only -"},
		{"bare, twice the same", "copy", Options{Symbols: trees}, "s/same/1/copy -"},
		{"bare, twice the same without ID", "twin", Options{Symbols: trees}, "s/nameless/1/twin -"},
		{"bare, different without ID", "diff", Options{Symbols: trees}, "2 different files named diff"},
		{"bare, pair", "pair", Options{Symbols: trees}, "s/out/pair s/dbg/1"},
		{"bare, debug file of another", "sep", Options{Symbols: trees}, "2 different files named sep"},
		{"ambiguous", "app", Options{Symbols: trees}, "2 different files named app"},
		{"the whole path decides", "../bin/app", Options{Symbols: trees}, "s/out/bin/app -"},
		{"also of an absolute one", "/old/bin2/app", Options{Rootfs: roots, Symbols: trees}, "s/old/bin2/app -"},
		{"working directory", "here", Options{WorkDir: dir + "/w"}, "w/here -"},
		{"relative", "./sub//there", Options{WorkDir: dir + "/w"}, "w/sub/there -"},
		{"relative upwards", "../w/here", Options{WorkDir: dir + "/w"}, "w/here -"},
		{"object", "/somewhere/else/obj", Options{Objects: []string{dir + "/o/obj"}, Rootfs: roots}, "o/obj -"},
		{"nothing", "nothing", Options{Symbols: trees, Rootfs: roots}, "elf not found"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			f := find(t, locator(t, tt.opt), tt.name, "")
			got := relative(dir, f.Elf, f.Debug)
			if !f.Usable() {
				got = f.Note
			}
			if strings.HasPrefix(got, "s/out/pair s/dbg/") { // either debug file is right
				got = "s/out/pair s/dbg/1"
			}
			if got != tt.want || f.Unverified != f.Usable() {
				t.Errorf("got %s (unverified %v), want %s\ntried %q", got, f.Unverified, tt.want, f.Tried)
			}
			if strings.Contains(tt.want, "different") && (f.ElfStatus != symsrc.UnknownError || f.Elf != "" || f.Debug != "") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestHostAgainstSymbols: the log is without build IDs, its path exists on this host, and the symbol directories have a file of
// the name too.
func TestHostAgainstSymbols(t *testing.T) {
	dir := tree(t, map[string]testELF{"host/app": full, "same/app": full, "older/app": other, "none/b": other})
	for _, tt := range []struct {
		symbols []string
		want    string
	}{
		{[]string{"same"}, dir + "/host/app"},
		{[]string{"same", "older"}, dir + "/host/app"},
		{[]string{"none"}, dir + "/host/app"},
		{[]string{"older"}, ""},
	} {
		var trees []string
		for _, s := range tt.symbols {
			trees = append(trees, filepath.Join(dir, s))
		}
		f := find(t, locator(t, Options{Symbols: trees}), dir+"/host/app", "")
		if f.Elf != tt.want || f.Usable() != (tt.want != "") {
			t.Errorf("%v: %+v", tt.symbols, f)
		}
	}
}

func TestDeleted(t *testing.T) {
	dir := tree(t, map[string]testELF{"r/lib/x": full, "s/x": full})
	l := locator(t, Options{Rootfs: []string{dir + "/r"}, Symbols: []string{dir + "/s"}})
	f := find(t, l, "/lib/x (deleted)", "")
	if f.ElfStatus != symsrc.NotFound || !strings.HasPrefix(f.Note, "deleted: ") || f.Usable() {
		t.Errorf("without build ID: %+v", f)
	}
	plain := locator(t, Options{Rootfs: []string{dir + "/r"}})
	if f := find(t, plain, "/lib/x (deleted)", idA); f.Elf != dir+"/r/lib/x" || f.ElfStatus != symsrc.OK || f.Unverified {
		t.Errorf("its build ID: %+v", f)
	}
	if f := find(t, plain, "/lib/x (deleted)", idB); f.ElfStatus != symsrc.MismatchBuildID || f.Usable() {
		t.Errorf("another build ID: %+v", f)
	}
}

func TestParseName(t *testing.T) {
	for name, want := range map[string]moduleName{
		"/usr/lib/libx.so":        {path: "/usr/lib/libx.so", base: "libx.so"},
		"libx.so":                 {path: "libx.so", base: "libx.so"},
		"/x (deleted)":            {path: "/x", base: "x", deleted: true},
		"/x (deleted) ":           {path: "/x (deleted) ", base: "x (deleted) "},
		"":                        {},
		"[vdso]":                  {},
		"[anon:dalvik-main]":      {},
		"<unknown module>":        {},
		"linux-vdso.so.1":         {},
		"linux-gate.so.1":         {},
		"linux-vdso64.so.1":       {},
		"/lib/linux-vdso.so.1":    {path: "/lib/linux-vdso.so.1", base: "linux-vdso.so.1"},
		"a\x00b":                  {},
		"/dir/":                   {},
		"/":                       {},
		"..":                      {},
		"/a/..":                   {},
		strings.Repeat("a", 300):  {},
		strings.Repeat("a/", 1e5): {},
	} {
		if got := parseName(name); got != want {
			t.Errorf("%.40q: %+v, want %+v", name, got, want)
		}
	}
}
