package locate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// TestSorted says what paths of Symbols are, by their content.
func TestSorted(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("tree/52/9039.debug", "x")
	put("tree/a0/11", "x")
	put("store/lib.so/0123456789ABCDEF0123456789ABCDEF0/lib.so.sym", "MODULE Linux")
	put("debug/.build-id/52/9039.debug", "x")
	put("debug/usr/lib/a.debug", "x")
	put("any/52/a", "x")
	put("any/lib.so", "x")
	put("half/lib.so/0123456789ABCDEF0123456789ABCDEF0/lib.so.sym", "MODULE Linux")
	put("half/readme", "x")
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	list, index, old := put("ids.txt", "529039c4 /a/b\n"), put("symbol-index.json", " {}"), put("symbol-index", "/a/.build-id\t/src\n")
	sym, odd := put("a.sym", "MODULE Linux x86_64 0 a\n"), put("odd", "text\n")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		path string
		want Options
	}{
		{in("tree"), Options{BuildIDDirs: []string{in("tree")}}},
		{in("store"), Options{BreakpadDirs: []string{in("store")}}},
		{in("debug"), Options{DebugRoots: []string{in("debug")}, Symbols: []string{in("debug")}}},
		{in("any"), Options{Symbols: []string{in("any")}}},
		{in("half"), Options{Symbols: []string{in("half")}}},
		{in("empty"), Options{Symbols: []string{in("empty")}}},
		{list, Options{IDsTxt: []string{list}}},
		{index, Options{IDsTxt: []string{index}}},
		{old, Options{IDsTxt: []string{old}}},
		{sym, Options{Objects: []string{sym}, files: []string{sym}}},
		{odd, Options{Objects: []string{odd}, files: []string{odd}}},
	} {
		got, err := Options{Symbols: []string{c.path}}.sorted()
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s is %+v, %v; want %+v", c.path, got, err, c.want)
		}
	}
	_, err := Options{Symbols: []string{in("none")}}.sorted()
	if wrong, ok := errors.AsType[*symsrc.OptionError](err); !ok || wrong.Option != "locate.Symbols" || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "open "+in("none")) {
		t.Error(err)
	}
	if IsPackage(odd) || IsPackage(in("none")) || IsPackage(dir) {
		t.Error("what is no package is one")
	}
}
