//go:build linux || darwin

package cache

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qss-filter/symsrc"
)

func itoa(n int) string { return strconv.Itoa(n) }

// nobody is the ID of the user of that name, another user than that of the test.
const nobody = 65534

// TestTwoFilters checks that a filter gets the answers of another one that runs at the same time.
func TestTwoFilters(t *testing.T) {
	dir := tempDir(t)
	one, w1 := source(t, dir, &engine{})
	e := &engine{gone: true}
	two, w2 := source(t, dir, e)
	connect(t, one)
	connect(t, two)
	q := addr(5)
	two.Prefetch(context.Background(), []symsrc.Expected{{Addr: q}}) // it must ask again soon after it finds nothing
	want := one.Frames(context.Background(), q)
	began := time.Now()
	eventually(t, "the other one's answer", func() bool { return len(two.Frames(context.Background(), q).Frames) > 0 })
	if took := time.Since(began); took > time.Second {
		t.Logf("it took %v", took) // not an error: the machine may be busy
	}
	if got := two.Frames(context.Background(), q); text(got) != text(want) {
		t.Errorf("the other one's answer is %v", got)
	}
	one.Close()
	two.Close()
	w1.check(t)
	w2.check(t)
}

// self returns a command that runs the test binary with these arguments.
func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Command(path, args...)
}

// TestEightFilters starts eight filters at once, in an empty directory. No answer is lost.
func TestEightFilters(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	const filters, each = 8, 500
	var cmds []*exec.Cmd
	var outs [filters]bytes.Buffer
	for i := range filters {
		cmd := self(t, filterWord, dir, itoa(i*each), itoa(each))
		cmd.Stdout, cmd.Stderr = &outs[i], os.Stderr // warnings are visible, and the process inherits no pipe
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		if outs[i].String() != expected(i*each, each) {
			t.Errorf("filter %d: the answers differ", i)
		}
	}
	want := int64(0)
	for i := range filters * each {
		if i%13 != 12 {
			want++
		}
	}
	eventually(t, "all answers are kept", func() bool { f := figures(dir); return f != nil && f.Entries == want })
}

// TestCallerGoes runs a filter in a pipe, as a shell does: the reader gets the end of the file although the cache process still runs.
func TestCallerGoes(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `"$0" filter "$1" 0 100 3>&1 4>&2 2>&1 | cat`, path, dir)
	out, err := cmd.CombinedOutput() // waits for the end of the pipe
	if err != nil || string(out) != expected(0, 100) {
		t.Errorf("%v: %.200q", err, out)
	}
	eventually(t, "the process lives on", func() bool { return figures(dir) != nil })
}

// TestLongPath uses a directory whose socket has a path that is too long for an address.
func TestLongPath(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc")
	}
	dir := filepath.Join(tempDir(t), strings.Repeat("long/", 40))
	warm(t, dir, 100)
	s, w := source(t, dir, &engine{gone: true})
	connect(t, s)
	if ask(s, 0, 100) != expected(0, 100) {
		t.Error("the answers differ")
	}
	s.Close()
	w.check(t)
}

// TestTwoUsers uses the files and the socket of another user.
func TestTwoUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	t.Run("directory", func(t *testing.T) {
		dir := tempDir(t)
		warm(t, dir, 100)
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		e := &engine{}
		s, w := source(t, dir, e)
		if ask(s, 0, 100) != expected(0, 100) {
			t.Error("the answers differ")
		}
		eventually(t, "the cache is given up", s.client.off.Load)
		s.Close()
		w.check(t, "another user")
		if e.asked.Load() != 100 {
			t.Errorf("the engine was asked for %d", e.asked.Load())
		}
	})
	t.Run("socket", func(t *testing.T) {
		dir := tempDir(t)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		// Another user listens: the directory belongs to this user, but did not when the socket was created.
		if err := os.Chown(dir, nobody, nobody); err != nil {
			t.Fatal(err)
		}
		perl := exec.Command("perl", "-MIO::Socket::UNIX", "-e",
			`$l = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 5) or die; $|=1; print "ready\n"; while ($c = $l->accept) { sysread $c, $b, 100; push @c, $c }`,
			filepath.Join(dir, socketName))
		perl.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		out, err := perl.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := perl.Start(); err != nil {
			t.Skipf("no perl to listen as another user: %v", err)
		}
		t.Cleanup(func() { _ = perl.Process.Kill(); _ = perl.Wait() })
		if n, err := out.Read(make([]byte, 10)); n == 0 {
			t.Skipf("another user cannot listen: %v", err)
		}
		if err := os.Chown(dir, 0, 0); err != nil {
			t.Fatal(err)
		}
		s, w := source(t, dir, &engine{})
		if ask(s, 0, 100) != expected(0, 100) {
			t.Error("the answers differ")
		}
		eventually(t, "the cache is given up", s.client.off.Load)
		s.Close()
		w.check(t, "another user")
	})
}

// TestStranger sends the process what is not its protocol.
func TestStranger(t *testing.T) {
	dir := tempDir(t)
	warm(t, dir, 100)
	s, w := source(t, dir, &engine{gone: true})
	connect(t, s)
	for _, words := range []string{"", "x", "GET / HTTP/1.0\r\n\r\n", "\x05\x00\x00\x00?\x00\x00\x00\x00", "\x00\x00\x00\x00",
		"\xff\xff\xff\xff", "\xff\xff\xff\x00a", "\x06\x00\x00\x00a\x00\x00\x00\x00\xff", "\x06\x00\x00\x00w\x00\x00\x00\x00\x01",
		"\x05\x00\x00\x00h\x00\x00\x00\x00", "\x08\x00\x00\x00p\x00\x00\x00\x00\x01a\x00\x01"} {
		conn, err := net.Dial("unix", filepath.Join(dir, socketName))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(words)); err != nil {
			t.Fatal(err)
		}
		conn.Close()
	}
	if ask(s, 0, 100) != expected(0, 100) {
		t.Error("the answers differ")
	}
	s.Close()
	w.check(t)
}
