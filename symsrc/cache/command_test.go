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
	run := func(name string) (status int, stdout string, err error) {
		var out bytes.Buffer
		status, err = o.Command(t.Context(), name, &out)
		return status, out.String(), err
	}
	for name, want := range map[string]string{
		"path":  "^" + regexp.QuoteMeta(dir) + "\n$",
		"stats": `answers    0\n$`,
		"clear": "^$",
	} {
		if status, stdout, err := run(name); status != 0 || err != nil || !regexp.MustCompile(want).MatchString(stdout) {
			t.Errorf("%s gives %d %q %v", name, status, stdout, err)
		}
	}
	if _, _, err := run("what"); !errors.Is(err, ErrCommand) || !strings.Contains(err.Error(), `"what"`) {
		t.Errorf("an unknown name gives %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("to ask makes the directory")
	}

	warm(t, dir, 100)
	status, stdout, err := run("stats")
	if status != 0 || err != nil || !strings.Contains(stdout, "answers    93\n") || !strings.Contains(stdout, "serving 0 filters") {
		t.Errorf("stats give %d %q %v", status, stdout, err)
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
		if status, stdout, err = run("clear"); status != 0 || stdout != "" || err != nil {
			t.Errorf("clear gives %d %q %v", status, stdout, err)
		}
		if _, stdout, _ = run("stats"); !strings.Contains(stdout, "answers    0\n") {
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
