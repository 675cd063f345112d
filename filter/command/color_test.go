package command_test

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/creack/pty"

	"qss-filter/sgr"
)

// TestMessagesInColor holds that the program's own messages are colored on a terminal, and that a pipe gets the same text without.
func TestMessagesInColor(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no terminal")
	}
	for _, c := range []struct {
		args string
		env  string
	}{
		{"none", ""}, {"--bogus", ""}, {"--help", ""}, {"doctor none", ""}, {"--color=always none", ""},
		{"doctor testdata/logs/asan-clang22-segv.log", ""},
		{"none", "NO_COLOR=1"}, {"none", "TERM=dumb"}, {"--color=never none", ""}, {"--color=never --bogus", ""}, {"--color=never --help", ""},
	} {
		run := func(terminal bool) string {
			cmd := exec.Command("qss-filter", strings.Fields(c.args)...)
			cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "FORCE_COLOR=", c.env)
			if !terminal {
				out, _ := cmd.CombinedOutput()
				return string(out)
			}
			p, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 100})
			if err != nil {
				t.Skip("no terminal: ", err)
			}
			defer p.Close()
			out, _ := io.ReadAll(p) // which ends with EIO
			_ = cmd.Wait()
			return strings.ReplaceAll(string(out), "\r\n", "\n")
		}
		piped, shown := run(false), run(true)
		if plain := string(sgr.Discolour(nil, []byte(shown))); plain != piped || strings.Contains(piped, "\x1b") {
			t.Errorf("%s %s:\nterminal %q\n    pipe %q", c.args, c.env, shown, piped)
		}
		if colors, want := strings.Contains(shown, "\x1b["), c.env == "" && !strings.Contains(c.args, "never"); colors != want {
			t.Errorf("%s %s: %q", c.args, c.env, shown)
		}
	}
}
