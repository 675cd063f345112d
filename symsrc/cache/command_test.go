//go:build linux || darwin

package cache

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	o := &Options{Dir: dir, Program: program}
	run := func(name string) (stdout string, err error) {
		var out bytes.Buffer
		err = o.Command(t.Context(), name, &out)
		return out.String(), err
	}
	for name, want := range map[string]string{
		"path":  "^" + regexp.QuoteMeta(dir) + "\n$",
		"stats": `answers    0\n$`,
		"clear": "^$",
	} {
		if stdout, err := run(name); err != nil || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("%s: %q %v", name, stdout, err)
		}
	}
	if _, err := run("what"); !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), `"what"`) {
		t.Errorf("an unknown name: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("to ask makes the directory")
	}

	warm(t, dir, 100)
	stdout, err := run("stats")
	if err != nil || !strings.Contains(stdout, "answers    93\n") || !strings.Contains(stdout, "serving 0 filters") {
		t.Errorf("stats are %q %v", stdout, err)
	}
	s, _ := source(t, dir, &engine{})
	connect(t, s)
	ask(s, 0, 100)
	s.Close()
	eventually(t, "the hits are counted", func() bool { f := figures(dir); return f != nil && f.Found >= 93 && f.Found <= f.Asked })

	for _, serving := range []bool{true, false} { // with and without a process
		if !serving {
			warm(t, dir, 100)
		}
		if stdout, err = run("clear"); stdout != "" || err != nil {
			t.Errorf("clear prints %q %v", stdout, err)
		}
		if stdout, _ = run("stats"); !strings.Contains(stdout, "answers    0\n") {
			t.Errorf("cleared, the stats are %q", stdout)
		}
		stop(t, dir)
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", 256 << 20: "256 MiB", 3 << 40: "3 TiB", 5 << 50: "5120 TiB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d bytes are %q, want %q", n, got, want)
		}
	}
}
