package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWays runs programs that are traced themselves, or trace others, in each way of knowing their mappings.
func TestWays(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "leak.c"), []byte(`
#include <stdlib.h>
void *volatile kept;
int main(void)
{
	kept = malloc(123);
	kept = 0;
	return 0;
}
`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"gcc", "-fsanitize=leak", "-o", "leak"}, {"clang", "-fsanitize=address", "-o", "address"}} {
		build := exec.Command(args[0], append(args[1:], "leak.c")...)
		build.Dir = dir
		_ = build.Run() // without it the program is missing
	}
	for _, way := range []string{"", "traced", "looks"} {
		for _, c := range []struct {
			name, needs string
			argv        []string
			want        string
			status      int
		}{
			{"nothing traces", "grep", []string{"grep", "TracerPid", "/proc/self/status"}, "TracerPid:\t0\n", 0},
			{"a debugger", "gdb", []string{"gdb", "-q", "-batch", "-ex", "run", "-ex", "print $_exitcode", "--args", "sh", "-c", "exit 7"}, "$1 = 7\n", 0},
			{"a tracer", "strace", []string{"strace", "-f", "-o", "/dev/stdout", "-e", "trace=exit_group", "sh", "-c", "sh -c 'exit 3'; exit 4"}, "exit_group(3)", 4},
			{"LeakSanitizer", filepath.Join(dir, "leak"), []string{filepath.Join(dir, "leak")}, "123 byte(s)", 23},
			{"AddressSanitizer", filepath.Join(dir, "address"), []string{filepath.Join(dir, "address")}, "123 byte(s)", 1},
			{"a signal at once", "sh", []string{"sh", "-c", "kill -USR1 $$"}, "", 128 + 10},
			{"another program at once", "env", []string{"env", "env", "sh", "-c", "echo done; exit 5"}, "done\n", 5},
			{"no program", "sh", []string{"sh", "-c", "exec ./none"}, "none", 127},
		} {
			t.Run(c.name+" "+way, func(t *testing.T) {
				if _, err := exec.LookPath(c.needs); err != nil {
					t.Skipf("%s is not installed", c.needs)
				}
				cmd := wrapped(t, c.argv...)
				cmd.Dir, cmd.Env = dir, append(cmd.Env, asWay+"="+way)
				out, errs, status := outcome(t, cmd)
				if c.needs != "sh" && c.needs != "env" && status != c.status {
					plain := exec.Command(c.argv[0], c.argv[1:]...)
					plain.Dir = dir
					if _, _, without := outcome(t, plain); without == status {
						t.Skipf("it does not run here: %s%s", out, errs)
					}
				}
				if !strings.Contains(out+errs, c.want) || status != c.status {
					t.Errorf("status %d, want %d; no %q in\n%s%s", status, c.status, c.want, out, errs)
				}
			})
		}
	}
}
