package command_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// fixedSource is a program that prints the file that its argument names, and then, unless there is another one, stacks of its own. Its variants
// differ in what an edit may change.
const fixedSource = `
#include <execinfo.h>
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
volatile int sink;
#if VARIANT == 1
NI int added(int x) { sink += x; return puts("added"); }
#endif
NI void show(void) {
  void *at[30];
  int n = backtrace(at, 30);
  for (int i = 0; i < n; i++) fprintf(stderr, "  #%d %p\n", i, at[i]);
#if VARIANT == 2
  fflush(stderr);
#endif
  sink++;
}
NI int leaf(int x) { show(); sink += x; return x + sink; }
NI int middle(int x) {
#if VARIANT == 1
  if (x > 100) added(x);
#endif
  int r = leaf(x + 1);
  sink += r;
  return r;
}
NI int other(int x) { int r = middle(x) + 2; sink += r; return r; }
int main(int n, char **args) {
  if (n > 1) {
    FILE *f = fopen(args[1], "r");
    for (int c; (c = getc(f)) != EOF;) putc(c, stderr);
    if (n > 2) return 0;
  }
  int r = middle(n) + other(n);
  sink += r;
  if (n == 1) usleep(500000); /* so that it is seen, however busy the machine is */
  return 0;
}
`

// unmoved is where Linux places a program that may be anywhere, on x86-64 without address space layout randomization: at 2/3 of the address
// space.
const unmoved = 0x555555554000

// TestFixed runs programs at fixed addresses behind --, and some that lie at the same ones each time since setarch takes the randomization away.
// Their own stacks get the names that addr2line has. Of the stacks of other programs at the same addresses, which they print, no frame gets the
// name of what they have there themselves.
func TestFixed(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "fixed.c")
	if err := os.WriteFile(source, []byte(fixedSource), 0o600); err != nil {
		t.Fatal(err)
	}
	var programs []string
	logs := map[string]string{}
	frame := regexp.MustCompile(`(?m)^  #\d+ 0x([0-9a-f]{1,8}|5555[0-9a-f]{8})( in (\w+).*)?$`)
	names := map[string]string{} // by program and address
	nameOf := func(path, address string) string {
		if names[path+address] == "" {
			at, err := strconv.ParseUint(address, 16, 64)
			if err == nil && at >= unmoved {
				at -= unmoved
			}
			out, errRun := exec.Command("addr2line", "-f", "-e", path, strconv.FormatUint(at, 16)).Output()
			if err = errors.Join(err, errRun); err != nil {
				t.Skipf("addr2line: %v", err)
			}
			names[path+address], _, _ = strings.Cut(string(out), "\n")
		}
		return names[path+address]
	}
	command := func(path string, args ...string) []string {
		if strings.HasSuffix(path, "-pie") {
			return append([]string{"setarch", "-R", path}, args...)
		}
		return append([]string{path}, args...)
	}
	forms := [][]string{{"-O1"}, {"-O2", "-static"}}
	if runtime.GOARCH == "amd64" && exec.Command("setarch", "-R", "true").Run() == nil {
		forms = append(forms, []string{"-O1", "-fPIE", "-pie"})
	}
	for _, variant := range []string{"0", "1", "2"} {
		for _, flags := range forms {
			path := filepath.Join(dir, "p"+variant+strings.Join(flags, ""))
			args := append([]string{"-w", "-g", "-no-pie", "-fno-pie", "-DVARIANT=" + variant, "-o", path, source}, flags...)
			if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
				t.Skipf("gcc: %v\n%s", err, out)
			}
			argv := command(path)
			log, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			programs, logs[path] = append(programs, path), string(log)
			if err := os.WriteFile(path+".log", log, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	run := func(path string, args ...string) [][]string {
		args = command(path, args...)
		out, err := exec.Command("qss-filter", append([]string{"--no-config", "--no-cache", "--"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
		return frame.FindAllStringSubmatch(string(out), -1)
	}
	isOf := func(path, address, name string) bool {
		want := nameOf(path, address)
		return name == want || name+"_impl" == want // an alias
	}
	for _, path := range programs {
		for _, m := range run(path) {
			if !isOf(path, m[1], m[3]) {
				t.Errorf("%s alone: %q, want %s", filepath.Base(path), m[0], nameOf(path, m[1]))
			}
		}
		for _, from := range programs {
			if strings.HasSuffix(path, "-pie") != strings.HasSuffix(from, "-pie") { // their addresses differ
				continue
			}
			n := len(frame.FindAllString(logs[from], -1))
			for i, m := range run(path, from+".log") {
				of := from
				if i >= n {
					of = path
				}
				if m[3] != "" && !isOf(of, m[1], m[3]) {
					t.Errorf("%s after the log of %s: %q, want %s", filepath.Base(path), filepath.Base(from), m[0], nameOf(of, m[1]))
				}
			}
			if filepath.Base(path) == filepath.Base(from) {
				continue
			}
			for _, m := range run(path, from+".log", "nothing else") {
				if m[3] != "" && !isOf(from, m[1], m[3]) {
					t.Errorf("%s prints the log of %s: %q, want %s", filepath.Base(path), filepath.Base(from), m[0], nameOf(from, m[1]))
				}
			}
		}
	}
}

// fixedFortran is a program that writes by way of a null pointer in a function that is called by others.
const fixedFortran = `
module places
contains
  subroutine store(a, n)
    integer, intent(in) :: n
    integer, pointer :: a(:)
    a(n) = 5
    print *, a(n)
  end subroutine
  integer function twice(n)
    integer, intent(in) :: n
    integer, pointer :: a(:)
    nullify(a)
    call store(a, n)
    twice = 2 * n
  end function
end module
program fixed
  use places
  print *, twice(command_argument_count() + 3)
end program
`

// TestFixedFortran runs a stripped program of gfortran at a fixed address behind --: its runtime prints addresses in calls, and the exact one of
// the fault. All frames of the program have the names and the lines that addr2line has for them.
func TestFixedFortran(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "fixed.f90"), filepath.Join(dir, "fixed")
	if err := os.WriteFile(source, []byte(fixedFortran), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{
		{"gfortran", "-g", "-O1", "-fno-inline", "-fbacktrace", "-no-pie", "-fno-pie", "-o", program, source},
		{"objcopy", "--only-keep-debug", program, program + ".debug"},
		{"strip", "-s", program},
	} {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s: %v\n%s", argv[0], err, out)
		}
	}
	out, _ := exec.Command("qss-filter", "--no-config", "--no-cache", "--symbols", dir, "--", program).CombinedOutput()
	frames := regexp.MustCompile(`(?m)^#\d+  0x([0-9a-f]{1,8}) in (\w+) ?(\S*)$`).FindAllStringSubmatch(string(out), -1)
	var names []string
	for _, m := range frames {
		want, err := exec.Command("addr2line", "-f", "-e", program+".debug", m[1]).Output()
		if err != nil {
			t.Skipf("addr2line: %v", err)
		}
		name, place, _ := strings.Cut(strings.TrimSpace(string(want)), "\n")
		place, _, _ = strings.Cut(place, " (discriminator")
		if name != m[2] && !(name == "fixed" && m[2] == "MAIN__") || !strings.HasPrefix(m[3]+":", strings.TrimPrefix(place, "??:?")+":") {
			t.Errorf("%q, want %s", m[0], want)
		}
		names = append(names, m[2])
	}
	if got, want := strings.Join(names, " "), "__places_MOD_store __places_MOD_twice MAIN__ main _start"; got != want {
		t.Errorf("got %s, want %s, in\n%s", got, want, out)
	}
}
