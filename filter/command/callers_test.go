package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// standIn builds the program once, and returns the directory with its links.
var standIn = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "qss-callers"); err != nil {
		return "", err
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "qss-filter"), ".").CombinedOutput(); err != nil {
		return "", &buildError{string(out)}
	}
	for _, name := range []string{"llvm-symbolizer", "llvm-addr2line", "addr2line", "atos"} {
		if err := os.Symlink("qss-filter", filepath.Join(dir, name)); err != nil {
			return "", err
		}
	}
	return dir, nil
})

// buildError has what the compiler says.
type buildError struct{ out string }

func (e *buildError) Error() string { return e.out }

// peerTools is a directory with the tools in whose place the program stands, under the same names.
func peerTools(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, real := range map[string]string{"llvm-symbolizer": "llvm-symbolizer-22", "llvm-addr2line": "llvm-addr2line-22", "addr2line": "/usr/bin/addr2line"} {
		path, err := exec.LookPath(real)
		if err != nil {
			t.Skipf("%s is not installed", real)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// caller compiles a program and returns its path.
func caller(t *testing.T, source string, command ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("these callers are those of Linux")
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		t.Skipf("%s is not installed", command[0])
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	name := filepath.Join(dir, "source.cc")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(command[0], append(slices.Clone(command[1:]), "-o", path, name, "-lpthread")...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return path
}

// report runs a command and returns all that it prints. Its status does not matter.
func report(env []string, command ...string) string {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run() // reports end with a status other than 0
	return out.String()
}

var (
	stackLine = regexp.MustCompile(`(?m)^ +#\d+ .*$`)
	address   = regexp.MustCompile(`0x[0-9a-f]+`)
)

// stacks returns the lines of stacks in a report, without their addresses, and without those of the C library: the program names more of
// these, by the separate debug file.
func stacks(report string) []string {
	lines := stackLine.FindAllString(address.ReplaceAllString(report, "X"), -1)
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "libc") || strings.Contains(line, "__restore_rt")
	})
}

// compareStacks runs a program under each of the two tools and compares the stacks of its reports. The tool's path is put in place of @.
func compareStacks(t *testing.T, tool, path, named string, env ...string) {
	t.Helper()
	ours, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	with := func(dir string) []string {
		var list []string
		for _, e := range env {
			list = append(list, strings.ReplaceAll(e, "@", filepath.Join(dir, tool)))
		}
		return append(list, "DEBUGINFOD_URLS=", "XDG_CACHE_HOME="+t.TempDir(), "CI=1")
	}
	var got, want []string
	for range 5 { // a sanitizer of threads does not always find the same stacks
		got, want = stacks(report(with(ours), path)), stacks(report(with(peerTools(t)), path))
		if len(want) > 0 && slices.Equal(got, want) {
			break
		}
	}
	if !slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, named) }) {
		t.Skipf("the report does not name %s with %s either: %q", named, tool, want)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCallersSanitizers compares the reports of clang's sanitizers, by both ways to name a symbolizer.
func TestCallersSanitizers(t *testing.T) {
	for _, s := range []struct{ kind, options, path, named, source string }{
		{"address", "ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "read_after", `#include <stdlib.h>
static inline int get(int *p, int n) { return p[n]; }
__attribute__((noinline)) static int read_after(int *p, int n) { return get(p, n) + 1; }
int main(int argc, char **argv) { int *p = (int *)malloc(40); free(p); return read_after(p, argc) + 2; }`},
		{"address", "ASAN_OPTIONS", "ASAN_SYMBOLIZER_PATH", "at(", `int values[4]; int at(int i) { return values[i] + 1; } int main(int c, char **v) { return at(c + 6) + 1; }`},
		{"thread", "TSAN_OPTIONS", "TSAN_SYMBOLIZER_PATH", "writer", `#include <pthread.h>
int shared, written; // the thread writes last in every run, without being synchronized
void *writer(void *x) { while (!__atomic_load_n(&written, __ATOMIC_RELAXED)); shared++; return x; }
int main() { pthread_t t; pthread_create(&t, 0, writer, 0); shared++; __atomic_store_n(&written, 1, __ATOMIC_RELAXED); pthread_join(t, 0); return 0; }`},
		{"memory", "MSAN_OPTIONS", "MSAN_SYMBOLIZER_PATH", "decide", `#include <stdlib.h>
__attribute__((noinline)) int decide(int *p) { if (*p) return 1; return 0; }
int main() { int *p = (int *)malloc(4); return decide(p) + 1; }`},
		{"undefined", "UBSAN_OPTIONS", "UBSAN_SYMBOLIZER_PATH", "shift", `__attribute__((noinline)) int shift(int n) { return 1 << n; }
int main(int argc, char **argv) { return shift(argc + 40) & 1; }`},
		{"leak", "LSAN_OPTIONS", "LSAN_SYMBOLIZER_PATH", "lose", `#include <stdlib.h>
__attribute__((noinline)) void lose() { volatile char *volatile p = (char *)malloc(33); p = 0; }
int main() { lose(); return 0; }`},
		{"hwaddress", "HWASAN_OPTIONS", "HWASAN_SYMBOLIZER_PATH", "read_after", afterFree},
	} {
		t.Run(s.kind, func(t *testing.T) {
			flags := []string{"clang++-22", "-g", "-O1", "-fno-omit-frame-pointer", "-fsanitize=" + s.kind}
			if s.kind == "hwaddress" && runtime.GOARCH == "amd64" { // whose processors ignore no tags
				flags = append(flags, "-fsanitize-hwaddress-experimental-aliasing")
			}
			path := caller(t, s.source, flags...)
			compareStacks(t, "llvm-symbolizer", path, s.named, s.options+"=print_stacktrace=1:external_symbolizer_path=@")
			compareStacks(t, "llvm-symbolizer", path, s.named, s.options+"=print_stacktrace=1", s.path+"=@")
		})
	}
}

// afterFree reads memory after it was freed.
const afterFree = `#include <stdlib.h>
__attribute__((noinline)) static int read_after(int *p, int n) { return p[n] + 1; }
int main(int argc, char **argv) { int *p = (int *)malloc(40); free(p); return read_after(p, argc) + 1; }`

// TestCallersGCC holds that gcc's sanitizers, which name frames by libbacktrace, report the same whatever symbolizer they are told to use.
// Where they are built without that library, they start it.
func TestCallersGCC(t *testing.T) {
	for kind, variable := range map[string]string{"address": "ASAN_OPTIONS", "leak": "LSAN_OPTIONS", "thread": "TSAN_OPTIONS"} {
		t.Run(kind, func(t *testing.T) {
			path := caller(t, map[string]string{"address": afterFree, "leak": `#include <stdlib.h>
__attribute__((noinline)) void read_after() { volatile char *volatile p = (char *)malloc(33); p = 0; }
int main() { read_after(); return 0; }`, "thread": afterFree}[kind], "g++", "-g", "-O0", "-fsanitize="+kind)
			compareStacks(t, "addr2line", path, "read_after", variable+"=external_symbolizer_path=@")
		})
	}
}

// TestCallersAddr2line compares the reports of a sanitizer that uses addr2line.
func TestCallersAddr2line(t *testing.T) {
	path := caller(t, afterFree, "clang++-22", "-g", "-O0", "-fsanitize=address")
	compareStacks(t, "addr2line", path, "read_after", "ASAN_OPTIONS=external_symbolizer_path=@")
}

// TestCallersCrash compares what LLVM's own crash handler prints.
func TestCallersCrash(t *testing.T) {
	const clang = "/usr/lib/llvm-22/bin/clang"
	if _, err := os.Stat(clang); err != nil {
		t.Skip("clang-22 is not installed")
	}
	ours, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(t.TempDir(), "a.c")
	if err := os.WriteFile(source, []byte("#pragma clang __debug crash\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	crash := func(dir string) []string {
		return stacks(report([]string{"LLVM_SYMBOLIZER_PATH=" + filepath.Join(dir, "llvm-symbolizer"), "DEBUGINFOD_URLS=", "XDG_CACHE_HOME=" + t.TempDir(), "CI=1"},
			clang, "-cc1", "-fsyntax-only", source))
	}
	got, want := crash(ours), crash(peerTools(t))
	if len(want) == 0 {
		t.Skip("clang prints no stack")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const busy = `#include <cstdio>
#include <cstdlib>
__attribute__((noinline)) int innermost(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }
__attribute__((noinline)) int middle(int n) { return innermost(n) + 1; }
int main() { long s = 0; for (int i = 0; i < 3000; i++) s += middle(40000); printf("%ld\n", s); return 0; }
`

// compareTool runs a command with both directories of tools first in PATH and compares the lines of the output that are of this program.
func compareTool(t *testing.T, mine *regexp.Regexp, command func(dir string) []string) {
	t.Helper()
	ours, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir string) []string {
		env := []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DEBUGINFOD_URLS=", "XDG_CACHE_HOME=" + t.TempDir(), "CI=1"}
		return mine.FindAllString(report(env, command(dir)...), -1)
	}
	got, want := run(ours), run(peerTools(t))
	if len(want) == 0 {
		t.Skip("the output does not name the program's functions with the real tool either")
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestCallersPerf compares what perf prints of a recording, with the tool found by PATH.
func TestCallersPerf(t *testing.T) {
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("perf is not installed")
	}
	path := caller(t, busy, "g++", "-g", "-O1", "-fno-omit-frame-pointer")
	data := filepath.Join(t.TempDir(), "perf.data")
	if out, err := exec.Command("perf", "record", "-q", "-F", "500", "-e", "cpu-clock", "--call-graph", "fp", "-o", data, path).CombinedOutput(); err != nil {
		t.Skipf("perf does not record here: %v: %s", err, out)
	}
	mine := regexp.MustCompile(`(?m)^.* (innermost|middle|main)\n.*$`)
	t.Run("script", func(t *testing.T) {
		compareTool(t, mine, func(string) []string { return []string{"perf", "script", "-i", data, "-F", "ip,sym,srcline"} })
	})
	t.Run("report", func(t *testing.T) {
		compareTool(t, regexp.MustCompile(`(?m)^.*source\.cc:.*$`), func(string) []string {
			return []string{"perf", "report", "-i", data, "--stdio", "--no-children", "-g", "none", "-s", "sym,srcline"}
		})
	})
}

// cpuProfile returns a program and a profile of it.
func cpuProfile(t *testing.T) (path, profile string) {
	t.Helper()
	library := "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
	if _, err := os.Stat(library); err != nil {
		t.Skip("libgoogle-perftools4 is not installed")
	}
	path = caller(t, busy, "g++", "-g", "-O1", "-fno-omit-frame-pointer")
	profile = filepath.Join(t.TempDir(), "cpu.prof")
	report([]string{"LD_PRELOAD=" + library, "CPUPROFILE=" + profile}, path)
	if st, err := os.Stat(profile); err != nil || st.Size() == 0 {
		t.Skip("there is no profile")
	}
	return path, profile
}

// TestCallersPprof compares what gperftools' pprof and Go's print of a CPU profile.
func TestCallersPprof(t *testing.T) {
	path, profile := cpuProfile(t)
	mine := regexp.MustCompile(`(?m)^.*(innermost|middle|main).*$`)
	t.Run("gperftools", func(t *testing.T) {
		if _, err := exec.LookPath("google-pprof"); err != nil {
			t.Skip("google-perftools is not installed")
		}
		compareTool(t, mine, func(dir string) []string {
			tools := "addr2line:" + filepath.Join(dir, "addr2line")
			for _, name := range []string{"nm", "objdump", "c++filt"} { // it takes all of them from the same list
				tool, _ := exec.LookPath(name)
				tools += "," + name + ":" + tool
			}
			return []string{"google-pprof", "--tools=" + tools, "--text", "--lines", path, profile}
		})
	})
	t.Run("go", func(t *testing.T) {
		built, err := exec.Command("go", "env", "GOCACHE").Output()
		if err != nil {
			t.Skip("go is not installed")
		}
		compareTool(t, mine, func(dir string) []string {
			return []string{"env", "GOCACHE=" + strings.TrimSpace(string(built)), "go", "tool", "pprof", "-symbolize=local", "-tools=" + dir, "-lines", "-text", path, profile}
		})
	})
}
