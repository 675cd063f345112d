//go:build linux || darwin

package child

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// shell starts an interactive shell on a terminal, in which `wrap` is the wrapper.
func shell(t *testing.T) (*screen, *exec.Cmd) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash: ", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newScreen(t)
	cmd := exec.Command(bash, "--norc", "--noprofile", "--noediting", "-i")
	cmd.Env = append(os.Environ(), "HISTFILE=", "PS1=$ ", "SELF="+self, "FILE="+t.TempDir()+"/go")
	s.start(cmd)
	s.keys("wrap() { " + asWrapper + "=1 \"$SELF\" \"$@\"; }; LC_ALL=C; echo on; stty -echo; echo li\"\"ne\r")
	s.until("line")
	return s, cmd
}

func (s *screen) leave(cmd *exec.Cmd) {
	s.t.Helper()
	s.keys("exit 0\r")
	if status := statusOf(s.t, cmd.Wait()); status != 0 {
		s.t.Errorf("the shell ended with status %d", status)
	}
}

// TestJobControl stops a job and takes it up again, with a session of the command's own and in that of the shell.
func TestJobControl(t *testing.T) {
	for name, job := range map[string]string{
		"session":      `wrap sh -c 'echo ready; read a; echo got $a; exit 3'`,
		"deeper":       `wrap sh -c 'echo ready; sh -c "read a; echo got \$a; exit 3"; exit $?'`,
		"stops itself": `wrap sh -c 'echo ready; kill -STOP $$; read a; echo got $a; exit 3'`,
		"catches":      `wrap bash -c 'trap "echo caught" TSTP; echo ready; while ! read a; do :; done; echo got $a; exit 3'`,
		// It must not read keys: what a process reads that is about to be stopped may be lost to the shell.
		"in a pipeline": `rm -f "$FILE"; wrap sh -c 'echo ready; until [ -e "$FILE" ]; do sleep 0.01; done; echo got word; exit 3' | (cat; exit 3)`,
	} {
		t.Run(name, func(t *testing.T) {
			s, cmd := shell(t)
			for range 2 {
				before := s.settings()
				s.keys(job + "\r")
				s.until("ready")
				if name != "stops itself" {
					s.keys("\x1a")
				}
				s.until("Stopped")
				s.keys("echo shell again; : >\"$FILE\"\r")
				s.until("shell again")
				if now := s.settings(); now.Lflag&unix.ICANON != before.Lflag&unix.ICANON || now.Iflag != before.Iflag {
					t.Errorf("stopped, the terminal has other settings")
				}
				s.keys("fg; echo status $?\r")
				s.keys("word\r")
				s.until("got word")
				s.until("status 3")
			}
			s.leave(cmd)
		})
	}
}

// TestStopInVfork stops a command whose shell is between vfork and execve: it cannot stop before its child has gone on.
func TestStopInVfork(t *testing.T) {
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "v.c")
	const text = `#include <unistd.h>
#include <sys/wait.h>
int main(void) {
	int status;
	pid_t pid = vfork();
	if (pid == 0) {
		write(1, "ready\n", 6);
		usleep(300000);
		execl("/bin/sh", "sh", "-c", "read a; echo got $a; exit 3", (char *)0);
		_exit(9);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(compiler, "-w", "-o", filepath.Join(dir, "v"), source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s, cmd := shell(t)
	s.keys("wrap " + filepath.Join(dir, "v") + "\r")
	s.until("ready")
	s.keys("\x1a")
	s.until("Stopped")
	s.keys("fg; echo status $?\r")
	s.keys("word\r")
	s.until("got word")
	s.until("status 3")
	s.leave(cmd)
}

// TestBackground starts a job in the background, where it runs without touching the terminal, and takes it to the
// foreground.
func TestBackground(t *testing.T) {
	s, cmd := shell(t)
	s.keys("wrap sh -c 'echo ready; read a; echo got $a; exit 3' &\r")
	s.until("ready")
	s.keys("echo shell; jobs\r")
	s.until("shell")
	s.until("Running")
	s.keys("fg; echo status $?\r")
	s.until("wrap sh") // what fg shows
	s.keys("word\r")
	s.until("got word")
	s.until("status 3")
	s.leave(cmd)
}

// TestInterruptOnce has Ctrl-C reach a command of the wrapper's own process group: by the terminal alone.
func TestInterruptOnce(t *testing.T) {
	s, cmd := shell(t)
	s.keys(asTeller + `=1 wrap "$SELF" 2>&1 | (trap "" INT; exec cat)` + "\r")
	s.until("ready")
	s.keys("\x03")
	s.until("SIGINT")
	s.keys("word\r")
	s.until("got word")
	s.keys("\x04")
	s.keys("echo sh\"\"ell\r")
	s.until("shell")
	s.leave(cmd)
	if strings.Count(s.seen.String(), "SIGINT\r\n") != 1 {
		t.Errorf("not caught once: %q", s.seen.String())
	}
}
