package live_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
)

// lldbProgram aborts in a callback of the C library, three calls down.
const lldbProgram = `#include <stdlib.h>
static int compare(const void *a, const void *b) { abort(); }
__attribute__((noinline)) void inner(int n) { int v[] = {3, 1, 2, n}; qsort(v, 4, sizeof *v, compare); }
__attribute__((noinline)) void outer(int n) { inner(n + 1); __asm__ volatile(""); }
int main(int c, char **v) { outer(c); return 0; }
`

// TestLiveLLDB compares what lldb prints of a stripped program, and of one that has its symbols alone, as the filter reads it with the unstripped one,
// with llvm-symbolizer. One of another build names nothing wrong.
func TestLiveLLDB(t *testing.T) {
	t.Run("stripped", func(t *testing.T) { compareLLDB(t, "strip -o a full/a", "___lldb_unnamed_symbol_([0-9a-f]+)") })
	t.Run("symbols", func(t *testing.T) { compareLLDB(t, "strip -g -o a full/a", "([a-z]+)") })
}

// compareLLDB compares what lldb prints of a program that is stripped so, and that names functions so.
func compareLLDB(t *testing.T, strip, names string) {
	needTool(t, "lldb-22", "lldb-22")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(lldbProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("sh", "-c", "mkdir full other && gcc -g -O1 -pie -fPIE -o full/a a.c && gcc -g -O0 -pie -fPIE -o other/a a.c && "+strip)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	debug := exec.Command("lldb-22", "--no-lldbinit", "-b", "-o", "run", "-o", "bt", "-k", "bt", "./a")
	debug.Dir = dir
	log, err := debug.CombinedOutput()
	frame := regexp.MustCompile("frame #([0-9]+): 0x[0-9a-f]+ a`" + names + " \\+ ([0-9]+)(.*)")
	if !frame.Match(log) {
		t.Skipf("lldb does not run the program: %v\n%s", err, log)
	}
	var with [2]string
	for i, build := range []string{"full", "other"} {
		var got strings.Builder
		f := filter.New(filter.Options{Symbols: sourceOf(t, filepath.Join(dir, build))})
		if err := f.Run(context.Background(), strings.NewReader(string(log)), &got); err != nil {
			t.Fatal(err)
		}
		with[i] = got.String()
	}
	frames := frame.FindAllStringSubmatch(with[0], -1)
	if len(frames) < 4 {
		t.Fatalf("%d frames in %s", len(frames), with[0])
	}
	for i, m := range frame.FindAllStringSubmatch(with[1], -1) { // whose first function has the same code
		line, _, _ := strings.Cut(frames[i][4], ".c:2:")
		if m[4] != "" && (!strings.HasPrefix(m[4], line+".c:2:") || i > 0) {
			t.Errorf("with another build: %s", m[0])
		}
	}
	for _, m := range frames {
		function, err := strconv.ParseUint(m[2], 16, 64)
		if err != nil {
			function = symbolAt(t, filepath.Join(dir, "full/a"), m[2])
		}
		distance, _ := strconv.ParseUint(m[3], 10, 64)
		if m[1] != "0" { // a return address
			distance--
		}
		out, err := exec.Command("llvm-symbolizer-22", "--obj="+filepath.Join(dir, "full/a"), "--output-style=GNU", fmt.Sprintf("%#x", function+distance)).Output()
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(out))
		want := " in " + fields[0]
		if !strings.HasPrefix(fields[1], "??") {
			want += " " + fields[1]
		}
		if !strings.HasPrefix(m[4], want) {
			t.Errorf("%s: want %q", m[0], want)
		}
	}
}
