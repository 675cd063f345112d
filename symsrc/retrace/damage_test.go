package retrace_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qss-filter/symsrc/retrace"
)

// kept is a retrace.Cache in memory.
type kept map[string][]byte

func (k kept) Load(path string) (content []byte, ok bool) { content, ok = k[path]; return content, ok }
func (k kept) Store(path string, content []byte)          { k[path] = content }

// file writes a file and returns its path.
func file(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDamage holds what is said of maps that were cut short or changed, and of texts in other encodings, with a new index and a kept one.
func TestDamage(t *testing.T) {
	const body = "x.Y -> a:\n    1:1:void m():7:7 -> b\n"
	sum := sha256.Sum256([]byte(body))
	sealed := "# compiler: R8\n# pg_map_id: " + hex.EncodeToString(sum[:4]) + "\n# pg_map_hash: SHA-256 " + hex.EncodeToString(sum[:]) + "\n" + body
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(body + strings.Repeat("    void n() -> n\n", 1000)))
	_ = z.Close()
	var wide []byte
	for _, c := range "\ufeff" + body {
		wide = append(wide, byte(c), byte(c>>8))
	}
	for _, c := range []struct {
		name           string
		content        []byte
		refused, known string
	}{
		{"whole", []byte(sealed), "", ""},
		{"cut", []byte(sealed[:len(sealed)-3]), "", "does not have the SHA-256"},
		{"changed", []byte(strings.Replace(sealed, "x.Y", "x.Z", 1)), "", "does not have the SHA-256"},
		{"a byte order mark", []byte("\xef\xbb\xbf" + sealed), "", ""},
		{"packed and cut", packed.Bytes()[:packed.Len()-9], "", "cut short"},
		{"UTF-16", wide, "UTF-16", ""},
		{"ends of lines of Windows", []byte(strings.ReplaceAll(body, "\n", "\r\n")), "", ""},
		{"ends of lines of old", []byte(strings.ReplaceAll(body, "\n", "\r")), "no class", ""},
		{"zeros", make([]byte, 4096), "no class", ""},
	} {
		path, cache := file(t, "map", c.content), kept{}
		for range 2 {
			m, err := retrace.Open(t.Context(), path, cache)
			if err != nil || c.refused != "" {
				if err == nil || c.refused == "" || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err := m.Damage(); (err != nil) != (c.known != "") || err != nil && !strings.Contains(err.Error(), c.known) {
				t.Errorf("%s: %v", c.name, err)
			}
			if class, ok := m.Class("a"); !ok || !strings.HasPrefix(class, "x.") || strings.HasPrefix(string(c.content), "\xef") && m.Header().ID == "" {
				t.Errorf("%s: %q, %+v", c.name, class, m.Header())
			}
			if err := m.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestHostile holds that a frame that so many methods may be is none of them, and that the class after it is read.
func TestHostile(t *testing.T) {
	repeated := func(n int, line string) string {
		var b strings.Builder
		b.WriteString("x.Y -> a:\n")
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String() + "x.Z -> c:\n    1:1:void ok():5:5 -> d\n"
	}
	for name, c := range map[string]struct {
		text string
		many bool
	}{
		"overloads":            {repeated(65, "    void m%d(int) -> b\n"), true},
		"as many as are shown": {repeated(64, "    void m%d(int) -> b\n"), false},
		"too large":            {repeated(1<<18+2, "    void m%d(int) -> e\n"), true},
		"inlined calls":        {repeated(1<<17, "    1:1:void m%d() -> b\n"), true},
	} {
		m, err := retrace.Read(name, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var trace retrace.Trace
		r := m.Retrace(&trace, frame("a.b(S:1)"))
		if r.TooMany != c.many || c.many != (len(r.Candidates) == 0) || !r.Known {
			t.Errorf("%s: %v, %d candidates", name, r.TooMany, len(r.Candidates))
		}
		if got := shown(m.Retrace(&trace, frame("c.d(S:1)"))); got != "x.Z.ok(Z.java:5)" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestLargeClasses holds that frames of some large classes in turn take the time of their methods alone: to read the classes again for each frame
// would take minutes.
func TestLargeClasses(t *testing.T) {
	const classes, methods, frames = 3, 60_000, 3_000
	var b strings.Builder
	for c := range classes {
		fmt.Fprintf(&b, "x.Large%d -> a.c%d:\n", c, c)
		for i := range methods {
			fmt.Fprintf(&b, "    %d:%d:void doSomething%d(java.lang.String,int):%d:%d -> m%d\n", i%50+1, i%50+5, i, i+9, i+13, i)
		}
	}
	m, err := retrace.Read("large", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	for i := range frames {
		c, method := i%classes, i*7919%methods
		var trace retrace.Trace
		got := shown(m.Retrace(&trace, frame(fmt.Sprintf("a.c%d.m%d(S:%d)", c, method, method%50+3))))
		if want := fmt.Sprintf("x.Large%d.doSomething%d(Large%d.java:%d)", c, method, c, method+11); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("%d frames took %v", frames, took)
	}
}

// FuzzKept holds that no index that was kept panics, whatever it holds.
func FuzzKept(f *testing.F) {
	path := file(f, "map", []byte("# {\"id\":\"com.android.tools.r8.mapping\",\"version\":\"2.2\"}\nx.Y -> a:\n    1:1:void m():7:7 -> b\n"))
	cache := kept{}
	if _, err := retrace.Open(f.Context(), path, cache); err != nil {
		f.Fatal(err)
	}
	f.Add(cache[path])
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := retrace.Open(t.Context(), path, kept{path: content})
		if err != nil {
			t.Fatal(err)
		}
		var trace retrace.Trace
		m.Exception(&trace, "a")
		m.Retrace(&trace, frame("a.b(S:1)"))
		_, _ = m.Newer(), m.Throws("a")
		if m.Close() != nil {
			t.Error("not closed")
		}
	})
}
