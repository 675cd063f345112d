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
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
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
	{"--dedupe", "--summary=always", "--context=drop", "--strip-sgr"},
	{"--frames=append", "--by=pid", "--renumber=always", "--context=keep"},
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
					"--debuginfod-url", server.URL, "--debuginfod-timeout", "1s")
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
