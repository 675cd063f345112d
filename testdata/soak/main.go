// Command soak lets filters read made-up traffic for a long time: processes that come and go, crash in every format and
// map what they like. It fails if a line is lost or changed, if names stop to be found, or if memory, descriptors or
// threads of a filter grow without end.
//
//	go run ./testdata/soak -for 1h
//	go run ./testdata/soak -lines 200000 -bin ./qss-filter
//
// It is started in the top directory of the repository.
package main

import (
	"context"
	"debug/elf"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/bits"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var (
	duration = flag.Duration("for", time.Minute, "how long the traffic lasts, where -lines does not say")
	lines    = flag.Int("lines", 0, "how many lines each filter reads, 0 for as many as the time allows")
	rate     = flag.Int("rate", 20000, "lines a second for each filter, 0 for as fast as it goes")
	every    = flag.Duration("every", 10*time.Second, "how often the filters are looked at")
	binary   = flag.String("bin", "", "try this qss-filter instead of one built here")
	seed     = flag.Uint64("seed", 1, "of the traffic")
)

// ways are the command lines that are tried side by side.
var ways = [][]string{
	{"--lookahead=200", "--color=always", "--explain"},
	{"--dedupe", "--summary=always", "--modules=hide", "--strip-ansi"},
	{"--frames=append", "--process-key=pid", "--modules=show"},
	{"--style=llvm", "--color=never"},
}

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run() error {
	scratch, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	program := *binary
	if program == "" {
		program = filepath.Join(scratch, "qss-filter")
		build := exec.Command("go", "build", "-o", program, ".")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	samples, err := readSamples()
	if err != nil {
		return err
	}
	server, err := newServer()
	if err != nil {
		return err
	}
	defer server.Close()
	ctx := context.Background()
	if *lines == 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, *duration)
		defer stop()
	}
	failures := make([]error, len(ways))
	var running sync.WaitGroup
	for i, way := range ways {
		running.Go(func() {
			s := &stream{name: strings.Join(way, " "), traffic: newTraffic(*seed+uint64(i), samples, server.ids)}
			dir := filepath.Join(scratch, fmt.Sprint(i))
			args := append([]string{"--rootfs", "testdata/rootfs"}, way...)
			if s.traffic.brief = strings.Contains(s.name, "llvm"); !s.traffic.brief {
				args = append(args, "--symbols", "testdata/logs/bin", "--cache-dir", filepath.Join(dir, "cache"),
					"--debuginfod", server.URL, "--debuginfod-timeout", "1s")
			}
			cmd := exec.Command(program, args...)
			cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+dir, "DEBUGINFOD_URLS=", "DEBUGINFOD_CACHE_PATH="+filepath.Join(dir, "debuginfod"))
			if err := s.run(ctx, cmd); err != nil {
				failures[i] = fmt.Errorf("%s: %w", s.name, err)
			}
		})
	}
	running.Wait()
	return errors.Join(failures...)
}

// server is a debuginfod server that has some of the sample programs, and is of little use for all else.
type server struct {
	*httptest.Server
	files map[string]string // by build ID
	ids   []string
}

func newServer() (*server, error) {
	s := &server{files: map[string]string{}}
	err := filepath.WalkDir("testdata/logs/bin", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if id := buildID(path); id != "" {
			s.files[id] = path
			s.ids = append(s.ids, id)
		}
		return nil
	})
	s.Server = httptest.NewServer(s)
	return s, err
}

// buildID returns the build ID of an ELF file, "" where it has none.
func buildID(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	s := f.Section(".note.gnu.build-id")
	if s == nil {
		return ""
	}
	b, err := s.Data()
	if err != nil || len(b) <= 16 {
		return ""
	}
	return hex.EncodeToString(b[16:])
}

// ServeHTTP answers a request for a build ID: with its file, or in one of the ways in which servers fail.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	id := filepath.Base(filepath.Dir(r.URL.Path))
	if path, ok := s.files[id]; ok {
		http.ServeFile(w, r, path)
		return
	}
	h := fnv.New32a()
	h.Write([]byte(id))
	switch n := h.Sum32() % 1000; {
	case n < 900:
		http.NotFound(w, r)
	case n < 920:
		w.WriteHeader(http.StatusInternalServerError)
	case n < 940: // cut off
		w.Header().Set("Content-Length", "100000")
		_, _ = w.Write([]byte("\x7fELF\x02\x01\x01"))
	case n < 960: // a long file of another build
		_, _ = w.Write([]byte("\x7fELF" + strings.Repeat("soak", 1<<18)))
	case n < 970:
		http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
	case n < 985: // another one's file
		for _, path := range s.files {
			if b, err := os.ReadFile(path); err == nil {
				_, _ = w.Write(b)
			}
			return
		}
	case n < 987: // slow
		select {
		case <-r.Context().Done():
		case <-time.After(3 * time.Second):
		}
	default:
		_, _ = w.Write([]byte("<html>please log in</html>"))
	}
}

// delays measures how long marked lines take through a filter, from the write that sends them to the read that brings them
// back: what passes between two processes and back is part of it.
type delays struct {
	sent   [1 << 16]atomic.Int64 // when a mark was sent, in nanoseconds since start, by its number
	counts [64 * 8]atomic.Int64  // eight for each power of two nanoseconds
	most   atomic.Int64
	start  time.Time
}

// send notes that the marks from, …, to−1 are being sent.
func (d *delays) send(from, to int) {
	now := max(1, int64(time.Since(d.start)))
	for n := from; n < to; n++ {
		d.sent[n%len(d.sent)].Store(now)
	}
}

// back notes that a mark has come back.
func (d *delays) back(n int) {
	took := int64(time.Since(d.start)) - d.sent[n%len(d.sent)].Load()
	d.most.Store(max(d.most.Load(), took))
	d.counts[bucket(uint64(max(took, 8)))].Add(1)
}

func bucket(v uint64) int {
	power := bits.Len64(v) - 1
	return power<<3 | int(v>>(power-3)&7)
}

// quantile is the delay that a share of all lines do not exceed, rounded up by an eighth at most.
func (d *delays) quantile(share float64) time.Duration {
	var all, seen int64
	for i := range d.counts {
		all += d.counts[i].Load()
	}
	for i := range d.counts {
		if seen += d.counts[i].Load(); float64(seen) >= share*float64(all) && seen > 0 {
			return time.Duration(uint64(9+i&7) << (i >> 3) >> 3)
		}
	}
	return 0
}

func (d *delays) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, most %v", d.quantile(.5), d.quantile(.99), d.quantile(.999), time.Duration(d.most.Load()).Round(time.Microsecond))
}

// watch looks at a filter from time to time.
type watch struct {
	pid    int
	name   string
	stream *stream

	most  sample
	taken []sample
}

// sample is what one look has found: resident memory in KiB, open descriptors, threads.
type sample struct{ rss, fds, threads int }

// What a filter may have at all, and in the last quarter of its time on average more than in the one before. What it remembers
// is bounded, but it takes some million lines until all of that is full.
const (
	mostMemory = 640 << 10 // KiB, where 8,000,000 lines as fast as they go take 480 at most
	mostFiles  = 160       // of modules that are kept open, and connections
	mostThread = 64
	moreMemory = 48 << 10 // KiB
)

// until takes samples until over is closed, and tells what has grown.
func (w *watch) until(over <-chan struct{}) error {
	began := time.Now()
	tick := time.NewTicker(*every)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return w.verdict()
		case <-tick.C:
		}
		s, err := look(w.pid)
		if err != nil {
			continue // it has just ended
		}
		w.taken = append(w.taken, s)
		w.most = sample{max(w.most.rss, s.rss), max(w.most.fds, s.fds), max(w.most.threads, s.threads)}
		fmt.Printf("%6.0f s  rss %7d KiB  fds %3d  threads %3d  lines %10d  named %8d  %s\n", time.Since(began).Seconds(), s.rss, s.fds,
			s.threads, w.stream.written.Load(), w.stream.named.Load(), w.name)
	}
}

func (w *watch) verdict() error {
	var faults []error
	if m := w.most; m.rss > mostMemory || m.fds > mostFiles || m.threads > mostThread {
		faults = append(faults, fmt.Errorf("%d KiB of memory, %d descriptors, %d threads at most", m.rss, m.fds, m.threads))
	}
	quarter := len(w.taken) / 4
	if quarter < 2 { // too short to tell what grows
		return errors.Join(faults...)
	}
	before, last := mean(w.taken[2*quarter:3*quarter]), mean(w.taken[3*quarter:])
	if last.rss > before.rss+before.rss/8+moreMemory {
		faults = append(faults, fmt.Errorf("memory grows: %d KiB, and then %d", before.rss, last.rss))
	}
	if last.fds > before.fds+before.fds/4+8 || last.threads > before.threads+before.threads/4+4 {
		faults = append(faults, fmt.Errorf("descriptors or threads grow: %+v, and then %+v", before, last))
	}
	return errors.Join(faults...)
}

// mean is the average of some samples.
func mean(all []sample) (m sample) {
	for _, s := range all {
		m.rss, m.fds, m.threads = m.rss+s.rss, m.fds+s.fds, m.threads+s.threads
	}
	n := len(all)
	return sample{m.rss / n, m.fds / n, m.threads / n}
}

// look reads /proc/PID.
func look(pid int) (s sample, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return s, err
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			s.rss = n
		case "Threads":
			s.threads = n
		}
	}
	fds, err := os.ReadDir(filepath.Join(dir, "fd"))
	s.fds = len(fds)
	return s, err
}
