package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
)

// TestTriggers holds that the shell expands the user's words only, and that a command which fails is reported.
func TestTriggers(t *testing.T) {
	dir := t.TempDir()
	var said []string
	say := func(m string) { said = append(said, m) }
	tr := newTriggers()
	for _, spec := range []string{"good=cat \"$1\" >" + dir + "/context; printf %s \"$2 $3\" >" + dir + "/names", "bad=exit 3"} {
		if err := tr.add(spec); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []filter.Dumpfile{{Type: "good", Name: "$(touch " + dir + "/expanded); `x`", Context: []byte(`{"a":1}`)}, {Type: "other"}} {
		tr.start(t.Context(), d, say)
	}
	tr.wait()
	if len(said) > 0 {
		t.Errorf("said %q", said)
	}
	for name, want := range map[string]string{"context": "{\"a\":1}\n", "names": "good $(touch " + dir + "/expanded); `x`"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "expanded")); err == nil {
		t.Error("the log's words were expanded by the shell")
	}
	tr.start(t.Context(), filter.Dumpfile{Type: "bad", Name: "n"}, say)
	tr.wait()
	if len(said) != 1 || !strings.Contains(said[0], `dumpfile bad "n": run "exit 3": exit status 3`) {
		t.Errorf("said %q", said)
	}
	for _, specs := range [][]string{{""}, {"x"}, {"=y"}, {"x="}, {"x=y", "z=y", "x=z"}} {
		tr, err := newTriggers(), error(nil)
		for _, spec := range specs {
			err = tr.add(spec)
		}
		if err == nil {
			t.Errorf("%q is accepted", specs)
		}
	}
}
