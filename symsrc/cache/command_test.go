//go:build linux || darwin

package cache

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestCommand(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	run := func(args ...string) (status int, stdout, stderr string) {
		var out, errs bytes.Buffer
		status = Command(args, &out, &errs)
		return status, out.String(), errs.String()
	}
	at := "--cache-dir=" + dir
	for _, c := range []struct {
		args           []string
		status         int
		stdout, stderr string // regular expressions
	}{
		{[]string{"path", at}, 0, "^" + regexp.QuoteMeta(dir) + "\n$", "^$"},
		{[]string{"stats", at}, 0, `answers    0\n$`, "^$"},
		{[]string{"clear", at}, 0, "^$", "^$"},
		{nil, 2, "^$", "Usage"},
		{[]string{"--help"}, 0, "Usage", "^$"},
		{[]string{"stats", "--help"}, 0, "cache-max", "^$"},
		{[]string{"what"}, 2, "^$", `no command "what"`},
		{[]string{"stats", "--what"}, 2, "^$", "what"},
		{[]string{"stats", at, "more"}, 2, "^$", `takes no "more"`},
	} {
		status, stdout, stderr := run(c.args...)
		if status != c.status || !regexp.MustCompile(c.stdout).MatchString(stdout) || !regexp.MustCompile(c.stderr).MatchString(stderr) {
			t.Errorf("%q gives %d %q %q", c.args, status, stdout, stderr)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("to ask makes the directory")
	}

	warm(t, dir, 100)
	status, stdout, stderr := run("stats", at)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "answers    93\n") || !strings.Contains(stdout, "serving 0 filters") {
		t.Errorf("stats give %d %q %q", status, stdout, stderr)
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
		if status, stdout, stderr = run("clear", at); status != 0 || stdout+stderr != "" {
			t.Errorf("clear gives %d %q %q", status, stdout, stderr)
		}
		if _, stdout, _ = run("stats", at); !strings.Contains(stdout, "answers    0\n") {
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
