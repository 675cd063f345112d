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
// --enable-source-maps. Its names differ: those of the map belong to the function that is called at a place, not to the one that it is in,
// so that it calls the closure `it`, by its parameter.
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
	if !strings.Contains(out.String(), "at t.total (") || !strings.Contains(out.String(), "Array.map (<anonymous>)") {
		t.Errorf("the names of the log are gone:\n%s", &out)
	}
}
