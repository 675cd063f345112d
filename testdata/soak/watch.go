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

	warm, last, most sample
	taken            int
}

// sample is what one look has found: resident memory in KiB, open descriptors, threads.
type sample struct{ rss, fds, threads int }

// What a filter may have more at the end than when it was warm, and at all.
const (
	warmAfter  = 6 // looks
	moreMemory = 64 << 10
	mostMemory = 768 << 10
	moreFiles  = 80 // files of modules that are kept open
	moreThread = 12
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
		w.last = s
		w.most = sample{max(w.most.rss, s.rss), max(w.most.fds, s.fds), max(w.most.threads, s.threads)}
		if w.taken++; w.taken <= warmAfter {
			w.warm = w.most
		}
		fmt.Printf("%6.0f s  rss %7d KiB  fds %3d  threads %3d  lines %10d  named %8d  %s\n", time.Since(began).Seconds(), s.rss, s.fds,
			s.threads, w.stream.written.Load(), w.stream.named.Load(), w.name)
	}
}

func (w *watch) verdict() error {
	var faults []error
	if w.taken <= warmAfter { // too short to tell what grows
		return nil
	}
	if w.most.rss > mostMemory || w.last.rss > w.warm.rss+w.warm.rss/2+moreMemory {
		faults = append(faults, fmt.Errorf("memory: %d KiB when warm, %d at most, %d in the end", w.warm.rss, w.most.rss, w.last.rss))
	}
	if w.last.fds > w.warm.fds+moreFiles {
		faults = append(faults, fmt.Errorf("descriptors: %d when warm, %d in the end", w.warm.fds, w.last.fds))
	}
	if w.last.threads > w.warm.threads+moreThread {
		faults = append(faults, fmt.Errorf("threads: %d when warm, %d in the end", w.warm.threads, w.last.threads))
	}
	return errors.Join(faults...)
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
