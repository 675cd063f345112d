// Command bench times qss-filter beside its peers, in turn and in the same run, and prints the medians with their ratio
// to the first row's. Ratios are what to quote: machines differ, and drift while they run.
//
//	go run ./testdata/bench                    every case
//	go run ./testdata/bench -mb 100 -n 3 pass  one case, with less text and fewer runs
//	go run ./testdata/bench -install           installs the peers first (Debian: llvm-22, elfutils, libc6-dbg)
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

var (
	runs    = flag.Int("n", 5, "counted runs of each command")
	mb      = flag.Int("mb", 500, "size of the logs of the throughput cases, in MB")
	install = flag.Bool("install", false, "install the peers with apt-get first")
)

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(wanted []string) error {
	if *install {
		if err := shell("apt-get update -q && apt-get install -y -q binutils llvm-22 elfutils libc6-dbg"); err != nil {
			return fmt.Errorf("install the peers: %w", err)
		}
	}
	dir, err := os.MkdirTemp("", "qss-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := shell("CGO_ENABLED=0 go build -o " + filepath.Join(dir, "qss-filter") + " ."); err != nil {
		return fmt.Errorf("build (run this from the top of the repository): %w", err)
	}
	os.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	lib, err := findLibc()
	if err != nil {
		return err
	}
	if err := lib.unpack(filepath.Join(dir, "plain")); err != nil {
		return err
	}
	for _, c := range cases {
		if len(wanted) > 0 && !slices.Contains(wanted, c.name) {
			continue
		}
		log := filepath.Join(dir, c.name+".log")
		if err := c.write(log, lib); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("\n%s: %s\n", c.name, c.what)
		if err := compare(c.commands(log, lib)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		os.Remove(log)
	}
	return nil
}

// command is one row of a comparison: a pipeline for the shell, or one process with a file as its input, so that the
// start of a shell is not measured with it.
type command struct {
	name, pipeline string
	argv           []string
	input          string
}

// process gives the command ready to run.
func (c command) process() (*exec.Cmd, error) {
	if c.argv == nil {
		return exec.Command("/bin/sh", "-c", c.pipeline), nil
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	if c.input != "" {
		file, err := os.Open(c.input)
		if err != nil {
			return nil, err
		}
		cmd.Stdin = file
	}
	return cmd, nil
}

// compare runs the commands in turn, A B C A B C …, after a warm-up of each.
func compare(commands []command) error {
	commands = slices.DeleteFunc(commands, func(c command) bool {
		tool, _, _ := strings.Cut(c.name, " ")
		if _, err := exec.LookPath(tool); err != nil {
			fmt.Printf("  %-22s skipped: not installed (-install)\n", c.name)
			return true
		}
		return false
	})
	times := make([][]float64, len(commands))
	peak := make([]int64, len(commands))
	for k := range *runs + 1 {
		for i, c := range commands {
			took, rss, err := once(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if k > 0 {
				times[i] = append(times[i], took.Seconds()*1000)
				peak[i] = max(peak[i], rss)
			}
		}
	}
	first := 0.0
	for i, c := range commands {
		slices.Sort(times[i])
		t := times[i]
		median := t[len(t)/2]
		if i == 0 {
			first = median
		}
		fmt.Printf("  %-22s %9.1f ms (%.1f–%.1f)  %6.2f ×  peak %4d MB\n", c.name, median, t[0], t[len(t)-1], median/first, peak[i]>>10)
	}
	return nil
}

// once runs a command; rss is the largest resident set of any of its processes, in KiB.
func once(c command) (took time.Duration, rss int64, err error) {
	cmd, err := c.process()
	if err != nil {
		return 0, 0, err
	}
	if file, ok := cmd.Stdin.(*os.File); ok {
		defer file.Close()
	}
	cmd.Stderr = os.Stderr
	begin := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, err
	}
	took = time.Since(begin)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, 0, errors.New("the system tells no resource usage")
	}
	return took, usage.Maxrss, nil
}

func shell(line string) error {
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
