//go:build linux || darwin

package cache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// The test binary is also the cache process, and a filter, when it is started with these words. Its settings are in the
// environment: the idle time, the bytes to leave free on the disk, and whether it ends with its last client.
const (
	idleVar    = "CACHE_TEST_IDLE"
	reserveVar = "CACHE_TEST_RESERVE"
	briefVar   = "CACHE_TEST_BRIEF"
	filterWord = "filter"
)

func TestMain(m *testing.M) {
	startTime, helloTime = 50*time.Second, 50*time.Second // machines may be busy
	if d, err := time.ParseDuration(os.Getenv(idleVar)); err == nil {
		idleTime = d
	}
	if n, err := strconv.ParseInt(os.Getenv(reserveVar), 10, 64); err == nil {
		diskReserve = n
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "cache":
			os.Exit(serveMain(os.Args[2:]))
		case filterWord:
			os.Exit(filterMain(os.Args[2:]))
		case strangerWord:
			fmt.Print(strangerMain(os.Args[2]))
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// program returns the command line of a process that serves a directory: this test binary, which runs serveMain then.
func program(dir string, max int64) []string {
	return []string{os.Args[0], "cache", dir, strconv.FormatInt(max, 10)}
}

// serveMain is the main function of that process.
func serveMain(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	max, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil {
		return 2
	}
	o := Options{Dir: args[0], Max: max, Brief: os.Getenv(briefVar) != ""}
	err = o.Command(ctx, "serve", os.Stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, err)
	if served, ok := errors.AsType[*ServeError](err); ok {
		return served.Status
	}
	return 1
}

// engine answers any address, the same way each time. Every 13th has no name.
type engine struct {
	asked atomic.Int64
	gone  bool // its files are
	delay time.Duration
}

func (e *engine) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	e.asked.Add(1)
	time.Sleep(e.delay)
	files := &symsrc.Files{Elf: "/bin/x", Debug: "/x.debug"}
	if e.gone {
		files.ElfStatus, files.DebugStatus = symsrc.NotFound, symsrc.NotFound
	}
	if e.gone || q.Offset%13 == 12 {
		return symsrc.Answer{Files: files}
	}
	n := strconv.FormatUint(q.Offset, 16)
	file := "/usr/src/build/lib/file_" + n + ".cc"
	return symsrc.Answer{Files: files, Frames: []symsrc.Frame{
		{Func: "std::inlined<" + n + ">()", Linkage: "_ZSt7inlined" + n, File: file, CompDir: 14, Line: int(q.Offset%5000) + 1, Column: 3},
		{Func: "outer_" + n, Linkage: "outer_" + n, File: file, Line: 7, Approx: q.Offset%2 == 0, Origin: symsrc.SymbolAndDebug},
	}}
}

// addr is a query about the n-th address.
func addr(n int) symsrc.Addr {
	return symsrc.Addr{Module: symsrc.Module{Name: "/bin/x", BuildID: symsrc.BuildID("\x01\x02\x03\x04" + strconv.Itoa(n%3))}, Offset: uint64(n)}
}

// text returns what a filter would print for an answer.
func text(a symsrc.Answer) string {
	if len(a.Frames) == 0 {
		return "?\n"
	}
	return fmt.Sprintf("%+v\n", a.Frames)
}

// expected returns what is printed for n addresses, with or without a cache.
func expected(from, n int) string {
	var e engine
	var b strings.Builder
	for i := from; i < from+n; i++ {
		b.WriteString(text(e.Frames(context.Background(), addr(i))))
	}
	return b.String()
}

// ask returns what is printed for the answers of s to n addresses.
func ask(s *Source, from, n int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		b.WriteString(text(s.Frames(context.Background(), addr(i))))
	}
	return b.String()
}

// filterMain is the main function of a filter with the arguments DIR FROM COUNT. It prints the answers.
func filterMain(args []string) int {
	from, _ := strconv.Atoi(args[1])
	n, _ := strconv.Atoi(args[2])
	s := Wrap(&engine{}, Options{Dir: args[0], Program: program, Warn: func(err error) { fmt.Fprintln(os.Stderr, err) }})
	defer s.Close()
	fmt.Print(ask(s, from, n))
	return 0
}

// warnings has the warnings of a Source.
type warnings struct {
	mu    sync.Mutex
	lines []string
}

func (w *warnings) add(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, err.Error())
}

// check fails the test unless there is one warning for each of the words, in any order, that contains it.
func (w *warnings) check(t *testing.T, words ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	left := slices.Clone(words)
	for _, line := range w.lines {
		i := slices.IndexFunc(left, func(word string) bool { return strings.Contains(line, word) })
		if i < 0 {
			t.Errorf("it said %q", w.lines)
			return
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(left) > 0 {
		t.Errorf("it said %q, nothing of %q", w.lines, left)
	}
}

// source returns a Source with that directory, and ends its cache process with the test.
func source(t *testing.T, dir string, e *engine) (*Source, *warnings) {
	t.Helper()
	w := &warnings{}
	t.Cleanup(func() { stop(t, dir) })
	return Wrap(e, Options{Dir: dir, Program: program, Warn: w.add}), w
}

// warm stores the answers to n addresses in the directory. No process is running afterwards.
func warm(t *testing.T, dir string, n int) {
	t.Helper()
	s, w := source(t, dir, &engine{})
	if got := ask(s, 0, n); got != expected(0, n) {
		t.Fatal("a cold cache changes answers")
	}
	s.Close()
	w.check(t)
	eventually(t, "what was left is taken", func() bool { return figures(dir) != nil && len(spooled(dir)) == 0 })
	stop(t, dir)
}

// figures returns the figures of the directory's process, or nil if there is none.
func figures(dir string) *stats {
	l, _, err := greet(&Options{}, dir)
	if err != nil {
		return nil
	}
	defer l.conn.Close()
	b, err := order(l, statsMsg)
	if err != nil {
		return nil
	}
	var s stats
	if json.Unmarshal(b, &s) != nil {
		return nil
	}
	return &s
}

// stop terminates the directory's process and waits for its end.
func stop(t *testing.T, dir string) {
	if pid := holder(dir); pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		eventually(t, "the process ends", func() bool { return holder(dir) != pid })
	}
}

// kill kills it.
func kill(t *testing.T, dir string) {
	t.Helper()
	pid := holder(dir)
	if pid <= 1 {
		t.Fatal("there is no process to kill")
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the process dies", func() bool { return holder(dir) != pid })
}

// eventually waits for a condition. The test fails only after so long that something must be wrong.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// tempDir returns a directory for a cache. Its path is short, as users' are.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "c")
}
