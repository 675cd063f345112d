package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// heldSource is a program that says with FIFOs that it runs, waits to be told, and prints its stack in a way that is its argument.
const heldSource = `
#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NI __attribute__((noinline))
extern char __executable_start;
volatile int sink;
NI void show(char **args) {
  void *at[30];
  int n = backtrace(at, 30);
  if (!strcmp(args[1], "glibc")) backtrace_symbols_fd(at, n, 2);
  else for (int i = 0; i < 3; i++)
    if (!strcmp(args[1], "address")) dprintf(2, "  #%d %p\n", i, at[i]);
    else if (!strcmp(args[1], "name")) dprintf(2, "    #%d <null> <null> (%s+0x%lx)\n", i, strrchr(args[0], '/') + 1, (unsigned long)((char *)at[i] - &__executable_start));
    else dprintf(2, "    #%d %p (%s+0x%lx)\n", i, !strcmp(args[1], "both") ? at[i] : (void *)1, args[0], (unsigned long)((char *)at[i] - &__executable_start));
  sink++;
}
NI int NAMED_leaf(char **args) { show(args); return sink++; }
NI int NAMED_middle(char **args) { int n = NAMED_leaf(args); sink += n; return n; }
int main(int argc, char **args) {
  char c;
  close(open("runs", O_WRONLY));
  read(open("go", O_RDONLY), &c, 1);
  NAMED_middle(args);
  close(open("printed", O_WRONLY));
  read(open("end", O_RDONLY), &c, 1);
  return 0;
}
`

// TestHeld deletes and replaces a program while it runs, and has it print its stack then, in which some of its functions have the names that it has, and
// none has a name of what lies at its path. Only a program that is named by a link that is gone, and by nothing else, has no names.
func TestHeld(t *testing.T) {
	for _, c := range []struct {
		name, as, change string
		named            bool // also by its path, or the name of the file, alone
	}{
		{"nothing", "$PWD/x", "true", true},
		{"deleted", "$PWD/x", "rm x", true},
		{"replaced", "$PWD/x", "mv other x", true},
		{"by a link", "./link", "rm link", false},
	} {
		for _, way := range []string{"glibc", "address", "both", "path", "name"} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				for file, prefix := range map[string]string{"x": "right", "other": "wrong"} {
					source := filepath.Join(dir, prefix+".c")
					if err := os.WriteFile(source, []byte(strings.ReplaceAll(heldSource, "NAMED", prefix)), 0o600); err != nil {
						t.Fatal(err)
					}
					if out, err := exec.Command("gcc", "-w", "-g", "-O1", "-fPIE", "-pie", "-Wl,--build-id", "-o", filepath.Join(dir, file), source).CombinedOutput(); err != nil {
						t.Skipf("gcc: %v\n%s", err, out)
					}
				}
				// What it prints before the change is looked at, as any output is.
				script := `cd ` + dir + `; mkfifo runs go printed end; ln -s x link; ` + c.as + ` ` + way + ` & read x <runs; ` + c.change + `; echo changed; sleep 0.5
echo >go; read x <printed; sleep 0.5; echo >end; wait`
				cmd := exec.Command("qss-filter", "--color=never", "--no-config", "--no-cache", "--", "sh", "-c", script)
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if strings.Contains(string(out), "wrong") {
					t.Errorf("names of another program:\n%s", out)
				}
				want := c.named || way != "path" && way != "name"
				if got := regexp.MustCompile(`in right_leaf .*right\.c:21`).Match(out) && regexp.MustCompile(`in right_middle .*right\.c:22`).Match(out); got != want {
					t.Errorf("named %t, want %t:\n%s", got, want, out)
				}
			})
		}
	}
}

// TestNameOfTwo has a program print a frame that counts from a function whose name another one has, too: the address says which of them it is.
func TestNameOfTwo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.c": `
volatile int sink;
void twice(void);
__attribute__((noinline)) static void other(void) { sink++; }
int main(void) { other(); twice(); return 0; }
`, "b.c": `
extern volatile int sink;
__attribute__((noinline)) static void twice(void) { sink++; }
void another(void) { twice(); }
`, "c.c": `
#include <execinfo.h>
extern volatile int sink;
void another(void);
__attribute__((noinline)) void twice(void) { void *at[9]; another(); backtrace_symbols_fd(at, backtrace(at, 9), 2); sink++; }
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("gcc", "-g", "-O1", "-fPIE", "-pie", "-rdynamic", "-Wl,--build-id", "-o", "x", "a.c", "b.c", "c.c")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	out, err := exec.Command("qss-filter", "--color=never", "--no-config", "--no-cache", "--", filepath.Join(dir, "x")).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !regexp.MustCompile(`twice\+0x.* in twice .*c\.c:5`).Match(out) {
		t.Errorf("no name in\n%s", out)
	}
}
