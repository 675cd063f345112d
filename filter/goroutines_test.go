package filter_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/sgr"
)

// onScreen returns what a reader at a terminal of 100 columns sees of a log.
func onScreen(t *testing.T, log string, o filter.Options) string {
	t.Helper()
	o.Symbols, o.Screen = shopSymbols{}, &print.Screen{Columns: 100, Roots: []string{"/home/dev/crash-examples", "/app"}}
	var out bytes.Buffer
	if err := filter.New(o).Run(context.Background(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const handler = `2026/01/02 10:00:00 http: panic serving 10.0.0.1:4711: runtime error: index out of range [3] with length 1
goroutine 50 [running]:
net/http.(*conn).serve.func1()
	/usr/local/go/src/net/http/server.go:1947 +0xbe
panic({0x2747d48?, 0xc0009d0090?})
	/usr/local/go/src/runtime/panic.go:785 +0x132
main.handler({0x2747d80, 0xc0002b2cd0}, 0xc00014e000)
	/app/handler.go:42 +0x1a4
net/http.HandlerFunc.ServeHTTP(0x0?, {0x2747d80?, 0xc0002b2cd0?}, 0x0?)
	/usr/local/go/src/net/http/server.go:2220 +0x29
github.com/gorilla/mux.(*Router).ServeHTTP(0x1, {0x2747d80, 0xc0002b2cd0}, 0xc00014e000)
	/root/go/pkg/mod/github.com/gorilla/mux@v1.8.1/mux.go:212 +0x1c5
net/http.(*conn).serve(0xc00010e000, {0x2747d80, 0xc0002b2cd0})
	/usr/local/go/src/net/http/server.go:2092 +0x5d0
created by net/http.(*Server).Serve in goroutine 1
	/usr/local/go/src/net/http/server.go:3360 +0x485
`

// TestGoroutines shows Go's tracebacks at a terminal.
func TestGoroutines(t *testing.T) {
	t.Parallel()
	const shown = `goroutine 50 [running]:
net/http.(*conn).serve.func1()
	…/net/http/server.go:1947 +0xbe
panic({0x2747d48?, 0xc0009d0090?})
	…/runtime/panic.go:785 +0x132
main.handler({0x2747d80, 0xc0002b2cd0}, 0xc00014e000)
	handler.go:42 +0x1a4
    … 3 frames of Go's library and github.com/gorilla/mux
[index out of range [3] with length 1 in main.handler handler.go:42 · main.handler--g… · first time]
`
	first, _, _ := strings.Cut(handler, "goroutine")
	prefixed := func(text string) string {
		return "web-1  | " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\nweb-1  | ") + "\n"
	}
	const idle = "goroutine 2 gp=0x1 m=nil [force gc (idle)]:\nruntime.gopark(0x0?, 0x0?)\n\t/usr/local/go/src/runtime/proc.go:462 +0xce fp=0x1 sp=0x2 pc=0x3\n" +
		"runtime.goparkunlock(...)\n\t/usr/local/go/src/runtime/proc.go:468\ncreated by runtime.init.7 in goroutine 1\n\t/usr/local/go/src/runtime/proc.go:363 +0x1a\n"
	for name, c := range map[string]struct{ log, want string }{
		"a handler":                    {handler + "\nnext\n", first + shown + "\nnext\n"},
		"no code of the program":       {"a\n" + idle + "\nb\n", "a\ngoroutine 2 gp=0x1 m=nil [force gc (idle)]:\n    … 2 frames of Go's runtime\n\nb\n"},
		"two without a line between":   {idle + idle, strings.Repeat("goroutine 2 gp=0x1 m=nil [force gc (idle)]:\n    … 2 frames of Go's runtime\n", 2)},
		"the end of the log":           {"goroutine 1 [running]:\nmain.main()\n\t/app/main.go:3", "goroutine 1 [running]:\nmain.main()\n\tmain.go:3"},
		"a function without its place": {"goroutine 1 [running]:\nmain.main()\nexit status 2\n", "goroutine 1 [running]:\nmain.main()\nexit status 2\n"},
		"other text":                   {"goroutine 1 [running]:\nmain was here\n", "goroutine 1 [running]:\nmain was here\n"},
		"frames left out by Go":        {"goroutine 1 [running]:\nmain.f(0x1)\n\t/app/main.go:3 +0x1\n...additional frames elided...\n\n", "goroutine 1 [running]:\nmain.f(0x1)\n\tmain.go:3 +0x1\n...additional frames elided...\n\n"},
		"a word of no goroutine":       {"the goroutine 1 [running]: is fine\n", "the goroutine 1 [running]: is fine\n"},
		"lines of others between them": {"a | goroutine 1 [running]:\na | panic({0x1, 0x2})\nb | text\na | main.f()\n", "a | goroutine 1 [running]:\na | panic({0x1, 0x2})\nb | text\na | main.f()\n"},
		"ends of lines of Windows":     {"goroutine 1 [running]:\r\nmain.main()\r\n\t/app/main.go:3 +0x1d\r\nnext\r\n", "goroutine 1 [running]:\r\nmain.main()\r\n\tmain.go:3 +0x1d\r\nnext\r\n"},
		"a wrapper that the compiler made": {"goroutine 1 [running]:\nmain.main.gowrap1()\n\t/app/main.go:7 +0x36\nruntime.goexit({})\n\t/usr/local/go/src/runtime/asm_amd64.s:1771 +0x1\nmain.f()\n\t/app/main.go:1 +0x1\n\n",
			"goroutine 1 [running]:\nmain.main.gowrap1()\n\tmain.go:7 +0x36\nruntime.goexit({})\n\t…/runtime/asm_amd64.s:1771 +0x1\nmain.f()\n\tmain.go:1 +0x1\n\n"},
	} {
		if got := onScreen(t, c.log, filter.Options{}); got != c.want {
			t.Errorf("%s:\n%s\nwant:\n%s", name, got, c.want)
		}
	}
	got := onScreen(t, prefixed(handler+"\nnext\n"), filter.Options{})
	if want := prefixed(first + shown + "\nnext\n"); got != want {
		t.Errorf("a service of compose:\n%s\nwant:\n%s", got, want)
	}
}

// TestGoroutinesOfGo reads what Go's own runtime has printed: each line of a traceback is one that is known, no line of the log beside them changes,
// and the functions are there or counted.
func TestGoroutinesOfGo(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../testdata/logs/*go*.log")
	if err != nil || len(names) < 4 {
		t.Fatal(names, err)
	}
	folded := regexp.MustCompile(`(?m)^ +… (\d+) frames of .*\n`)
	crash := regexp.MustCompile(`(?m)^\[.* · first time\]\n`)
	function := regexp.MustCompile(`(?m)^(?:panic|[\w./]+\.\S+)\(.*\)\n\t`)
	for _, name := range names {
		log, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		heads := bytes.Count(log, []byte("\ngoroutine "))
		if heads == 0 {
			continue
		}
		got := onScreen(t, string(log), filter.Options{Palette: sgr.NewPalette(false)})
		count := len(function.FindAllString(got, -1))
		for _, found := range folded.FindAllStringSubmatch(got, -1) {
			n, _ := strconv.Atoi(found[1])
			count += n
		}
		if want := len(function.FindAllString(string(log), -1)); count != want {
			t.Errorf("%s: %d functions of %d:\n%s", name, count, want, got)
		}
		if n := strings.Count(got, "\ngoroutine "); n != heads {
			t.Errorf("%s: %d goroutines of %d", name, n, heads)
		}
		begin := strings.Index(string(log), "\ngoroutine ")
		if !strings.HasPrefix(got, string(log[:begin+1])) {
			t.Errorf("%s: the text before the first goroutine changes:\n%s", name, got)
		}
		if bytes.Contains(log, []byte("panic: ")) && len(crash.FindAllString(got, -1)) != 1 {
			t.Errorf("%s: no line for the panic:\n%s", name, got)
		}
		if strings.Contains(got, " fp=0x") {
			t.Errorf("%s: addresses that nobody reads:\n%s", name, got)
		}
	}
}

// FuzzGoroutines holds that nothing is lost or added but in the lines of goroutines, however the log comes.
func FuzzGoroutines(f *testing.F) {
	f.Add(handler, 7)
	f.Add("goroutine 1 [running]:\nmain.f()\n\t/app/a.go:1\n\t/app/a.go:1\nruntime stack:\n\n\x1b[1mgoroutine 2 [x]:\n", 3)
	f.Fuzz(func(t *testing.T, log string, n int) {
		if len(log) > 1<<12 || n < 1 || strings.Contains(log, "{{{") {
			return
		}
		whole := onScreen(t, log, filter.Options{})
		if !strings.Contains(log, "goroutine ") && !strings.Contains(log, "runtime stack:") {
			return
		}
		for line := range strings.Lines(log) {
			if print.GoLineOf([]byte(line)) == print.GoNone && !strings.Contains(line, "0x") && !strings.Contains(whole, line) {
				t.Errorf("%q is lost in %q", line, whole)
			}
		}
	})
}
