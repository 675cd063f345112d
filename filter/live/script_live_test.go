package live_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc/sourcemap"
)

// place is a source with a line and a column, as Node.js writes them.
var place = regexp.MustCompile(`[^ (]*cart\.ts:\d+:\d+|[^ (]*main\.ts:\d+:\d+`)

// TestLiveNode compares the places in the stack of a program that esbuild has minified with those that Node.js itself finds with
// --enable-source-maps, and the names of functions with those that the program has itself. Node.js's differ: those of the map belong to the
// function that is called at a place, not to the one that it is in, so that it calls the closure `it`, by its parameter.
func TestLiveNode(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	script, err := filepath.Abs("testdata/scripts/main.js")
	if err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, _ := exec.Command(node, append(args, script)...).CombinedOutput() // it ends with status 1
		return string(out)
	}
	raw := run()
	f := filter.New(filter.Options{Scripts: sourcemap.New(sourcemap.Options{})})
	var out strings.Builder
	if err := f.Run(context.Background(), strings.NewReader(raw), &out); err != nil {
		t.Fatal(err)
	}
	got, want := place.FindAllString(out.String(), -1), place.FindAllString(run("--enable-source-maps"), -1)
	if len(want) < 3 || strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%q from\n%s\nwant %q", got, raw, want)
	}
	for _, call := range [...]string{"at Cart.total (", "at checkout (", "at Array.map (<anonymous>)"} {
		if !strings.Contains(out.String(), call) {
			t.Errorf("%q is not in\n%s", call, &out)
		}
	}
}

// TestLiveUncaught compares the place that Node.js writes above an exception that nothing has caught with the one that it writes itself with
// --enable-source-maps, which has no column. A tab and characters of several bytes stand before it.
func TestLiveUncaught(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("Node.js is not installed")
	}
	for _, name := range [...]string{"uncaught.js", "uncaught.min.js"} {
		script, err := filepath.Abs("testdata/scripts/" + name)
		if err != nil {
			t.Fatal(err)
		}
		run := func(args ...string) string {
			out, _ := exec.Command(node, append(args, script)...).CombinedOutput()
			_, text, _ := strings.Cut(string(out), "\n") // what the program writes
			return text
		}
		want, _, _ := strings.Cut(run("--enable-source-maps"), "\n")
		raw := run()
		f := filter.New(filter.Options{Scripts: sourcemap.New(sourcemap.Options{})})
		var out strings.Builder
		if err := f.Run(context.Background(), strings.NewReader(raw), &out); err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(out.String(), "\n")
		if !strings.HasSuffix(want, "uncaught.ts:4") || head != want+":39" {
			t.Errorf("%s: %q above\n%s\nwant %q and its column", name, head, rest, want)
		}
		_, raw, _ = strings.Cut(raw, "\n")
		if code, _, _ := strings.Cut(raw, "\n\n"); !strings.HasPrefix(rest, code) {
			t.Errorf("%s: the lines of the script have changed:\n%s", name, rest)
		}
	}
}
