package live_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// provenFrame is a frame of a log, with its functions.
type provenFrame struct {
	Text, Status, Reason string
	Functions            []struct {
		Function, File string
		Line           int
		LineNow        bool `json:"line_now"`
	}
}

// framesOf returns the frames of a log, resolved by this machine's files. own is set if these are known to be those that ran.
func framesOf(t *testing.T, source symsrc.Source, log string, own bool) (frames []provenFrame) {
	t.Helper()
	return readFrames(t, filtertest.RunAll(t, filter.Options{Symbols: source, Ran: filtertest.RanAll(own), JSON: &jsonl.Options{}}, strings.NewReader(log)))
}

// readFrames returns the frames of objects.
func readFrames(t *testing.T, objects string) (frames []provenFrame) {
	t.Helper()
	for line := range strings.Lines(objects) {
		var l struct{ Frames []provenFrame }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		frames = append(frames, l.Frames...)
	}
	return frames
}

// assumedFiles returns a source of this machine's files, none of which the user has pointed at.
func assumedFiles(t *testing.T) symsrc.Source {
	t.Helper()
	files, err := locate.New(locate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	source := symobject.NewSource(files)
	t.Cleanup(func() { source.Close() })
	return source
}

// compiled builds a C program, and skips the test if that is not possible.
func compiled(t *testing.T, args ...string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the programs run on x86-64 Linux")
	}
	cmd := exec.Command("gcc", args...)
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skipf("gcc is not installed: %v", err)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("gcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// errorOutput returns what a program writes to standard error.
func errorOutput(path string, env []string, args ...string) string {
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	var b bytes.Buffer
	cmd.Stderr = &b
	_ = cmd.Run() // which crashes
	return b.String()
}

// TestProvenLive holds that the stacks of programs of this machine, whose logs have no build IDs, prove nearly all of their frames,
// and none gets another name than the files have.
func TestProvenLive(t *testing.T) {
	report := [...]string{"ASAN_OPTIONS=symbolize=0:handle_abort=1", "UBSAN_OPTIONS=symbolize=0:print_stacktrace=1"}
	symbolized := [...]string{"ASAN_OPTIONS=symbolize=1:handle_abort=1", "UBSAN_OPTIONS=symbolize=1:print_stacktrace=1"}
	mistakes := []string{"freed", "qsort", "segv", "twice", "leak", "shift", "memset", "abort"}
	scenes := []string{"deep", "qsort", "segv", "abort", "memcpy", "thread"}
	type run struct {
		name string
		env  []string
	}
	emitters := []struct {
		source string
		flags  []string
		scenes []string
		runs   []run
	}{
		{"proof.c", nil, scenes, []run{{"glibc's backtrace_symbols", nil}}},
		{"proof.c", []string{"-rdynamic"}, scenes, []run{{"the same, -rdynamic", nil}}},
		{"proof_sanitized.c", []string{"-fsanitize=address,undefined"}, mistakes, []run{{"gcc's sanitizers", report[:]}, {"the same, symbolized", symbolized[:]}}},
		{"proof_sanitized.c", []string{"-fsanitize=address", "-s"}, mistakes, []run{{"the same, stripped", report[:]}}},
	}
	source := assumedFiles(t)
	levels := []string{"-O0", "-O2"}
	if testing.Short() {
		levels = levels[1:]
	}
	var table strings.Builder
	table.WriteString("\n" + filtertest.RowHead + "\n")
	for _, e := range emitters {
		all := make([]filtertest.Tally, len(e.runs))
		for _, level := range levels {
			for _, pointer := range []string{"-fno-omit-frame-pointer", "-fomit-frame-pointer"} {
				for _, pie := range [][]string{{"-pie", "-fPIE"}, {"-no-pie", "-fno-pie"}} {
					program := filepath.Join(t.TempDir(), "program")
					compiled(t, slices.Concat([]string{"-w", "-g", level, pointer, "-o", program, "testdata/" + e.source}, pie, e.flags)...)
					for i, r := range e.runs {
						for _, scene := range e.scenes {
							all[i].Add(compareProven(t, source, errorOutput(program, r.env, scene)))
						}
					}
				}
			}
		}
		for i, n := range all {
			table.WriteString(n.Row(e.runs[i].name) + "\n")
			if n.Frames == 0 || n.Right*100 < n.Frames*95 {
				t.Errorf("%s: %d of %d frames have names", e.runs[i].name, n.Right, n.Frames)
			}
		}
	}
	t.Log(table.String())
}

// compareProven compares the frames of a log that are proven with those that the files name.
func compareProven(t *testing.T, source symsrc.Source, log string) (n filtertest.Tally) {
	t.Helper()
	truth, got := framesOf(t, source, log, true), framesOf(t, source, log, false)
	if len(truth) != len(got) {
		t.Fatalf("%d frames, and %d of them: %s", len(truth), len(got), log)
	}
	for i := range got {
		if len(truth[i].Functions) == 0 && len(got[i].Functions) == 0 || strings.Contains(got[i].Text, " in _IO_stdin_used ") {
			continue // the latter is a variable, at which a walk along frame pointers has ended
		}
		n.Frames++
		switch {
		case len(got[i].Functions) == 0:
			if n.Raw++; n.Raw == 1 {
				t.Logf("stays as it is: %s: %s", got[i].Text, got[i].Reason)
			}
		case reflect.DeepEqual(truth[i].Functions, got[i].Functions):
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%s: %v, want %v", got[i].Text, got[i].Functions, truth[i].Functions)
		}
	}
	return n
}

// TestNamedElsewhere holds that a stack which the emitter has symbolized does not contradict the files that it ran with, also where these
// have no debug information by now, and that it says more of a library which was exchanged for another build: that one is refused.
func TestNamedElsewhere(t *testing.T) {
	source := `#include <execinfo.h>
#include <string.h>
void __sanitizer_print_stack_trace(void);
volatile int sink;
static inline __attribute__((always_inline)) void show(void) {
	__sanitizer_print_stack_trace();
	void *a[64]; int n = backtrace(a, 64); backtrace_symbols_fd(a, n, 2); sink++;
}
__attribute__((noinline)) void shown(void) { show(); sink++; }
static __attribute__((noinline)) int leaf(int x) { MORE(x) show(); return x + sink; }
static __attribute__((noinline)) int other(int x) { char b[64]; memset(b, x, sizeof b); shown(); return b[x & 7] + leaf(x + 1); }
int main(void) { int r = other(1); sink += r; return 0; }
`
	dir := t.TempDir()
	code, program := filepath.Join(dir, "program.c"), filepath.Join(dir, "program")
	if err := os.WriteFile(code, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
		build := func(flags ...string) {
			compiled(t, slices.Concat([]string{"-w", level, "-fsanitize=address", "-no-pie", "-fPIE", "-pie", "-o", program, code}, flags)...)
		}
		build("-g", "-DMORE(x)=")
		log := errorOutput(program, []string{"ASAN_OPTIONS=symbolize=1"})
		if strings.Count(log, "program.c:") < 4 || strings.Count(log, "program(+0x") < 4 {
			t.Skipf("not a symbolized stack and another one: %s", log)
		}
		for _, flags := range [][]string{{"-g"}, {"-s"}} {
			build(append(flags, "-DMORE(x)=")...)
			compareProven(t, assumedFiles(t), log)
			for _, fr := range framesOf(t, assumedFiles(t), log, false) {
				if strings.HasPrefix(fr.Reason, "another build") || flags[0] == "-g" && strings.Contains(fr.Text, "program(+0x") && len(fr.Functions) == 0 {
					t.Errorf("%s %s: %s: %s", level, flags, fr.Text, fr.Reason)
				}
			}
		}
		build("-g", "-DMORE(x)=sink += x * 3; if (x == 77) sink += strlen((char *)&sink);")
		for _, fr := range framesOf(t, assumedFiles(t), log, false) {
			if strings.Contains(fr.Text, "program(+0x") && len(fr.Functions) > 0 {
				t.Errorf("%s, another build: %s is %v", level, fr.Text, fr.Functions)
			}
		}
	}
}

// adjacent writes a library of functions of which some call each other in the order of stack, up to show. Function edited has some more code.
func adjacent(stack []int, functions, edited int) string {
	var b strings.Builder
	b.WriteString("#define HIDDEN __attribute__((noinline, used, visibility(\"hidden\")))\n") // so that the log does not name them
	b.WriteString("#include <stdlib.h>\n#include <string.h>\nextern void show(void); extern volatile int sink;\n")
	for i := range functions {
		fmt.Fprintf(&b, "HIDDEN int f%d(int x);\n", i)
	}
	for i := range functions {
		call := "0"
		if at := slices.Index(stack, i); at >= 0 && at+1 < len(stack) {
			call = fmt.Sprintf("f%d(x + 1)", stack[at+1])
		} else if at >= 0 {
			call = "(show(), x)"
		}
		edit := ""
		if i == edited {
			edit = fmt.Sprintf("if (x == %d) { sink ^= %d; sink += abs(sink) * 3; }", i*7+1, i)
		}
		fmt.Fprintf(&b, "HIDDEN int f%d(int x) { char b[%d]; sink += x * %d; %s memset(b, x, sizeof b); int r = %s; sink += r + b[x & 7]; return r + sink; }\n",
			i, 16+i%5*8, i+3, edit, call)
	}
	fmt.Fprintf(&b, "int enter(int x) { int r = f%d(x); sink += r; return r + 1; }\n", stack[0])
	return b.String()
}

// TestOtherBuild holds that a library is refused that was exchanged for its next or previous build: one of its functions has other code.
// Not a single frame gets a name from it.
func TestOtherBuild(t *testing.T) {
	const tries, functions = 50, 16
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) {
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	write("main.c", `#include <execinfo.h>
volatile int sink; int enter(int);
void show(void) { void *a[64]; int n = backtrace(a, 64); backtrace_symbols_fd(a, n, 2); sink++; }
int main(void) { int r = enter(1); sink += r; return 0; }
`)
	write("lib.c", adjacent([]int{0}, functions, -1))
	compiled(t, "-w", "-shared", "-fPIC", "-o", in("lib.so"), in("lib.c"))
	compiled(t, "-w", "-O1", "-rdynamic", "-o", in("main"), in("main.c"), in("lib.so"))
	refused, frames := 0, 0
	for range tries {
		stack := rng.Perm(functions)[:2+rng.IntN(6)]
		edited := rng.IntN(slices.Max(stack)) // so that it moves another function of the stack
		level := []string{"-O0", "-O1", "-O2", "-O3"}[rng.IntN(4)]
		builds := []int{-1, edited}
		rng.Shuffle(2, func(i, j int) { builds[i], builds[j] = builds[j], builds[i] })
		build := func(edited int) {
			write("lib.c", adjacent(stack, functions, edited))
			compiled(t, "-w", "-g", "-shared", "-fPIC", "-fno-toplevel-reorder", level, "-o", in("new.so"), in("lib.c"))
			if err := os.Rename(in("new.so"), in("lib.so")); err != nil {
				t.Fatal(err)
			}
		}
		build(builds[0])
		log := errorOutput(in("main"), nil)
		if n := compareProven(t, assumedFiles(t), log); n.Raw > 0 {
			t.Errorf("%d of %d frames of the build that ran have no name: %s", n.Raw, n.Frames, log)
		}
		build(builds[1])
		named := 0
		for _, fr := range framesOf(t, assumedFiles(t), log, false) {
			if strings.Contains(fr.Text, "lib.so") {
				frames++
				named += len(fr.Functions)
			}
		}
		if named == 0 {
			refused++
		} else {
			t.Errorf("f%d is other code, and %d functions are named of the stack %v, at %s", edited, named, stack, level)
		}
	}
	t.Logf("the other build was refused in %d of %d tries, of %d frames in all", refused, tries, frames)
}
