//go:build linux || darwin

package child

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLinger leaves a daemon with the output, on pipes and on a terminal that the command does not lead: the wrapper ends all the
// same, with the command's status, and names the daemon once.
func TestLinger(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		tty    bool
	}{
		// The daemon is a shell that waits for a writer of a FIFO, so that its name does not change.
		"stdout":   {`(read line <"$0") 2>&- & echo $! >"$0.pid"; echo said; echo said >&2; exit 4`, false},
		"stderr":   {`(read line <"$0") >&- & echo $! >"$0.pid"; echo said; echo said >&2; exit 4`, false},
		"both":     {`(read line <"$0") & echo $! >"$0.pid"; echo said; echo said >&2; exit 4`, false},
		"deeper":   {`(trap "" HUP; (read line <"$0") & echo $! >"$0.pid"); echo said; echo said >&2; exit 4`, false},
		"terminal": {`(read line <"$0") & echo $! >"$0.pid"; echo said; exit 4`, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "fifo")
			if err := unix.Mkfifo(file, 0o600); err != nil {
				t.Skip("no fifo: ", err)
			}
			cmd := wrapped(t, "sh", "-c", c.script, file)
			cmd.Env = append(cmd.Env, asLinger+"=10ms")
			var out, errs string
			var status int
			if c.tty {
				null, err := os.Open(os.DevNull)
				if err != nil {
					t.Fatal(err)
				}
				defer null.Close()
				cmd.Stdin = null
				out, status = newScreen(t).run(cmd)
				out, errs, _ = strings.Cut(out, "\n")
				out, errs = out+"\n", "said\n"+errs
			} else {
				out, errs, status = outcome(t, cmd)
			}
			text, err := os.ReadFile(file + ".pid")
			if err != nil {
				t.Fatal(err)
			}
			var pid int
			if _, err := fmt.Sscan(string(text), &pid); err != nil {
				t.Fatal(err)
			}
			defer unix.Kill(pid, unix.SIGKILL)
			want := fmt.Sprintf("wrapper: left sh (PID %d) false\n", pid)
			if runtime.GOOS != "linux" {
				want = "wrapper: left  false\n"
			}
			if out != "said\n" || errs != "said\n"+want || status != 4 {
				t.Errorf("got %q, %q, status %d; want %q", out, errs, status, want)
			}
			if unix.Kill(pid, 0) != nil {
				t.Errorf("what was left behind is gone")
			}
		})
	}
}

// TestLingerShows holds that what a process writes that was left behind is shown as it comes, and that its end is that of the
// wrapper, however long that would linger.
func TestLingerShows(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Skip("no fifo: ", err)
	}
	cmd := wrapped(t, "sh", "-c", `(while read line; do echo "$line"; done) <"$0" & echo $$; exit 4`, fifo)
	cmd.Env = append(cmd.Env, asLinger+"=1h")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	keys, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	var command int
	if _, err := fmt.Fscanln(lines, &command); err != nil {
		t.Fatal(err)
	}
	for unix.Kill(command, 0) == nil {
		runtime.Gosched()
	}
	for i := range 3 {
		fmt.Fprintln(keys, frame, i)
		got, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(got, "named f.c:7") {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	keys.Close()
	rest, err := io.ReadAll(lines)
	if status := statusOf(t, cmd.Wait()); len(rest) > 0 || err != nil || status != 4 {
		t.Errorf("then %q, %v, status %d", rest, err, status)
	}
	if strings.Contains(errs.String(), "false") {
		t.Errorf("it is said that nothing is waited for: %q", errs.String())
	}
}

// TestRemaining holds from when on the silence counts.
func TestRemaining(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		linger, now, begin time.Duration
		waits              []time.Duration
		want               time.Duration
	}{
		{2 * s, 10 * s, 10 * s, []time.Duration{5 * s}, 2 * s},          // silent before the command's end
		{2 * s, 11 * s, 10 * s, []time.Duration{5 * s}, s},              // since that
		{2 * s, 20 * s, 10 * s, []time.Duration{19 * s}, s},             // it has written since
		{2 * s, 20 * s, 10 * s, []time.Duration{5 * s, 19 * s}, s},      // one of two has
		{2 * s, 20 * s, 10 * s, []time.Duration{5 * s, 0}, 2 * s},       // is being passed on
		{2 * s, 20 * s, 10 * s, []time.Duration{ended, 12 * s}, -6 * s}, // one is at its end
		{2 * s, 20 * s, 10 * s, []time.Duration{ended, 21 * s}, 2 * s},  // it was quicker than we
		{0, 10 * s, 10 * s, []time.Duration{5 * s}, 0},                  // no wait at all
		{time.Duration(Forever), 20 * s, 10 * s, nil, math.MaxInt64 - 10*s},
		{time.Duration(Forever), 20 * s, 10 * s, []time.Duration{21 * s}, math.MaxInt64},
	} {
		if got := remaining(c.linger, c.now, c.begin, c.waits); got != c.want {
			t.Errorf("%v at %v since %v, %v: %v, want %v", c.linger, c.now, c.begin, c.waits, got, c.want)
		}
	}
}

// TestNamed holds what one line names of many processes.
func TestNamed(t *testing.T) {
	var all []holder
	for i := range 7 {
		all = append(all, holder{7 - i, "p"})
	}
	if got := named(all); got != "p (PID 1), p (PID 2), p (PID 3), p (PID 4), p (PID 5), 2 more" || named(nil) != "" {
		t.Error(got)
	}
}
