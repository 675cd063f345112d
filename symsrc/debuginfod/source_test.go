package debuginfod

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
)

func TestSourceNames(t *testing.T) {
	long := "/src/" + strings.Repeat("very/", 80) + "long.c"
	for _, c := range []struct {
		kind      Kind
		url, file string
	}{
		{Debuginfo, "debuginfo", "debuginfo"},
		{Source("/usr/src/a b/x#1%.c"), "source/usr/src/a%20b/x%231%25.c", "source##usr##src##a b##x#_1%.c"},
		{Source("/a\n\x1b?.c"), "source/a%0A%1B%3F.c", "source##a\n\x1b?.c"},
		{Source("/../../etc/passwd"), "source/../../etc/passwd", "source##..##..##etc##passwd"},
		{Source(long), "source" + long, "source-"},
	} {
		url, file := c.kind.urlPath(), c.kind.fileName()
		if url != c.url || file != c.file && !(c.file == "source-" && strings.HasPrefix(file, c.file) && len(file) == maxName) {
			t.Errorf("%q: %q, %q, want %q, %q", c.kind, url, file, c.url, c.file)
		}
		if strings.Contains(file, "/") || !ours(file) {
			t.Errorf("%q is kept as %q", c.kind, file)
		}
	}
	if a, b := Source("/1"+long).fileName(), Source("/2"+long).fileName(); a == b {
		t.Error("two long paths have one file")
	}
}

// TestSourceFiles: a source is whatever a server sends, but no more than a bound of it, and whole.
func TestSourceFiles(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/source/src/a.c"):
			_, _ = w.Write([]byte("int a;\n"))
		case strings.HasSuffix(r.URL.Path, "/source/src/short.c"):
			w.Header().Set("X-DEBUGINFOD-SIZE", "100")
			_, _ = w.Write([]byte("int a;\n"))
		case strings.HasSuffix(r.URL.Path, "/source/src/large.c"):
			for range maxSource >> 16 {
				_, _ = w.Write(make([]byte, 1<<16+1))
			}
		default:
			http.NotFound(w, r)
		}
	})
	for path, want := range map[string]Outcome{"/src/a.c": Found, "/src/short.c": Failed, "/src/large.c": Failed, "/src/none.c": Missing} {
		w := newWorld(t, Options{URLs: []string{s.URL}, Retries: -1})
		r := w.Fetch(context.Background(), testID, Source(path))
		if r.Outcome != want {
			t.Errorf("%s: %+v", path, r)
		}
		if want == Found {
			if text, err := os.ReadFile(r.Path); err != nil || string(text) != "int a;\n" {
				t.Errorf("%s: %q, %v", path, text, err)
			}
		}
	}
}
