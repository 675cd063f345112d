package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// crashing is code of C that prints its stack as backtrace_symbols_fd does, and ends.
const crashing = `#include <execinfo.h>
#include <signal.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C"
#endif
void handler(int s) { void *b[64]; int n = backtrace(b, 64); backtrace_symbols_fd(b, n, 2); _exit(1); }
static int deref(volatile int *p) { return *p; }
#ifdef __cplusplus
extern "C"
#endif
int cart_last(int n) { signal(SIGSEGV, handler); return deref((int *)(long)(n * 4)); }
`

// runners are the recipes of the topic on tests: a word of the recipe, what must be there, the files of a project, what builds it, and what
// the output must have.
var runners = []struct {
	word   string
	needs  []string
	files  map[string]string
	build  string
	expect string
}{
	{"ctest --test-dir", []string{"ctest", "cmake", "g++", "make"}, map[string]string{"cart.cc": crashing + "int main() { return cart_last(2); }\n",
		"CMakeLists.txt": `cmake_minimum_required(VERSION 3.16)
project(shop CXX)
set(CMAKE_CXX_FLAGS "-g -O0")
enable_testing()
add_executable(cart_test cart.cc)
add_test(NAME cart COMMAND cart_test)
`}, "cmake -S . -B build && cmake --build build", `in deref\(int volatile\*\) \S+cart.cc:8`},
	{"gtest_filter", []string{"g++"}, map[string]string{"cart.cc": "#include <gtest/gtest.h>\n" + crashing + "TEST(Cart, Last) { EXPECT_EQ(cart_last(2), 2); }\n"},
		"mkdir build && g++ -g -O0 -o build/cart_test cart.cc -lgtest -lgtest_main -lpthread", `in Cart_Last_Test::TestBody\(\) \S+cart.cc:14`},
	{"pytest", []string{"gcc", "pytest"}, map[string]string{"cart.c": crashing,
		"test_cart.py": "import ctypes\n\ndef test_last():\n    assert ctypes.CDLL('build/libcart.so').cart_last(2) == 2\n"},
		"mkdir build && gcc -g -O0 -shared -fPIC -o build/libcart.so cart.c", `in cart_last \S+cart.c:12`},
	{"cargo test", []string{"cargo", "rustc"}, rustShop, ":", `in <?shop::Cart>?::last(::h[0-9a-f]{16})? \S+lib.rs:4`},
	{"go test -buildmode", []string{"go", "gcc"}, map[string]string{"go.mod": "module shop\n", "cart.go": `package shop

/*
#cgo CFLAGS: -g -O0
static int deref(int *p) { return *p; }
static int cart_last(int n) { return deref((int *)(long)(n * 4)); }
*/
import "C"

func Last(n int) int { return int(C.cart_last(C.int(n))) }
`, "cart_test.go": "package shop\n\nimport \"testing\"\n\nfunc TestLast(t *testing.T) { Last(2) }\n"}, "mkdir build", `PC=0x[0-9a-f]+ in deref \S+cart.go:5`},
	{"bazel", []string{"bazel", "g++"}, map[string]string{"cart.cc": crashing + "int main() { return cart_last(2); }\n", "WORKSPACE": "",
		"BUILD": "cc_test(name = \"cart_test\", srcs = [\"cart.cc\"])\n"}, "bazel build //...", `in cart_last \S+cart.cc:12`},
	{"nextest", []string{"cargo-nextest", "rustc"}, rustShop, ":", `in <?shop::Cart>?::last(::h[0-9a-f]{16})? \S+lib.rs:4`},
}

// rustShop is a crate with a test that crashes.
var rustShop = map[string]string{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "src/lib.rs": `pub struct Cart { pub n: usize }
impl Cart {
    #[inline(never)]
    pub fn last(&self) -> u8 { unsafe { std::ptr::read_volatile(self.n as *const u8) } }
}
extern "C" {
    fn backtrace(b: *mut *mut u8, n: i32) -> i32;
    fn backtrace_symbols_fd(b: *const *mut u8, n: i32, fd: i32);
    fn signal(n: i32, h: extern "C" fn(i32));
    fn _exit(n: i32) -> !;
}
pub extern "C" fn handler(_: i32) {
    unsafe {
        let mut b = [std::ptr::null_mut(); 64];
        let n = backtrace(b.as_mut_ptr(), 64);
        backtrace_symbols_fd(b.as_ptr(), n, 2);
        _exit(1)
    }
}
#[cfg(test)]
mod tests {
    #[test]
    fn last() {
        unsafe { super::signal(11, super::handler) };
        assert_eq!(super::Cart { n: 8 }.last(), 2);
    }
}
`}

// recipe returns the command of the topic on tests that has a word, with the variables that are exported in the line before.
func recipe(t *testing.T, word string) string {
	t.Helper()
	commands, _ := pageCommands(t, "filter/command/topics/ci.md")
	for i, c := range commands {
		if !strings.Contains(c.text, word) {
			continue
		}
		if i > 0 && strings.HasPrefix(commands[i-1].text, "export ") {
			return commands[i-1].text + "\n" + c.text
		}
		return c.text
	}
	t.Fatalf("the topic has no command with %q", word)
	return ""
}

// TestRunners runs the topic's recipes in projects whose test crashes: the functions have names, and the runner's status is kept.
func TestRunners(t *testing.T) {
	if testing.Short() {
		t.Skip("builds projects")
	}
	if runtime.GOOS != "linux" {
		t.Skip("the programs are those of Linux")
	}
	for _, r := range runners {
		t.Run(r.word, func(t *testing.T) {
			command := recipe(t, r.word)
			for _, tool := range r.needs {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed: its recipe is not run", tool)
				}
			}
			dir := t.TempDir()
			for name, text := range r.files {
				write(t, filepath.Join(dir, name), text)
			}
			if out, err := shell(dir, r.build); err != nil {
				t.Skipf("%s: %v\n%s", r.build, err, out)
			}
			out, err := shell(dir, command)
			if !regexp.MustCompile(r.expect).MatchString(out) || err == nil {
				t.Errorf("%s: %v, want a status of a failure, and %s in\n%s", command, err, r.expect, out)
			}
		})
	}
}

// write puts a file into a directory that may have to be made.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell runs a command line in a directory, without the network, and returns all that it prints.
func shell(dir, text string, env ...string) (string, error) {
	cmd := exec.Command("bash", "-c", text)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), append([]string{"DEBUGINFOD_URLS=", "GOFLAGS=-mod=mod", "GOPROXY=off", "CARGO_NET_OFFLINE=true"}, env...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestRunUnder runs a test as Bazel does where there is no Bazel: with the words of --run_under before it, in a directory of links and
// nearly without an environment. nextest asks each program for its tests first, through the same runner, and reads what it prints.
func TestRunUnder(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are those of Linux")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	under := regexp.MustCompile(`--run_under='([^']+)'`).FindStringSubmatch(recipe(t, "bazel"))
	runner := regexp.MustCompile(`RUNNER='([^']+)'`).FindStringSubmatch(recipe(t, "nextest"))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cart.c"), crashing+"#include <stdio.h>\nint main(int n, char **v) { return n > 1 ? puts(\"tests::last: test\") < 0 : cart_last(2); }\n")
	if out, err := shell(dir, "mkdir bin runfiles && gcc -g -O0 -o bin/cart_test cart.c && ln -s ../bin/cart_test runfiles/cart_test"); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	out, err := shell(filepath.Join(dir, "runfiles"), `exec env -i PATH="$PATH" TEST_TMPDIR=/nowhere QSS_FILTER_CONFIG= CI=1 `+under[1]+" ./cart_test")
	if exit, ok := err.(*exec.ExitError); !ok || exit.ExitCode() != 1 || !regexp.MustCompile(`in cart_last \S+cart.c:12`).MatchString(out) || strings.Contains(out, "qss-filter:") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := shell(dir, runner[1]+" bin/cart_test --list --format terse"); err != nil || out != "tests::last: test\n" {
		t.Errorf("the list of tests is %q, %v", out, err)
	}
}

// TestSuppressions runs programs with leaks, overflows and races, which suppressions name by function: they match if the filter, under the
// name of llvm-symbolizer, is the only symbolizer, and do not without any.
func TestSuppressions(t *testing.T) {
	names, err := standIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ kind, suppressions, variables, source string }{
		{"address,undefined", "leak:Pool::keep\n", "LSAN_OPTIONS=suppressions=supp UBSAN_OPTIONS=halt_on_error=1:suppressions=overflows%s ASAN_OPTIONS=detect_leaks=1%s", `#include <stdlib.h>
#include <string.h>
struct Pool { __attribute__((noinline)) static void *keep() { void *p = malloc(33); memset(p, 1, 33); return p; } };
void *volatile p;
__attribute__((noinline)) static int overflow(int n) { return n + 2147483647; }
int main(int argc, char **) { p = Pool::keep(); p = nullptr; return overflow(argc) == 5; }`},
		{"thread", "race:bump\n", "TSAN_OPTIONS=suppressions=supp%s", `#include <pthread.h>
int counter;
__attribute__((noinline)) void *bump(void *) { for (int i = 0; i < 1000; i++) ((volatile int &)counter)++; return 0; }
int main() { pthread_t a, b; pthread_create(&a, 0, bump, 0); pthread_create(&b, 0, bump, 0); pthread_join(a, 0); pthread_join(b, 0); }`},
	} {
		t.Run(c.kind, func(t *testing.T) {
			path := caller(t, c.source, "clang++-22", "-g", "-O1", "-fsanitize="+c.kind)
			dir := filepath.Dir(path)
			write(t, filepath.Join(dir, "supp"), c.suppressions)
			write(t, filepath.Join(dir, "overflows"), "signed-integer-overflow:overflow\n")
			run := func(symbolizer string) (string, error) {
				return shell(dir, "exec env "+strings.ReplaceAll(c.variables, "%s", ":external_symbolizer_path="+symbolizer)+" ./program", "XDG_CACHE_HOME="+t.TempDir(), "CI=1")
			}
			if out, err := run(""); err == nil {
				t.Skipf("nothing is reported, or names are known without a symbolizer:\n%s", out)
			}
			if out, err := run(filepath.Join(names, "llvm-symbolizer")); err != nil || strings.Contains(out, "SUMMARY") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
