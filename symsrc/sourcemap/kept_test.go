package sourcemap

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc/diskcache"
)

// answers returns what a map says of many places.
func answers(m *Map) string {
	var all strings.Builder
	for line := range 460 {
		for column := 0; column < 400; column += 3 {
			if o, ok := m.At(line, column); ok {
				fmt.Fprintf(&all, "%d:%d %+v\n", line, column, o)
			}
		}
	}
	return all.String()
}

// TestKept holds that a map says the same of all places when its index is kept, that the index is that of the file as it is, and that a
// damaged one is not used.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	if err := os.Mkdir(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := diskcache.NewKept(cache)
	for _, name := range []string{"testdata/metro/with-function-map.js.map", "testdata/scripts/estraverse.min.js.map"} {
		original, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Base(name))
		write := func(text string, at time.Time) {
			t.Helper()
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, at, at); err != nil {
				t.Fatal(err)
			}
		}
		body := strings.TrimSpace(string(original))
		body = body[:len(body)-1] + `,"x_more":"` + strings.Repeat(`\"{`, worthKept/3) + `"}`
		want, err := Parse(original)
		if err != nil {
			t.Fatal(err)
		}
		write(body, time.Now())
		index := func() []byte {
			m, err := openMap(path, kept)
			if err != nil || answers(m) != answers(want) {
				t.Fatalf("%s: %v: it says something else", name, err)
			}
			b, ok := m.encode()
			if !ok {
				t.Fatal("it has no index")
			}
			return b
		}
		first := index()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		of := &text{path: path, info: info}
		again, ok := of.decode(first)
		if !ok {
			t.Fatal("the index is not read")
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := again.readMappings(f); err != nil || answers(again) != answers(want) {
			t.Fatalf("%s from the index: %v: it says something else", name, err)
		}
		for cut := range len(first) {
			if _, ok := of.decode(first[:cut]); ok {
				t.Fatalf("an index of %d bytes is whole with %d", len(first), cut)
			}
		}
		write("{"+body[1:]+" ", time.Now().Add(time.Hour))
		if len(want.sections) > 0 && again.sections[0].of.text.read(span{0, 4}) != nil {
			t.Error("a text is read from a file that has changed")
		}
	}
}

// FuzzIndex holds that no index is a panic, neither when it is read nor when a place is asked for.
func FuzzIndex(f *testing.F) {
	original, err := os.ReadFile("testdata/scripts/flat.min.js.map")
	if err != nil {
		f.Fatal(err)
	}
	m, err := Parse(original)
	if err != nil {
		f.Fatal(err)
	}
	index, _ := m.encode()
	f.Add(index, uint16(0), uint16(30))
	info, err := os.Stat("testdata/scripts/flat.min.js.map")
	if err != nil {
		f.Fatal(err)
	}
	file, err := os.Open("testdata/scripts/flat.min.js.map")
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	f.Fuzz(func(t *testing.T, index []byte, line, column uint16) {
		of := &text{path: file.Name(), info: info}
		m, ok := of.decode(index)
		if ok && m.readMappings(file) == nil {
			m.At(int(line), int(column))
		}
	})
}
