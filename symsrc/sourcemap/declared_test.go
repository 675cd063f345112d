package sourcemap

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// bundlers have made a program small that is in TypeScript, each with its map.
var bundlers = []string{"esbuild", "bun", "rspack"}

func openNamed(t *testing.T, bundler string) *Script {
	t.Helper()
	file, err := filepath.Abs("testdata/names/" + bundler + "/main.js")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{}).Script(context.Background(), file)
	if s == nil {
		t.Fatalf("%s: no map", bundler)
	}
	return s
}

// stackFrame is a frame of V8.
var stackFrame = regexp.MustCompile(`^    at (?:(?:async |new )?(.*?) \()?(?:async )?([^() ]*):(\d+):(\d+)\)?$`)

type logFrame struct {
	function, file string
	line, column   int
}

// logOf returns the stacks of a log of the program, by their titles.
func logOf(t *testing.T, name string) map[string][]logFrame {
	t.Helper()
	text, err := os.ReadFile("testdata/names/" + name)
	if err != nil {
		t.Fatal(err)
	}
	of := map[string][]logFrame{}
	title := ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "### ") {
			title = line
		}
		if m := stackFrame.FindStringSubmatch(line); m != nil {
			l, _ := strconv.Atoi(m[3])
			c, _ := strconv.Atoi(m[4])
			of[title] = append(of[title], logFrame{m[1], filepath.Base(m[2]), l, c})
		}
	}
	return of
}

// TestNames compares the names of functions in the stacks of a program that bundlers have made small with those in the stacks that the program has
// itself, of which Node.js has found the places with --enable-source-maps. A name that is the log's may differ, no other one.
func TestNames(t *testing.T) {
	want := logOf(t, "unminified.txt")
	for _, bundler := range bundlers {
		s := openNamed(t, bundler)
		renamed := map[string]bool{}
		for title, frames := range logOf(t, bundler+"/log.txt") {
			for _, fr := range frames {
				a := s.At(Pack(uint32(fr.line-1), uint32(fr.column-1)))
				if len(a.Frames) == 0 {
					continue
				}
				if a.Named == nil {
					t.Fatalf("%s: %v has no name", bundler, fr)
				}
				got := a.Named(fr.function)
				if got == fr.function {
					continue
				}
				right := false
				for _, w := range want[title] {
					right = right || w.function == got && w.file == filepath.Base(a.Frames[0].File) && w.line == a.Frames[0].Line
				}
				if !right {
					t.Errorf("%s: %s: %v is %s, want one of %v", bundler, title, fr, got, want[title])
				}
				renamed[got] = true
			}
		}
		for _, name := range [...]string{"fail", "main", "again", "wait", "steps", "shadow", "typed", "Item", "$dollar", "Special.sum"} {
			if !renamed[name] && (name == "fail" || name == "Item" || bundler == "esbuild") { // others put some functions in the place of their calls
				t.Errorf("%s: no frame is of %s", bundler, name)
			}
		}
	}
}

// TestNamed holds what becomes of the name that V8 has for one place, in each of its forms.
func TestNamed(t *testing.T) {
	s := openNamed(t, "esbuild")
	frames := logOf(t, "esbuild/log.txt")
	at := func(title string, i int) func(string) string {
		fr := frames["### "+title][i]
		return s.At(Pack(uint32(fr.line-1), uint32(fr.column-1))).Named
	}
	fail := frames["### plain"][0].function
	for _, c := range []struct {
		title      string
		frame      int
		from, want string
	}{
		{"plain", 0, fail, "fail"},
		{"plain", 0, "Object." + fail, "Object.fail"},
		{"plain", 0, "Object." + fail + " [as fail]", "Object.fail"},
		{"plain", 0, fail + " [as other]", "fail [as other]"},
		{"plain", 0, "a.b." + fail, "a.b.fail"},
		{"plain", 0, fail + "x", fail + "x"},
		{"plain", 0, "", ""},
		{"plain", 0, "<anonymous>", "<anonymous>"},
		{"plain", 0, fail + "/<", fail + "/<"},
		{"getter", 1, "get price [as price]", "get price [as price]"},
		{"value", 1, "get value [as value]", "get value [as value]"},
		{"method", 1, fail, fail}, // it is in another function
	} {
		if got := at(c.title, c.frame)(c.from); got != c.want {
			t.Errorf("%s, frame %d: %q is %q, want %q", c.title, c.frame, c.from, got, c.want)
		}
	}
}

// TestNamesWithoutText holds that names are the log's where the map does not have the source: code of another function may be in its place.
func TestNamesWithoutText(t *testing.T) {
	file, err := os.ReadFile("testdata/names/esbuild/main.js.map")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("testdata/names/esbuild/main.js")
	if err != nil {
		t.Fatal(err)
	}
	bare := strings.Replace(string(file), `"sourcesContent"`, `"x_sourcesContent"`, 1)
	at := filepath.Join(t.TempDir(), "main.js")
	for name, text := range map[string]string{at: string(script), at + mapEnd: bare} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := New(Options{}).Script(context.Background(), at)
	fr := logOf(t, "esbuild/log.txt")["### plain"][0]
	a := s.At(Pack(uint32(fr.line-1), uint32(fr.column-1)))
	if len(a.Frames) != 1 || a.Named(fr.function) != fr.function {
		t.Errorf("%v is %v, %q", fr, a.Frames, a.Named(fr.function))
	}
}
