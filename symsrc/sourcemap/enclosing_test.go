package sourcemap

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestEnclosing compares the functions of scripts with those that acorn finds in them: where their parameters begin and they end, the word that names
// them, and the class whose methods they are. The bodies of classes are among them, without names.
func TestEnclosing(t *testing.T) {
	list, err := os.ReadFile("testdata/names/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for one := range strings.SplitSeq(strings.TrimPrefix(string(list), "# "), "\n# ") {
		name, want, _ := strings.Cut(one, "\n")
		dir, file := filepath.Split(name)
		text, err := os.ReadFile(filepath.Join("testdata/names", strings.TrimPrefix(dir, "names/"), file))
		if err != nil {
			t.Fatal(err)
		}
		word := func(at uint32) string {
			if at == 0 {
				return "-"
			}
			return string(text[at-1 : wordEnd(text, int(at)-1)])
		}
		var got []string
		for _, e := range functionsOf(text) {
			end := int(e.begin) + len(bytes.TrimRight(text[e.begin:e.end], " \n"))
			got = append(got, fmt.Sprint(e.begin, " ", end, " ", word(e.name), " ", word(e.class)))
		}
		for _, line := range diff(strings.Split(strings.TrimSpace(want), "\n"), got) {
			t.Errorf("%s: %s", name, line)
		}
	}
}

// diff returns what only one of two lists has.
func diff(want, got []string) (lines []string) {
	for _, w := range want {
		if !slices.Contains(got, w) {
			lines = append(lines, "lacks "+w)
		}
	}
	for _, g := range got {
		if !slices.Contains(want, g) {
			lines = append(lines, "has "+g)
		}
	}
	return lines
}

// TestEnclosingNear compares the function that is found from what stands shortly before a place with that of all of the script.
func TestEnclosingNear(t *testing.T) {
	for _, bundler := range bundlers {
		s := openNamed(t, bundler)
		all := functionsOf(s.code.text)
		found := 0
		for offset, c := range s.code.text {
			end := wordEnd(s.code.text, offset)
			if !inWord(c) || offset == 0 || inWord(s.code.text[offset-1]) || end >= len(s.code.text) || s.code.text[end] != '(' {
				continue // it is no call
			}
			line, column := s.code.position(offset)
			f := s.m.find(line, column, nil)
			got, is := s.code.functionNear(&f, line, column, offset, 300, func(enclosing) bool { return true })
			want, ok := enclosingAt(all, offset)
			switch {
			case is != inFunction: // also in parameters of an arrow function
				continue
			case !ok || got.begin != want.begin || got.name != want.name || got.class != want.class:
				t.Errorf("%s: at %d, the function is %v, want %v", bundler, offset, got, want)
			}
			found++
		}
		if found < 20 {
			t.Errorf("%s: %d calls are in functions", bundler, found)
		}
	}
}

// TestEnclosingHostile holds that the time for a script is that of its length.
func TestEnclosingHostile(t *testing.T) {
	for _, one := range []string{"(", "{", "[", "`${", "a=>", "/[", "/*", "'", "`", "a?", "class a extends ", "function(", "({a(", "(a)=>", "a:", "x=/", "\n", "\\u{", "#", "/x\n/", "){", "}"} {
		text := []byte(strings.Repeat(one, 4<<20/len(one)))
		begin := time.Now()
		functionsOf(text)
		parentsIn(text)
		if took := time.Since(begin); took > 5*time.Second {
			t.Errorf("%q takes %v", one, took)
		}
		text = text[:maxBody]
		begin = time.Now()
		namesFunction(append([]byte("f = "), text...), 0, len(text), func(enclosing) uint32 { return 1 })
		namesFunction(append([]byte("f("), text...), 0, len(text), func(enclosing) uint32 { return 1 })
		if took := time.Since(begin); took > time.Second {
			t.Errorf("%q takes %v in a source", one, took)
		}
	}
}

// FuzzEnclosing holds that the functions of any text are in each other, or behind each other.
func FuzzEnclosing(f *testing.F) {
	for _, name := range [...]string{"functions.js", "esbuild/main.js", "src/cart.ts"} {
		text, err := os.ReadFile(filepath.Join("testdata/names", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, 100, 200)
	}
	f.Fuzz(func(t *testing.T, text []byte, word, place int) {
		all := functionsOf(text)
		for i, e := range all {
			if e.begin > e.end || int(e.end) > len(text) || int(e.name) > len(text) || int(e.class) > len(text) || int(e.parent) >= i {
				t.Fatal(e, len(text))
			}
		}
		if word >= 0 && place >= word && place <= len(text) && word < len(text) {
			enclosingAt(all, place)
			namesFunction(text, word, place, func(e enclosing) uint32 { return e.name })
		}
		parentsIn(text)
	})
}
