package object

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// crashSource prints a stack trace with backtrace_symbols_fd from a signal handler, or lets a sanitizer print one.
const crashSource = `
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
static void handler(int sig) { void *pc[64]; backtrace_symbols_fd(pc, backtrace(pc, 64), 1); _exit(0); }
__attribute__((noinline)) int deep(volatile int *p, int n) { return n ? deep(p, n - 1) + 1 : *p; }
int compare(const void *a, const void *b) { return deep((volatile int *)(n_t)*(const int *)a, 3); }
int main(int argc, char **argv) {
	int numbers[] = {16, 24, 32};
	if (argc > 1) { char *p = malloc(8); free(p); return deep((volatile int *)p, 3); }
	if (HANDLE) signal(SIGSEGV, handler);
	qsort(numbers, 3, sizeof *numbers, compare);
}
`

// Kinds of addresses in a stack trace.
const (
	isReturn = "return address"
	isMoved  = "moved into the call"
	isExact  = "exact"
	isSignal = "signal trampoline"
)

func classify(p symsrc.Probe) string {
	switch {
	case p.Trampoline:
		return isSignal
	case p.Returns && !p.Calls:
		return isReturn
	case p.Calls && !p.Returns:
		return isMoved
	case !p.Returns && !p.Calls && p.Known:
		return isExact
	}
	return "unclear"
}

var (
	sanitizerFrame = regexp.MustCompile(`(?m)^ +#(\d+) 0x[0-9a-f]+ .*\((/[^ ]*)\+0x([0-9a-f]+)\)`)
	glibcFrame     = regexp.MustCompile(`(?m)^()(\S+?)\(\S*?\+0x([0-9a-f]+)\)\[0x[0-9a-f]+\]$`)
)

// TestProbeOfStacks runs crashing programs, and classifies the addresses in their stack traces.
func TestProbeOfStacks(t *testing.T) {
	for _, x := range []struct {
		name, flags, arg string
		frame            *regexp.Regexp
		first, others    string
	}{
		{"glibc", "-O1 -g -DHANDLE=1 -rdynamic", "", glibcFrame, isReturn, isReturn},
		{"address sanitizer, fault", "-O1 -g -DHANDLE=0 -fsanitize=address", "", sanitizerFrame, isExact, isMoved},
		{"address sanitizer, report", "-O1 -g -DHANDLE=0 -fsanitize=address", "x", sanitizerFrame, isMoved, isMoved},
	} {
		for _, compiler := range []string{"gcc", "clang-22"} {
			t.Run(x.name+"/"+compiler, func(t *testing.T) {
				out := crash(t, compiler, x.flags, x.arg)
				probeStack(t, out, x.frame, x.first, x.others)
			})
		}
	}
}

// crash builds and runs the program, and returns its output.
func crash(t *testing.T, compiler, flags, arg string) string {
	t.Helper()
	need(t, compiler)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "crash.c"), []byte(strings.ReplaceAll(crashSource, "(n_t)", "(long)")), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(strings.Fields(flags), "-w", "crash.c", "-o", "crash")...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s cannot link %s: %s", compiler, flags, out)
	}
	cmd = exec.Command(filepath.Join(dir, "crash"), strings.Fields(arg)...)
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=symbolize=0:detect_leaks=0")
	out, _ := cmd.CombinedOutput() // it crashes
	return string(out)
}

// probeStack checks the addresses of a stack trace. The frame after a trampoline is the fault.
func probeStack(t *testing.T, out string, form *regexp.Regexp, first, others string) {
	t.Helper()
	frames := form.FindAllStringSubmatch(out, -1)
	if len(frames) < 5 {
		t.Fatalf("%d frames in\n%s", len(frames), out)
	}
	before := ""
	for i, m := range frames {
		path := m[2]
		off, err := strconv.ParseUint(m[3], 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		f := open(t, path)
		if form == glibcFrame {
			off = fromSymbol(t, f, m[0], off)
		}
		want := others
		switch {
		case i == 0, m[1] == "0" && first != isExact:
			want = first
		case before == isSignal:
			want = isExact
		}
		got := classify(f.Probe(off, symsrc.Linked))
		if got == isSignal && form == glibcFrame && before != isSignal {
			want = isSignal
		}
		if got != want {
			t.Errorf("frame %d, %s: %s, want %s", i, m[0], got, want)
		}
		before = got
	}
	if form == glibcFrame && !strings.Contains(out, "libc") {
		t.Error("no frame of the C library")
	}
}

// fromSymbol adds the address of the symbol to which the offset in a line of glibc is relative, if there is one.
func fromSymbol(t *testing.T, f *File, line string, off uint64) uint64 {
	t.Helper()
	_, rest, _ := strings.Cut(line, "(")
	name, _, _ := strings.Cut(rest, "+")
	if name == "" {
		return off
	}
	x, err := elf.NewFile(bytes.NewReader(f.elf.Data))
	if err != nil {
		t.Fatal(err)
	}
	all, _ := x.DynamicSymbols()
	for _, s := range all {
		if s.Name == name {
			return s.Value + off
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0
}
