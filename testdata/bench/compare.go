package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// cacheVar is where qss-filter's cache is.
const cacheVar = "XDG_CACHE_HOME"

// command is one row of a comparison: a pipeline for the shell, or one process with a file as its input, so that the
// start of a shell is not measured with it.
type command struct {
	name, pipeline string
	argv, env      []string
	input          string
	cold           bool // the cache is emptied before each run
	goal           goal
}

// measured is what a command took: times in ms, sorted, and the largest resident set in KiB.
type measured struct {
	times []float64
	peak  int64
}

func (m *measured) median() float64 { return m.times[len(m.times)/2] }

// compare runs the commands in turn, A B C A B C …, after a warm-up of each. Quick ones are run more often.
func compare(commands []command) error {
	commands = slices.DeleteFunc(commands, func(c command) bool {
		tool, _, _ := strings.Cut(c.name, " ")
		if _, err := exec.LookPath(tool); err != nil {
			fmt.Printf("  %-22s skipped: not installed (-install)\n", c.name)
			return true
		}
		return false
	})
	results := make([]measured, len(commands))
	begin := time.Now()
	for k := 0; k <= *runs || k <= 8**runs && time.Since(begin) < 2*time.Second; k++ {
		for i, c := range commands {
			took, rss, err := once(c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if k > 0 {
				results[i].times = append(results[i].times, took.Seconds()*1000)
				results[i].peak = max(results[i].peak, rss)
			}
		}
	}
	for i, c := range commands {
		slices.Sort(results[i].times)
		results[i].print(&c, &results[0])
	}
	return nil
}

// print writes the row of a command beside the first one's, and whether the goal against it is met.
func (m *measured) print(c *command, first *measured) {
	ratio, memory := m.median()/first.median(), float64(first.peak)/float64(m.peak)
	fmt.Printf("  %-22s %9.1f ms (%.1f–%.1f)  %6.2f ×  peak %6.1f MB", c.name, m.median(), m.times[0], m.times[len(m.times)-1],
		ratio, float64(m.peak)/1024)
	if g := c.goal; g.times > 0 {
		fmt.Printf("  goal %.3g × %s", g.times, verdict(ratio >= g.times))
		if g.memory > 0 {
			fmt.Printf("; memory %.2f, goal %.3g %s", memory, g.memory, verdict(memory <= g.memory))
		}
	}
	fmt.Println()
}

func verdict(ok bool) string {
	if ok {
		return "met"
	}
	return "MISSED"
}

// once runs a command by way of a process that is small: the peak memory of a process includes what its parent had when
// it began.
func once(c command) (took time.Duration, rss int64, err error) {
	argv := c.argv
	if argv == nil {
		argv = []string{"/bin/sh", "-c", c.pipeline}
	}
	if argv[0], err = exec.LookPath(argv[0]); err != nil {
		return 0, 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, 0, err
	}
	cmd := exec.Command(self, append([]string{onceWord, cmp.Or(c.input, os.DevNull)}, argv...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), c.env...), os.Stderr
	if c.cold {
		dir := os.Getenv(cacheVar) + "-cold"
		if err := os.RemoveAll(dir); err != nil {
			return 0, 0, err
		}
		cmd.Env = append(cmd.Env, cacheVar+"="+dir)
	}
	out, err := cmd.Output()
	if err != nil {
		return 0, 0, err
	}
	_, err = fmt.Sscan(string(out), &took, &rss)
	return took, rss, err
}
