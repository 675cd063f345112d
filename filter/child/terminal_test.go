//go:build linux || darwin

package child

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// screen is the terminal that a wrapper runs on, seen from its outside.
type screen struct {
	*os.File
	t    *testing.T
	tty  *os.File
	seen bytes.Buffer
	from int // what until has found already
}

// newScreen makes a terminal of 40 lines and 100 columns.
func newScreen(t *testing.T) *screen {
	t.Helper()
	ours, tty, err := pty.Open()
	if err != nil {
		t.Skip("no terminals: ", err)
	}
	t.Cleanup(func() {
		tty.Close()
		ours.Close()
	})
	s := &screen{File: ours, t: t, tty: tty}
	s.size(40, 100)
	return s
}

func (s *screen) size(rows, cols uint16) {
	if err := pty.Setsize(s.File, &pty.Winsize{Rows: rows, Cols: cols}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *screen) settings() unix.Termios {
	settings, err := unix.IoctlGetTermios(int(s.tty.Fd()), getTermios)
	if err != nil {
		s.t.Fatal(err)
	}
	return *settings
}

// start starts a command in a session on the terminal, in place of those of its standard files that are nil.
func (s *screen) start(cmd *exec.Cmd) {
	s.t.Helper()
	if cmd.Stdin == nil {
		cmd.Stdin = s.tty
	}
	if cmd.Stdout == nil {
		cmd.Stdout = s.tty
	}
	if cmd.Stderr == nil {
		cmd.Stderr = s.tty
	}
	file, _ := cmd.Stdin.(*os.File)
	ctty := 0
	if file != s.tty { // of what is open in the child one must be the terminal
		ctty = 1
		if file, _ := cmd.Stdout.(*os.File); file != s.tty {
			ctty = 2
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: ctty}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// until reads until that text has come, after what was waited for before.
func (s *screen) until(text string) {
	s.t.Helper()
	b := make([]byte, 4096)
	for {
		if at := bytes.Index(s.seen.Bytes()[s.from:], []byte(text)); at >= 0 {
			s.from += at + len(text)
			return
		}
		n, err := s.Read(b)
		s.seen.Write(b[:n])
		if err != nil {
			s.t.Fatalf("no %q in %q: %v", text, s.seen.String()[s.from:], err)
		}
	}
}

func (s *screen) keys(text string) {
	if _, err := s.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// run runs a command to its end and returns what the terminal shows, without carriage returns.
func (s *screen) run(cmd *exec.Cmd) (shown string, status int) {
	s.t.Helper()
	const end = "\x00end of the command\x00"
	s.start(cmd)
	done := make(chan int)
	go func() {
		status := statusOf(s.t, cmd.Wait())
		_, _ = s.tty.WriteString(end)
		done <- status
	}()
	begin := s.from
	s.until(end)
	shown = string(s.seen.Bytes()[begin : s.from-len(end)])
	return strings.ReplaceAll(shown, "\r", ""), <-done
}

func TestTerminal(t *testing.T) {
	const ask = `for f in 0 1 2; do test -t $f && printf "$f "; done; exit 5`
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	piped, writer := new(bytes.Buffer), new(bytes.Buffer)
	for _, c := range []struct {
		name   string
		script string
		in     *os.File
		out    io.Writer
		err    io.Writer
		shown  string
		piped  string
		status int
	}{
		{"all three", ask, nil, nil, nil, "0 1 2 ", "", 5},
		{"no stdin", ask, null, nil, nil, "1 2 ", "", 5},
		{"no stdout", ask, nil, piped, nil, "", "0 2 ", 5},
		{"no stderr", ask, nil, nil, writer, "0 1 ", "", 5},
		{"colors", `test -t 1 && printf '\033[31mred\033[0m\n'`, nil, nil, nil, "\x1b[31mred\x1b[0m\n", "", 0},
		{"order", "for i in 1 2 3; do echo o$i; echo e$i >&2; done", nil, nil, nil, "o1\ne1\no2\ne2\no3\ne3\n", "", 0},
		{"size", "stty size", nil, nil, nil, "40 100\n", "", 0},
		{"size without stdin", "stty size <&1", null, nil, nil, "40 100\n", "", 0},
		{"own terminal", "echo x >/dev/tty", nil, nil, nil, "x\n", "", 0},
		{"killed", "echo x; kill -TERM $$", nil, nil, nil, "x\n", "", 128 + 15},
		{"frame", "echo '" + frame + "'", nil, nil, nil, strings.Replace(frame, "0x4011d6 (", "0x4011d6 in named f.c:7 (", 1) + "\n", "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScreen(t)
			before := s.settings()
			cmd := wrapped(t, "sh", "-c", c.script)
			if c.in != nil {
				cmd.Stdin = c.in
			}
			piped.Reset()
			cmd.Stdout, cmd.Stderr = c.out, c.err
			shown, status := s.run(cmd)
			if shown != c.shown || piped.String() != c.piped || status != c.status {
				t.Errorf("got %q, %q, %d\nwant %q, %q, %d", shown, piped, status, c.shown, c.piped, c.status)
			}
			if s.settings() != before {
				t.Errorf("the terminal is left with other settings")
			}
		})
	}
}

// TestNotStarted looks at the terminal after a command that could not be run.
func TestNotStarted(t *testing.T) {
	s := newScreen(t)
	before := s.settings()
	shown, status := s.run(wrapped(t, "no-such-command"))
	if shown != "wrapper: no-such-command: command not found\n" || status != 127 || s.settings() != before {
		t.Errorf("got %q, %d", shown, status)
	}
}

// TestTerminalLarge sends more than the terminal holds.
func TestTerminalLarge(t *testing.T) {
	var want strings.Builder
	for i := range 100000 {
		fmt.Fprintln(&want, i+1)
	}
	for _, ours := range []bool{true, false} {
		cmd := wrapped(t, "seq", "100000")
		if !ours {
			null, err := os.Open(os.DevNull)
			if err != nil {
				t.Fatal(err)
			}
			defer null.Close()
			cmd.Stdin = null
		}
		if shown, status := newScreen(t).run(cmd); shown != want.String() || status != 0 {
			t.Errorf("%d bytes, want %d; status %d", len(shown), want.Len(), status)
		}
	}
}

// TestKeys types on the terminal of a command.
func TestKeys(t *testing.T) {
	for name, c := range map[string]struct {
		script, keys, want string
		status             int
	}{
		"a line":          {`echo ready; read line; echo "got $line"`, "some words\r", "got some words", 0},
		"edited":          {`echo ready; read line; echo "got $line"`, "somex\x7f words\r", "got some words", 0},
		"end of file":     {`echo ready; cat; echo over`, "last\r\x04", "over", 0},
		"Ctrl-C":          {`echo ready; exec sleep 1000`, "\x03", "^C", 128 + 2},
		"Ctrl-C caught":   {`trap 'echo caught; exit 7' INT; echo ready; while :; do sleep 0.01; done`, "\x03", "caught", 7},
		"Ctrl-\\":         {`ulimit -c 0; echo ready; exec sleep 1000`, "\x1c", "^\\", 128 + 3},
		"without an echo": {`stty -echo; echo ready; read line; stty echo; echo "got $line"`, "secret\r", "got secret", 0},
		"single keys":     {`stty raw -echo; echo ready; k=$(dd bs=1 count=1 2>/dev/null); stty sane; echo "got $k"`, "k", "got k", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			before := s.settings()
			cmd := wrapped(t, "sh", "-c", c.script)
			s.start(cmd)
			s.until("ready")
			s.keys(c.keys)
			s.until(c.want)
			if status := statusOf(t, cmd.Wait()); status != c.status {
				t.Errorf("status %d, want %d", status, c.status)
			}
			if strings.Count(s.seen.String(), "secret") > 1 {
				t.Errorf("echoed: %q", s.seen.String())
			}
			if s.settings() != before {
				t.Errorf("the terminal is left with other settings")
			}
		})
	}
}

// TestResize changes the size of the terminal, with a session of the command's own and without.
func TestResize(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for _, in := range []*os.File{nil, null} {
		s := newScreen(t)
		cmd := wrapped(t, "sh", "-c", `trap 'stty size <&1' WINCH; trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done`)
		if in != nil {
			cmd.Stdin = in
		}
		s.start(cmd)
		s.until("ready")
		s.size(20, 70)
		s.until("20 70")
		s.size(50, 120)
		s.until("50 120")
		if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if status := statusOf(t, cmd.Wait()); status != 3 {
			t.Errorf("status %d", status)
		}
	}
}

// TestTerminalLeftBehind leaves a process that holds the terminal.
func TestTerminalLeftBehind(t *testing.T) {
	s := newScreen(t)
	before := s.settings()
	file := t.TempDir() + "/pid"
	shown, status := s.run(wrapped(t, "sh", "-c", `trap '' HUP; sleep 1000 & echo $! >`+file+`; echo said; exit 4`))
	if shown != "said\n" || status != 4 || s.settings() != before {
		t.Errorf("got %q, %d", shown, status)
	}
	if err := exec.Command("sh", "-c", "kill $(cat "+file+")").Run(); err != nil {
		t.Error(err)
	}
}

// TestLineEnds holds that a line ends on the terminal as it would without us, also where the command ends its lines itself.
func TestLineEnds(t *testing.T) {
	for script, want := range map[string]string{
		`printf 'one\ntwo\n'`: "one\r\ntwo\r\n",
		`printf 'one\r\n'`:    "one\r\r\n",
	} {
		s := newScreen(t)
		s.run(wrapped(t, "sh", "-c", script))
		if got, _, _ := strings.Cut(s.seen.String(), "\x00"); got != want {
			t.Errorf("%s gives %q, want %q", script, got, want)
		}
	}
}
