package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

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
