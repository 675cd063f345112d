package command_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// TestFoundCommands runs, as a shell reads it, each command that is advised where a failing test of C++ has no names: those of doctor, and
// those at the end of a run, after which the log is a file, a command or a pipe. The names are there then.
func TestFoundCommands(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the programs are those of Linux")
	}
	for _, tool := range []string{"g++", "gcc", "strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cart.c"), crashing)
	write(t, filepath.Join(dir, "test.cc"), "extern \"C\" int cart_last(int);\nstruct Test { static int run() { return cart_last(2); } };\nint main() { return Test::run(); }\n")
	if out, err := shell(dir, `set -e
mkdir -p "it's built/lib" run decoy
gcc -g -O0 -shared -fPIC -Wl,--build-id -Wl,-soname,libcart.so -o "it's built/lib/libcart.so" cart.c
g++ -g -O0 -Wl,--build-id -Wl,-rpath,'$ORIGIN' -o "it's built/app" test.cc "it's built/lib/libcart.so"
gcc -g -O1 -shared -fPIC -Wl,--build-id -o decoy/libcart.so cart.c # another build
cp "it's built/app" "it's built/lib/libcart.so" run
strip run/*`); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	out, err := shell(dir, `run/app >crash.log 2>&1; grep -c 'app(+0x' crash.log`)
	if err != nil {
		t.Fatalf("the log has no frames of the program: %v %s", err, out)
	}
	id, _ := shell(dir, `readelf -n run/app run/libcart.so | grep 'Build ID'`)
	var ids []string
	for _, m := range regexp.MustCompile(`Build ID: (\w+)`).FindAllStringSubmatch(id, -1) {
		ids = append(ids, m[1])
	}
	if len(ids) != 2 {
		t.Fatalf("build IDs %q", id)
	}
	// The same stack as sanitizers print it, from a machine where the files lie elsewhere.
	write(t, filepath.Join(dir, "rewrite.sh"), `sed -E -e 's|^[^ ]*app\(\+(0x[0-9a-f]+)\)\[(.*)\]|#0 \2 (/opt/shop/app+\1) (BuildId: `+ids[0]+`)|' \
 -e 's|^[^ ]*libcart.so\(\+(0x[0-9a-f]+)\)\[(.*)\]|#1 \2 (/opt/shop/libcart.so+\1) (BuildId: `+ids[1]+`)|' crash.log >'other machine.log'`)
	if out, err := shell(dir, "sh rewrite.sh"); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	found := regexp.MustCompile(`(?m)found ([^\n]*?): ((?:… \| )?qss-filter .*)$`)
	const flags = " --no-cache --debuginfod=off "
	for _, c := range []struct{ what, command, pipe, title, symbols string }{
		{"doctor of a log with build IDs", "qss-filter doctor" + flags + "'other machine.log'", "", "it's built/app, it's built/lib/libcart.so", `-s 'it'\''s built' '`},
		{"doctor of a log in a pipe", "cat 'other machine.log' | qss-filter doctor" + flags, "cat 'other machine.log' | ", "it's built/app, it's built/lib/libcart.so", ""},
		{"doctor of standard input that is a file", "qss-filter doctor" + flags + "<'other machine.log'", "", "it's built/app, it's built/lib/libcart.so", ""},
		{"doctor of a log without build IDs", "qss-filter doctor" + flags + "crash.log", "", "it's built/app", ""},
		{"doctor of a command", "qss-filter doctor" + flags + "-- run/app", "", "it's built/app", ""},
		{"the end of a log", "qss-filter --summary=always" + flags + "'other machine.log'", "", "it's built/app, it's built/lib/libcart.so", ""},
		{"the end of a command", "qss-filter --summary=always" + flags + "-- run/app", "", "it's built/app", ""},
		{"doctor of what a command writes into a pipe", "run/app 2>&1 | qss-filter doctor" + flags, "run/app 2>&1 | ", "it's built/app", ""},
		{"the end of a pipe", "cat 'other machine.log' | qss-filter --summary=always" + flags, "cat 'other machine.log' | ", "it's built/app, it's built/lib/libcart.so", ""},
		{"the end of a pipe into a file", "cat 'other machine.log' | qss-filter --summary=always" + flags + ">'out put.log'", "", "it's built/app", ""},
	} {
		out, _ := shell(dir, c.command)
		m := found.FindStringSubmatch(out)
		if m == nil || !strings.HasPrefix(m[1], c.title) && !strings.Contains(m[1], c.title) || !strings.Contains(m[2], c.symbols) || strings.Contains(out, "LOG") {
			t.Errorf("%s: want found %s: … %s …\n%s", c.what, c.title, c.symbols, out)
			continue
		}
		typed := strings.Replace(m[2], "… | ", "", 1)
		if c.pipe != "" {
			typed = c.pipe + typed
		}
		named, _ := shell(dir, typed)
		for _, name := range []string{"in Test::run() ", "test.cc:2", "in main ", "test.cc:3", "in deref ", "cart.c:8"} {
			if !strings.Contains(named, name) {
				t.Errorf("%s: %s does not show %q:\n%s", c.what, typed, name, named)
			}
		}
	}
}

// TestFoundProcess runs the command that doctor advises for addresses of a process that still runs. After its end, the ID may be that of
// another process, and no command names it.
func TestFoundProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc is Linux's")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "live.c"), `#include <stdio.h>
#include <unistd.h>
#include <execinfo.h>
int main() {
	void *b[8];
	int n = backtrace(b, 8);
	printf("*** SIGSEGV (@0x10) received by PID %d (TID 0x7f00) from PID 16; stack trace: ***\n", getpid());
	for (int i = 0; i < n; i++) printf("    @     %p (unknown)\n", b[i]);
	fflush(stdout);
	char c;
	return read(0, &c, 1) != 0;
}
`)
	if out, err := shell(dir, "gcc -g -O0 -fPIE -pie -o live live.c"); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	live := exec.Command(filepath.Join(dir, "live"))
	hold, err := live.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := live.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Start(); err != nil {
		t.Fatal(err)
	}
	log := make([]byte, 0, 4096)
	for !strings.Contains(string(log), "\n    @") || !strings.HasSuffix(string(log), "\n") {
		n, err := out.Read(log[len(log):cap(log)])
		if log = log[:len(log)+n]; err != nil {
			t.Fatalf("%v: %q", err, log)
		}
	}
	write(t, filepath.Join(dir, "the log"), string(log))
	said, _ := shell(dir, "qss-filter doctor --no-cache 'the log'")
	command := regexp.MustCompile(`qss-filter --no-cache --maps /proc/\d+/maps 'the log'`).FindString(said)
	if named, err := shell(dir, command); command == "" || err != nil || !strings.Contains(named, "in main ") || !strings.Contains(named, "live.c:6") {
		t.Errorf("%s shows %v\n%s\nafter\n%s", command, err, named, said)
	}
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	if err := live.Wait(); err != nil {
		t.Fatal(err)
	}
	if said, _ := shell(dir, "qss-filter doctor --no-cache 'the log'"); strings.Contains(said, "/proc/") || !strings.Contains(said, "coredumpctl dump ") {
		t.Errorf("after its end:\n%s", said)
	}
}
