package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// valgrindSource is a program that reads memory that it has freed, in a function that is inlined. Another build has it elsewhere.
const valgrindSource = `
#include <stdlib.h>
#define NI __attribute__((noinline))
volatile int sink;
#ifdef OTHER
NI int added(int x) { sink += x; return x * 3 + sink; }
#endif
static inline __attribute__((always_inline)) int get(int *p) { return p[2]; }
NI int leaf(int *p) { int r = get(p); sink += r; return r + sink; }
NI int middle(int *p) {
#ifdef OTHER
  sink += added(3);
#endif
  int r = leaf(p) + 1;
  sink += r;
  return r;
}
int main(void) {
  int *p = malloc(40);
  sink = middle(p);
  free(p);
  sink = middle(p);
  return 0;
}
`

// TestFixedValgrind runs stripped programs under valgrind, which says in which file its frames are, but not where that is. One at a fixed address
// gets the functions and lines that valgrind has where the program is not stripped. No frame of another build, or of a program that valgrind
// has moved, gets a name.
func TestFixedValgrind(t *testing.T) {
	dir := t.TempDir()
	source, program, symbols := filepath.Join(dir, "fixed.c"), filepath.Join(dir, "fixed"), filepath.Join(dir, "symbols")
	if err := os.WriteFile(source, []byte(valgrindSource), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(symbols, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(argv ...string) string {
		t.Helper()
		out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
		if err != nil {
			t.Skipf("%q: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	frames := regexp.MustCompile(`(?m)^==\d+==    (?:at|by) (0x[0-9A-F]+): (?:in )?(leaf\b|middle\b|main\b|get\b|added\b|\?\?\?)`)
	place := regexp.MustCompile(`\(?([^/ ]+\.c:\d+)`)
	// places returns the address, the function and the line, if the log has it, of each frame of the program.
	places := func(log string) (all []string) {
		for _, line := range strings.Split(log, "\n") {
			if m := frames.FindStringSubmatch(line); m != nil {
				at := place.FindStringSubmatch(line)
				all = append(all, strings.Join(append(m[1:], at[min(1, len(at)):]...), " "))
			}
		}
		return all
	}
	named := func(log string, flags ...string) []string {
		t.Helper()
		if err := os.WriteFile(program+".log", []byte(log), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("qss-filter", append(append([]string{"--no-config", "--no-cache"}, flags...), program+".log")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return places(string(out))
	}
	for _, pie := range []string{"-no-pie", "-pie"} {
		run("gcc", "-g", "-O1", "-fPIE", pie, "-Wl,--build-id", "-o", program, source)
		whole := places(run("valgrind", program))
		run("mv", program, filepath.Join(symbols, "fixed"))
		run("strip", "-s", "-o", program, filepath.Join(symbols, "fixed"))
		log := run("valgrind", program)
		got, want := named(log, "--symbols", symbols), whole
		if pie == "-pie" {
			want = places(log)
		} else if len(whole) < 6 || len(places(log)) < 5 {
			t.Fatalf("valgrind has %d frames, %d of the stripped program:\n%s", len(whole), len(places(log)), log)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: got\n%s\nwant\n%s", pie, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		run("gcc", "-g", "-O1", "-fPIE", pie, "-DOTHER", "-Wl,--build-id", "-o", program, source)
		if got, want := named(log), places(log); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s, another build: got\n%s\nwant\n%s", pie, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
