//go:build linux || darwin

package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestKilled kills the process while a filter runs. It is started again after the first time, but not after the second.
func TestKilled(t *testing.T) {
	dir := tempDir(t)
	warm(t, dir, many)
	s, w := source(t, dir, &engine{})
	connect(t, s)
	var got strings.Builder
	for i := range many {
		if i == 300 {
			kill(t, dir)
		}
		if i == 600 {
			connect(t, s)
			kill(t, dir)
		}
		got.WriteString(text(s.Frames(context.Background(), addr(i))))
	}
	eventually(t, "the cache is given up", func() bool { s.client.connected(false); return s.client.off.Load() })
	if got.String() != expected(0, many) {
		t.Error("the answers differ")
	}
	s.Close()
	w.check(t, "so it starts empty", "died twice")
	if holder(dir) != 0 {
		t.Error("it was started a third time")
	}

	t.Run("the next filter", func(t *testing.T) {
		s, w := source(t, dir, &engine{})
		if ask(s, 0, many) != expected(0, many) {
			t.Error("the answers differ")
		}
		s.Close()
		w.check(t, "died twice")
	})
	t.Run("a minute later", func(t *testing.T) {
		past := fmt.Sprintf("%d\n%[1]d\n", time.Now().Add(-deathsWithin-time.Second).Unix())
		if err := os.WriteFile(filepath.Join(dir, deathsName), []byte(past), 0o600); err != nil {
			t.Fatal(err)
		}
		s, w := source(t, dir, &engine{})
		if ask(s, 0, many) != expected(0, many) {
			t.Error("the answers differ")
		}
		s.Close()
		w.check(t, "so it starts empty")
		eventually(t, "it keeps answers again", func() bool { f := figures(dir); return f != nil && f.Entries >= many*12/13 })
	})
}

// TestKilledAtAnyTime kills it again and again while filters come and go.
func TestKilledAtAnyTime(t *testing.T) {
	want := expected(0, 300)
	for range 5 {
		dir := tempDir(t)
		over, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-over:
					return
				case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond):
					if pid := holder(dir); pid > 1 {
						_ = syscall.Kill(pid, syscall.SIGKILL)
					}
				}
			}
		}()
		for range 3 {
			s, w := source(t, dir, &engine{delay: 20 * time.Microsecond})
			if ask(s, 0, 300) != want {
				t.Error("the answers differ")
			}
			s.Close()
			if len(w.lines) > 2 {
				t.Errorf("it said %q", w.lines)
			}
		}
		close(over)
		<-ended
	}
}

// TestMark starts in a directory with the mark of a session that died.
func TestMark(t *testing.T) {
	dir := tempDir(t)
	warm(t, dir, 100)
	if err := os.WriteFile(filepath.Join(dir, sessionName), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &engine{}
	s, w := source(t, dir, e)
	connect(t, s)
	if ask(s, 0, 100) != expected(0, 100) {
		t.Error("the answers differ")
	}
	s.Close()
	w.check(t, "so it starts empty")
	if e.asked.Load() != 100 {
		t.Errorf("the engine was asked for %d", e.asked.Load())
	}
}

// TestStopped stops the process, which then neither dies nor answers.
func TestStopped(t *testing.T) {
	dir := tempDir(t)
	warm(t, dir, many)
	e := &engine{}
	s, w := source(t, dir, e)
	connect(t, s)
	pid := holder(dir)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it stops", func() bool { // its threads do so one after the other
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") T ")
	})
	began := time.Now()
	if ask(s, 0, many) != expected(0, many) {
		t.Error("the answers differ")
	}
	waited := time.Since(began)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if e.asked.Load() < many*9/10 { // it may have replied before it stopped
		t.Errorf("the engine was asked for %d of %d", e.asked.Load(), many)
	}
	// If each query waited, this would take seconds: askTime for the first one, patience for those without a name.
	if most := askTime*many/2 + patience; waited > most {
		t.Errorf("it took %v", waited)
	}
	connect(t, s)
	eventually(t, "it is asked again", func() bool {
		before := e.asked.Load()
		return ask(s, 0, many) == expected(0, many) && e.asked.Load()-before < many/5
	})
	s.Close()
	w.check(t)
}

// TestIdle checks that the process ends when its last client has disconnected, and not before.
func TestIdle(t *testing.T) {
	t.Setenv(idleVar, "200ms")
	dir := tempDir(t)
	s, w := source(t, dir, &engine{})
	ask(s, 0, 10)
	connect(t, s)
	time.Sleep(600 * time.Millisecond)
	if holder(dir) == 0 {
		t.Error("it went while there was a client")
	}
	s.Close()
	eventually(t, "it goes", func() bool { return holder(dir) == 0 })
	for _, name := range []string{sessionName, socketName, deathsName} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("it left %s", name)
		}
	}
	w.check(t)

	s, w = source(t, dir, &engine{gone: true})
	if ask(s, 0, 10) != expected(0, 10) {
		t.Error("it lost answers")
	}
	s.Close()
	w.check(t)
}

// TestBrief checks that the process ends with its last client where that is asked for, and that its answers are kept.
func TestBrief(t *testing.T) {
	t.Setenv(idleVar, "1h")
	t.Setenv(briefVar, "1")
	dir := tempDir(t)
	s, w := source(t, dir, &engine{})
	ask(s, 0, 10)
	connect(t, s)
	s.Close()
	eventually(t, "it goes", func() bool { return holder(dir) == 0 })
	w.check(t)
	s, w = source(t, dir, &engine{gone: true})
	if ask(s, 0, 10) != expected(0, 10) {
		t.Error("it lost answers")
	}
	s.Close()
	w.check(t)
}

// TestDirectoryGone checks that the process ends after its directory was removed, as the temporary directory of a test is.
func TestDirectoryGone(t *testing.T) {
	t.Setenv(idleVar, "300ms")
	dir := tempDir(t)
	s, _ := source(t, dir, &engine{})
	ask(s, 0, 10)
	connect(t, s)
	pid := holder(dir)
	if pid == 0 {
		t.Fatal("there is no process")
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	ask(s, 10, 20)
	s.Close()
	eventually(t, "it goes", func() bool {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(state), ") Z ")
	})
}
