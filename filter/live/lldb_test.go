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

// TestLiveLLDB compares what lldb prints of a stripped program, as the filter reads it with the unstripped one, with llvm-symbolizer.
func TestLiveLLDB(t *testing.T) {
	needTool(t, "lldb-22", "lldb-22")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(lldbProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("sh", "-c", "mkdir full && gcc -g -O1 -pie -fPIE -o full/a a.c && strip -o a full/a")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	debug := exec.Command("lldb-22", "--no-lldbinit", "-b", "-o", "run", "-o", "bt", "-k", "bt", "./a")
	debug.Dir = dir
	log, err := debug.CombinedOutput()
	frame := regexp.MustCompile("frame #([0-9]+): 0x[0-9a-f]+ a`___lldb_unnamed_symbol_([0-9a-f]+) \\+ ([0-9]+)(.*)")
	if !frame.Match(log) {
		t.Skipf("lldb does not run the program: %v\n%s", err, log)
	}
	var got strings.Builder
	f := filter.New(filter.Options{Symbols: sourceOf(t, filepath.Join(dir, "full"))})
	if err := f.Run(context.Background(), strings.NewReader(string(log)), &got); err != nil {
		t.Fatal(err)
	}
	frames := frame.FindAllStringSubmatch(got.String(), -1)
	if len(frames) < 4 {
		t.Fatalf("%d frames in %s", len(frames), got.String())
	}
	for _, m := range frames {
		function, _ := strconv.ParseUint(m[2], 16, 64)
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
