package javamap_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/javamap"
)

// text is a map with an ID.
func text(id string) string {
	return "# compiler: R8\n# pg_map_id: " + id + "\ncom.example.Main -> a.b:\n    void main() -> c\n"
}

func write(t *testing.T, path string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// packed returns a text in gzip's format.
func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	if cerr := z.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
	return b.Bytes()
}

// bundle returns an app bundle with a map.
func bundle(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range map[string]string{"base/dex/classes.dex": "dex", "BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map": text} {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestFind holds that maps are found by their content and their ID: as files, packed, and in bundles.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "release/mapping.txt"), []byte(text("11")))
	write(t, filepath.Join(dir, "old/mapping.txt.gz"), packed(t, text("22")))
	write(t, filepath.Join(dir, "app.aab"), bundle(t, text("33")))
	write(t, filepath.Join(dir, "notes.txt"), []byte("a -> b\n"))
	write(t, filepath.Join(dir, "broken.aab"), []byte("PK\x03\x04"))
	write(t, filepath.Join(dir, ".git/mapping.txt"), []byte(text("44")))
	maps, err := javamap.New(t.Context(), javamap.Options{Places: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	for id, path := range map[string]string{"11": "mapping.txt", "22": "mapping.txt.gz", "33": "app.aab!BUNDLE-METADATA/com.android.tools.build.obfuscation/proguard.map", "44": ""} {
		m, files := maps.ByID(t.Context(), id)
		switch {
		case path == "" && (m != nil || files.ElfStatus != symsrc.NotFound || len(files.Tried) != 3):
			t.Errorf("%s: found %v, %+v", id, m, files)
		case path == "":
		case m == nil || !strings.HasSuffix(m.Path, path) || m.Header().ID != id || files.Unverified:
			t.Errorf("%s: %+v, %+v", id, m, files)
		default:
			if class, ok := m.Class("a.b"); !ok || class != "com.example.Main" {
				t.Errorf("%s: %q", id, class)
			}
		}
	}
	if n := len(maps.Found(t.Context())); n != 3 {
		t.Errorf("%d maps", n)
	}
}

// TestNamed holds what is said of a map that the user names, for frames that name another one.
func TestNamed(t *testing.T) {
	dir := t.TempDir()
	with := write(t, filepath.Join(dir, "with.txt"), []byte(text("11")))
	without := write(t, filepath.Join(dir, "without.txt"), []byte("com.example.Main -> a.b:\n"))
	for _, c := range []struct {
		path, id string
		status   symsrc.Status
		found    bool
	}{{with, "11", symsrc.OK, true}, {with, "22", symsrc.MismatchBuildID, false}, {without, "22", symsrc.OK, true},
		{write(t, filepath.Join(dir, "app.aab"), bundle(t, text("33"))), "33", symsrc.OK, true}} {
		maps, err := javamap.New(t.Context(), javamap.Options{Files: []string{c.path}})
		if err != nil {
			t.Fatal(err)
		}
		if m, files := maps.ByID(t.Context(), c.id); (m != nil) != c.found || files.Reason() != c.status || files.Unverified != (c.path == without) {
			t.Errorf("%s, %s: %v, %+v", filepath.Base(c.path), c.id, m, files)
		}
	}
	var problems []string
	newer := write(t, filepath.Join(dir, "newer.txt"), []byte("# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"3.1\"}\n# pg_map_hash: SHA-256 00\n"+text("44")))
	if _, err := javamap.New(t.Context(), javamap.Options{Files: []string{newer}, Problem: func(message string) { problems = append(problems, message) }}); err != nil ||
		len(problems) != 2 || !strings.Contains(problems[0], "version 3.1") || !strings.Contains(problems[1], "SHA-256") {
		t.Errorf("%q, %v", problems, err)
	}
	if _, err := javamap.New(t.Context(), javamap.Options{Files: []string{filepath.Join(dir, "none")}}); err == nil {
		t.Error("a file that is missing was opened")
	}
}

// TestIs holds which files are maps.
func TestIs(t *testing.T) {
	dir := t.TempDir()
	for content, is := range map[string]bool{text("1"): true, "# comment\n\ncom.A -> a.b:\n": true, "a.B -> a.B:\r\n    int x -> y\r\n": true, "": false,
		"a -> b\n": false, "# nothing\n": false, "\x7fELF": false, "words that lead -> to:\n": false} {
		if got := javamap.Is(write(t, filepath.Join(dir, "file"), []byte(content))); got != is {
			t.Errorf("%q: %v", content, got)
		}
	}
	if !javamap.Is(write(t, filepath.Join(dir, "file.gz"), packed(t, text("1")))) || javamap.Is(dir) || javamap.Is(filepath.Join(dir, "none")) {
		t.Error("a packed map is none, or a directory is one")
	}
}

// TestKept holds that the index of a map is kept, and is not used after the map has changed, or when it is damaged.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	path := write(t, filepath.Join(dir, "mapping.txt"), []byte(text("11")))
	cache := diskcache.NewKept(filepath.Join(dir, "cache"))
	open := func(want string) {
		t.Helper()
		maps, err := javamap.New(t.Context(), javamap.Options{Files: []string{path}, Cache: cache})
		if err != nil {
			t.Fatal(err)
		}
		if class, ok := maps.Named()[0].Class("a.b"); !ok || class != want {
			t.Errorf("%q", class)
		}
	}
	kept := func() []string {
		files, _ := filepath.Glob(filepath.Join(dir, "cache/maps/*.map"))
		return files
	}
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if open("com.example.Main"); len(kept()) != 0 {
		t.Error("the index of a map is kept that may still change")
	}
	if diskcache.NewKept("") != nil {
		t.Error("no directory keeps something")
	}
	cache.Store(path, []byte("words")) // as above
	if _, ok := cache.Load(path); ok {
		t.Error("the index of a map is read that may still change")
	}
}

// TestWait holds that a search which takes longer than it is waited for goes on, and that nothing is remembered of what it had not found yet.
func TestWait(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "mapping.txt"), []byte(text("abc")))
	maps, err := javamap.New(t.Context(), javamap.Options{Places: []string{dir}, Wait: 1})
	if err != nil {
		t.Fatal(err)
	}
	for looked := false; ; {
		one, files := maps.ByID(t.Context(), "abc")
		if one == nil && (looked || !strings.Contains(files.Note, "still being searched for")) {
			t.Fatalf("searched: %v; %+v", looked, files)
		}
		if looked {
			break
		}
		maps.Found(t.Context())
		looked = maps.Looked(t.Context())
	}
	if all := maps.Found(t.Context()); len(all) != 1 || !maps.Any(t.Context()) {
		t.Errorf("%d maps", len(all))
	}
}
