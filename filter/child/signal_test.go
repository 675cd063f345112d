//go:build linux || darwin

package child

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestKilledBy has the command killed by each signal that ends a process.
func TestKilledBy(t *testing.T) {
	for _, s := range []syscall.Signal{
		unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGKILL,
		unix.SIGSEGV, unix.SIGPIPE, unix.SIGALRM, unix.SIGTERM,
	} {
		cmd := wrapped(t, "sh", "-c", fmt.Sprintf("ulimit -c 0; echo before; kill -%d $$", s))
		if out, errs, status := outcome(t, cmd); out != "before\n" || errs != "" || status != 128+int(s) {
			t.Errorf("%v: got %q, %q, %d", s, out, errs, status)
		}
	}
}

// asTeller makes the test binary a command that reports its signals. A shell with traps would be no such command: what
// comes in just before its read begins to wait is reported only after a line.
const asTeller = "CHILD_TEST_TELL"

// reported are the signals that it reports.
var reported = []os.Signal{
	unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2, unix.SIGCONT,
}

// reportSignals says ready, then a line for each signal and for each line that it reads.
func reportSignals() (status int) {
	signals, lines := make(chan os.Signal, 16), make(chan string)
	signal.Notify(signals, reported...)
	go func() {
		defer close(lines)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
	}()
	fmt.Println("ready")
	for {
		select {
		case s := <-signals:
			fmt.Println(unix.SignalName(s.(syscall.Signal)))
		case line, more := <-lines:
			if !more {
				return 3
			}
			fmt.Println("got", line)
		}
	}
}

// teller is that command in the wrapper.
func teller(t *testing.T) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := wrapped(t, self)
	cmd.Env = append(cmd.Env, asTeller+"=1")
	return cmd
}

// TestPassed sends each signal to the wrapper alone. The command reports each once.
func TestPassed(t *testing.T) {
	cmd := teller(t)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	next := func() string {
		lines.Scan()
		return lines.Text()
	}
	if got := next(); got != "ready" {
		t.Fatalf("got %q", got)
	}
	for _, s := range append(reported, unix.SIGINT) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if got, want := next(), unix.SignalName(s.(syscall.Signal)); got != want {
			t.Errorf("%v: got %q", s, got)
		}
		// Another one would come before the answer, or in place of the next.
		fmt.Fprintln(stdin, "answer")
		if got := next(); got != "got answer" {
			t.Errorf("after %v: got %q", s, got)
		}
	}
	stdin.Close()
	if rest, err := io.ReadAll(stdout); len(rest) > 0 || err != nil {
		t.Errorf("after all: %q, %v", rest, err)
	}
	if status := statusOf(t, cmd.Wait()); status != 3 {
		t.Errorf("status %d", status)
	}
}

// TestInherited starts the wrapper with a signal ignored, as nohup does: the command has it ignored, too.
func TestInherited(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `trap '' HUP; exec "$@"`, "sh", self, "sh", "-c", "kill -HUP $PPID; kill -HUP $$; echo alive")
	cmd.Env = append(os.Environ(), asWrapper+"=1")
	if out, errs, status := outcome(t, cmd); out != "alive\n" || errs != "" || status != 0 {
		t.Errorf("got %q, %q, %d", out, errs, status)
	}
}

// TestSanitizer runs a program that crashes, with its report on standard error.
func TestSanitizer(t *testing.T) {
	dir := t.TempDir()
	source := []byte("#include <stdlib.h>\nint main(void){char*p=malloc(4);free(p);return p[2];}\n")
	if err := os.WriteFile(dir+"/crash.c", source, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("gcc", "-g", "-fsanitize=address", "-o", dir+"/crash", dir+"/crash.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("no gcc with -fsanitize=address: %v %s", err, out)
	}
	cmd := wrapped(t, dir+"/crash")
	cmd.Env = append(cmd.Env, "ASAN_OPTIONS=symbolize=0:exitcode=23")
	out, errs, status := outcome(t, cmd)
	if out != "" || status != 23 || !strings.Contains(errs, "AddressSanitizer: heap-use-after-free") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	for line := range strings.Lines(errs) {
		if strings.Contains(line, dir+"/crash+0x") && !strings.Contains(line, "named f.c:7") {
			t.Errorf("not filtered: %s", line)
		}
	}
}

// TestMake runs a build tool, whose own exit status is the one that counts.
func TestMake(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("no make: ", err)
	}
	dir := t.TempDir()
	rules := "all: a b\na:\n\t@echo one\nb: a\n\t@echo two >&2; exit 3\n"
	if err := os.WriteFile(dir+"/Makefile", []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	var want, wantErr bytes.Buffer
	plain := exec.Command("make", "-C", dir)
	plain.Stdout, plain.Stderr = &want, &wantErr
	wantStatus := statusOf(t, plain.Run())
	out, errs, status := outcome(t, wrapped(t, "make", "-C", dir))
	if out != want.String() || errs != wantErr.String() || status != wantStatus || status == 0 {
		t.Errorf("got %q, %q, %d", out, errs, status)
	}
}
