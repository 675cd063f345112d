//go:build linux || darwin

package command_test

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qss-filter/filter/filtertest"
)

// cached runs the program with a cache of its own.
type cached struct {
	t    *testing.T
	home string
}

// run returns what the program makes of a log. This is a file: the lines of a pipe do not wait for a tree of symbols that a busy machine
// has not read yet.
func (c cached) run(log []byte, args ...string) []byte {
	c.t.Helper()
	in, err := os.CreateTemp(c.t.TempDir(), "log")
	if err != nil {
		c.t.Fatal(err)
	}
	defer in.Close()
	if _, err := in.WriteAt(log, 0); err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.Command("qss-filter", args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+c.home, "DEBUGINFOD_URLS=")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = in, &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		c.t.Fatalf("%q: %v, %s", args, err, said.Bytes())
	}
	return out
}

// answers is how many answers are kept, all that were left being taken. If end is set, it ends the process that says so and waits until
// it is gone, which still writes to the directory of the cache.
func (c cached) answers(end bool) int {
	c.t.Helper()
	stats := string(c.run(nil, "cache", "stats"))
	number := func(word string) int {
		m := regexp.MustCompile(`(?m)^` + word + ` +(\d+)`).FindStringSubmatch(stats)
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(m[1])
		return n
	}
	if pid := number("process"); end && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		for range 1000 {
			if syscall.Kill(pid, 0) != nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	return number("answers")
}

// fromSymbols is a log of frames as glibc and the kernel print them, `lib(name+0x1)[0x…]` and `name+0x1/0x2 [lib]`, of functions of
// some files.
func fromSymbols(t *testing.T, paths []string) []byte {
	var log bytes.Buffer
	for _, path := range paths {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		symbols, _ := f.Symbols()
		dynamic, _ := f.DynamicSymbols()
		f.Close()
		functions := slices.DeleteFunc(slices.Concat(symbols, dynamic), func(s elf.Symbol) bool {
			return elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0
		})
		for i, s := range functions[:min(len(functions), 100)] {
			for _, off := range []uint64{1, s.Size / 2} {
				fmt.Fprintf(&log, "%s(%s+%#x)[0x7f0000%04x]\n", path, s.Name, off, i&0xffff)
				fmt.Fprintf(&log, " %s+%#x/%#x [%s]\n", s.Name, off, s.Size, strings.TrimSuffix(filepath.Base(path), ".ko"))
			}
		}
	}
	return log.Bytes()
}

// TestCachedAsUncached holds that no sample comes out otherwise with a cache than without: with an empty one, with a full one,
// where it is twice in one run, and, with the files gone, where each line is either as it was with them or as it is without.
func TestCachedAsUncached(t *testing.T) {
	symbols := filepath.Join(t.TempDir(), "symbols")
	for _, tree := range []string{filepath.Join("logs", "bin"), "rootfs"} {
		if err := os.CopyFS(filepath.Join(symbols, tree), os.DirFS(filepath.Join("testdata", tree))); err != nil {
			t.Fatal(err)
		}
	}
	var binaries []string
	logs := map[string][]byte{}
	for _, dir := range []string{symbols, filepath.Join("testdata", "logs"), filepath.Join("testdata", "markup"), filepath.Join("testdata", "qss")} {
		if err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil || !e.Type().IsRegular():
			case strings.HasSuffix(path, ".log"):
				logs[path], err = os.ReadFile(path)
			case dir == symbols:
				if f, ferr := elf.Open(path); ferr == nil {
					f.Close()
					binaries = append(binaries, path)
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if logs["symbols"] = fromSymbols(t, binaries); len(logs["symbols"]) == 0 || len(logs) < 30 {
		t.Fatalf("%d samples, %d bytes of symbols", len(logs), len(logs["symbols"]))
	}
	with := []string{"--symbols", symbols, "--rootfs", filepath.Join(symbols, "rootfs"), "--quiet"} // some samples contradict the files
	without := append(with[:len(with):len(with)], "--no-cache")
	c := cached{t, t.TempDir()}
	t.Cleanup(func() { c.answers(true) })
	var all []byte // one run for all of them: to start a program takes longer than they do
	for _, name := range slices.Sorted(maps.Keys(logs)) {
		all = append(append(all, logs[name]...), '\n')
	}
	all = slices.Concat(all, all)
	lines := func(out []byte) [][]byte { return bytes.SplitAfter(out, []byte("\n")) }
	var there [][]byte
	for _, format := range []string{"--json=false", "--json"} {
		want := c.run(all, append(without, format)...)
		there = lines(want)
		for _, turn := range []string{"cold", "warm"} {
			if got := c.run(all, append(with, format)...); !bytes.Equal(got, want) {
				t.Errorf("%s, %s: %s", format, turn, firstOther(got, want))
			}
		}
	}
	if n := c.answers(false); n < 50 {
		t.Errorf("only %d answers are kept", n)
	}
	if err := os.RemoveAll(symbols); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(symbols, "rootfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	gone := lines(c.run(all, append(without, "--json")...))
	got := lines(c.run(all, append(with, "--json")...))
	if len(got) != len(gone) || len(got) != len(there) {
		t.Fatalf("%d lines, %d with the files and %d without", len(got), len(there), len(gone))
	}
	found := 0
	for i := range got {
		switch {
		case bytes.Equal(got[i], gone[i]):
		case bytes.Equal(got[i], there[i]):
			found++
		default:
			t.Errorf("with the files gone:\n%sis neither\n%snor\n%s", got[i], there[i], gone[i])
		}
	}
	if found == 0 {
		t.Error("the cache answers nothing")
	}
	t.Logf("%d lines were answered by the cache", found)
}

// firstOther shows the first line in which two texts differ.
func firstOther(got, want []byte) string {
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d is\n%s\ninstead of\n%s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines instead of %d", len(a), len(b))
}

// TestWalksCached holds that the stacks of a real program, written as many emitters write them, get the right names with a cache that
// is empty, with one that has all answers, and without one: the same names.
func TestWalksCached(t *testing.T) {
	source, err := filepath.Abs("filter/live/testdata/walks.c")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]map[string]filtertest.Tally{"no cache": {}, "cold cache": {}, "warm cache": {}}
	for _, build := range [][]string{{"gcc", "-O2"}, {"gcc", "-O1", "-no-pie"}} {
		dir := t.TempDir()
		w := filtertest.Walk(t, source, dir, build...)
		c := cached{t, t.TempDir()}
		var log []byte // of all emitters: to start a program takes longer than it does
		var pages []*filtertest.Page
		for i := range filtertest.Emitters {
			pages = append(pages, filtertest.Emitters[i].Writes(w))
			log = append(log, pages[i].Log()...)
		}
		var before []byte
		for _, how := range []string{"no cache", "cold cache", "warm cache"} {
			args := []string{"--json", "--symbols", dir, "--rootfs", "/"}
			if how == "no cache" {
				args = append(args, "--no-cache")
			}
			out := c.run(log, args...)
			if before != nil && !bytes.Equal(out, before) {
				t.Errorf("%s: the answers differ from those before: %s", how, firstOther(out, before))
			}
			before = out
			lines := strings.SplitAfter(string(out), "\n")
			for i, page := range pages {
				name, n := filtertest.Emitters[i].Name, strings.Count(page.Log(), "\n")
				sum := sums[how][name]
				sum.Add(page.Count(t, name+", "+how, strings.Join(lines[:n], "")))
				sums[how][name], lines = sum, lines[n:]
			}
		}
		c.answers(true)
	}
	for how, of := range sums {
		table, _ := filtertest.Report(how, of)
		t.Log(table)
	}
}
