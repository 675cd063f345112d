// Package peers is what tests share that compare answers with those of other tools.
package peers

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symbolize/batch"
)

// Need skips a test if a program is missing.
func Need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}

// Compile returns the path of the program that a command makes of a text on standard input, as a.out in a directory of its own.
func Compile(t *testing.T, source string, command ...string) string {
	t.Helper()
	Need(t, command[0])
	dir := t.TempDir()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return filepath.Join(dir, "a.out")
}

// Libc returns the debug file of the C library: the largest one of Debian's package libc6-dbg. The test is skipped without it.
func Libc(t *testing.T) (path string) {
	t.Helper()
	list, err := exec.Command("dpkg", "-L", "libc6-dbg").Output()
	size := int64(0)
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if st, err := os.Stat(line); err == nil && strings.HasSuffix(line, ".debug") && st.Size() > size {
			path, size = line, st.Size()
		}
	}
	if err != nil || path == "" {
		t.Skip("libc6-dbg is not installed")
	}
	return path
}

// Answers returns the output for requests, and the errors about them. start makes the answerer from a source that has no cache and asks no
// server, and from the texts of source files.
func Answers(t *testing.T, in string, start func(symsrc.Source, *sources.Sources) batch.Answerer) (out string, errs []error) {
	t.Helper()
	s := chain.Options{Warn: func(err error) { t.Error(err) }, Cache: cache.Options{Off: true}, Servers: debuginfod.Options{Off: true}}
	source, end, err := s.Source()
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	var b bytes.Buffer
	a := start(source, s.Texts())
	if err := batch.Run(context.Background(), a, batch.Options{In: strings.NewReader(in), Out: &b, Wrong: func(err error) { errs = append(errs, err) }}); err != nil {
		t.Fatal(err)
	}
	return b.String(), errs
}

// Peer returns what another tool writes to requests.
func Peer(t *testing.T, in string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(in)
	cmd.Env = append(os.Environ(), "DEBUGINFOD_URLS=", "LC_ALL=C")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
