//go:build linux || darwin

package child

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLarge sends 10 MB through both pipes at once; the reader of one of them is slow to begin.
func TestLarge(t *testing.T) {
	script := `n=80000; seq -f 'out %050.0f 0123456789012345678901234567890123456789012345678901234567890123456789' $n &
		seq -f 'err %050.0f 0123456789012345678901234567890123456789012345678901234567890123456789' $n >&2; wait; exit 9`
	var want [2][]byte
	plain := exec.Command("sh", "-c", script)
	var out, errs bytes.Buffer
	plain.Stdout, plain.Stderr = &out, &errs
	if status := statusOf(t, plain.Run()); status != 9 {
		t.Skipf("the script ends with %d without us: %s", status, errs.Bytes())
	}
	want[0], want[1] = out.Bytes(), errs.Bytes()
	cmd := wrapped(t, "sh", "-c", script)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slow := make(chan []byte)
	go func() {
		time.Sleep(300 * time.Millisecond) // longer than any wait for silence
		b, _ := io.ReadAll(stderr)
		slow <- b
	}()
	got, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range [][]byte{got, <-slow} {
		if sha256.Sum256(b) != sha256.Sum256(want[i]) {
			t.Errorf("stream %d: %d bytes, want %d", i, len(b), len(want[i]))
		}
	}
	if status := statusOf(t, cmd.Wait()); status != 9 {
		t.Errorf("status %d", status)
	}
}

// TestSlowReader lets the command end long before its output is read: all of it must arrive.
func TestSlowReader(t *testing.T) {
	cmd := wrapped(t, "sh", "-c", "seq 1 12000")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(3 * grace)
	got, err := io.ReadAll(stdout)
	if err != nil {
		t.Fatal(err)
	}
	if lines := bytes.Count(got, []byte("\n")); lines != 12000 || statusOf(t, cmd.Wait()) != 0 {
		t.Errorf("%d lines", lines)
	}
}

// TestLate has the command leave processes that say something long after its end, to each of the pipes.
func TestLate(t *testing.T) {
	out, errs, status := outcome(t, wrapped(t, "sh", "-c", "(sleep 1; echo late) & (sleep 1; echo later >&2) & echo said; exit 4"))
	if out != "said\nlate\n" || errs != "later\n" || status != 4 {
		t.Errorf("got %q, %q, status %d", out, errs, status)
	}
}

// TestLeftBehind has the command leave a process that keeps the pipe: silent, or never so. A signal ends the wait for it.
func TestLeftBehind(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"silent":    {"sleep 1000 & echo $$ $! >&2; echo said", "said\n"},
		"late":      {"echo said; (echo late; exec sleep 1000) & echo $$ $! >&2", "said\nlate\n"},
		"talkative": {"echo said; (while :; do echo more; sleep 0.05; done) & echo $$ $! >&2", "said\n"},
		"flood":     {"echo said; yes & echo $$ $! >&2", "said\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := wrapped(t, "sh", "-c", c.script+"; exit 4")
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var command, left int
			if _, err := fmt.Fscan(stderr, &command, &left); err != nil {
				t.Fatal(err)
			}
			defer unix.Kill(left, unix.SIGKILL)
			head := make([]byte, len(c.want))
			if _, err := io.ReadFull(stdout, head); err != nil {
				t.Fatal(err)
			}
			rest := make(chan struct{})
			go func() {
				_, _ = io.Copy(io.Discard, stdout)
				close(rest)
			}()
			for unix.Kill(command, 0) == nil {
				runtime.Gosched()
			}
			if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
				t.Error(err)
			}
			<-rest
			if status := statusOf(t, cmd.Wait()); string(head) != c.want || status != 4 {
				t.Errorf("got %q, status %d", head, status)
			}
		})
	}
}

// TestClosedOutput closes the pipe that we write to: the command must fare as it would without us.
func TestClosedOutput(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		status int
	}{
		"killed":  {"exec yes", 128 + 13},
		"ignores": {"trap '' PIPE; while echo x 2>/dev/null; do :; done; exit 6", 6},
		"silent":  {"echo x; read line <&0; exit 7", 7},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := wrapped(t, "sh", "-c", c.script)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if _, err := io.ReadFull(r, make([]byte, 2)); err != nil {
				t.Error(err)
			}
			r.Close()
			if status := statusOf(t, cmd.Wait()); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
		})
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full: ", err)
	}
	defer full.Close()
	cmd := wrapped(t, "sh", "-c", "echo x; exit 0")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = full, &errs
	if statusOf(t, cmd.Run()) != 0 || errs.String() != "wrapper: write standard output: no space left on device\n" {
		t.Errorf("got %q", errs.String())
	}
}

// TestNothingLeft counts goroutines and descriptors over many runs in this very process.
func TestNothingLeft(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	other, err := os.OpenFile(t.TempDir()+"/errors", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	once := func(argv ...string) {
		_, _ = Run(context.Background(), Options{
			Argv: argv, New: newStream, Stdin: null, Stdout: null, Stderr: other, Maps: NewMaps(),
		})
	}
	descriptors := func() int {
		names, err := os.ReadDir("/dev/fd")
		if err != nil {
			t.Skip("no /dev/fd: ", err)
		}
		return len(names)
	}
	once("true")
	fds, routines := descriptors(), runtime.NumGoroutine()
	for range 10 {
		once("sh", "-c", "echo x; echo y >&2")
		once("no-such-command")
		once("/")
	}
	for range 6000 { // one that has done its work may still be on its way out
		if runtime.NumGoroutine() <= routines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if n := descriptors(); n > fds {
		t.Errorf("%d descriptors, %d before", n, fds)
	}
	if n := runtime.NumGoroutine(); n > routines {
		t.Errorf("%d goroutines, %d before", n, routines)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		_, _ = r.Read(make([]byte, 1))
		cancel()
	}()
	status, err := Run(ctx, Options{Argv: []string{"sh", "-c", "echo x; exec sleep 1000"}, New: newStream, Stdin: r, Stdout: w, Stderr: w})
	w.Close()
	if status != 128+9 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
}
