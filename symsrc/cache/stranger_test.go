//go:build linux

package cache

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// strangerWord lets the test binary be another user's program that asks a cache process.
const strangerWord = "stranger"

// strangerMain connects to the socket at a path, sends helloMsg, and returns a description of the reply.
func strangerMain(path string) string {
	conn, err := net.Dial("unix", path)
	if err != nil {
		return "not connected: " + err.Error()
	}
	defer conn.Close()
	l := &link{conn: conn}
	if err := l.send(helloMsg, 1, []byte{protocol, 0}, helloTime); err != nil {
		return "refused: " + err.Error()
	}
	if m, err := l.receive(); err != nil {
		return "refused: " + err.Error()
	} else {
		return "answered " + string(m.kind)
	}
}

// TestOtherUser checks that the process answers the same user only, whatever the permissions of the socket are.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir := tempDir(t)
	s, _ := source(t, dir, &engine{})
	ask(s, 0, 3)
	eventually(t, "the process serves", func() bool { return figures(dir) != nil })
	for path, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o755, filepath.Join(dir, socketName): 0o777} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(filepath.Dir(dir), "stranger")
	if err := copyProgram(program); err != nil {
		t.Fatal(err)
	}
	for _, uid := range []uint32{0, nobody} {
		cmd := exec.Command(program, strangerWord, filepath.Join(dir, socketName))
		cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.Output()
		if err != nil {
			t.Skipf("user %d cannot run a program: %v", uid, err)
		}
		if got := strings.HasPrefix(string(out), "answered"); got != (uid == 0) {
			t.Errorf("user %d: %s", uid, out)
		}
	}
	if figures(dir) == nil {
		t.Error("the process does not live on")
	}
	s.Close()
}

// copyProgram copies this test binary to a path where other users may run it.
func copyProgram(to string) error {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer self.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, self); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
