package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
)

// llvm and ours are the two filters with the same directory of debug files.
func llvm(dir string) string {
	return "llvm-symbolizer-22 --filter-markup --no-debuginfod --debug-file-directory=" + dir
}

// ours uses the cache, as people do, in a directory of this run; what it does without and with an empty one are rows of their own.
func ours(dir string) string { return "qss-filter --build-id-dir " + dir }

// withCaches puts a command behind itself with an empty cache and with none. A cache may cost a tenth.
func withCaches(c command) []command {
	cold, none := c, c
	cold.name, cold.cold = c.name+" cold", true
	none.name, none.goal = c.name+" --no-cache", goal{times: 0.9}
	none.pipeline = strings.Replace(c.pipeline, "qss-filter ", "qss-filter --no-cache ", 1)
	if c.argv != nil {
		none.argv = slices.Insert(slices.Clone(c.argv), 1, "--no-cache")
	}
	return []command{c, cold, none}
}

// oneCase is a log and the commands that read it.
type oneCase struct {
	name, what string
	write      func(path string, lib *libc) error
	commands   func(log string, lib *libc) []command
}

// goal is what a peer's time should be at least as a multiple of ours, and our peak memory at most of its.
type goal struct{ times, memory float64 }

// cases are those where time goes by the text's size, and the start.
var cases = []oneCase{
	{"pass", "plain text through a pipe", func(path string, lib *libc) error { return writeLog(path, lib, 0, nil) }, throughPipe},
	{"markup", "30 % bt frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, markupFrames(lib.sample(2000)))
	}, throughPipe},
	{"frames", "30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, pairFrames(lib, lib.sample(2000)))
	}, func(log string, lib *libc) []command { return throughPipe(log, lib)[:4] }},
	{"start", "no input: start-up alone", func(path string, _ *libc) error { return os.WriteFile(path, nil, 0o644) },
		func(log string, lib *libc) []command {
			hello := command{name: "hello", argv: []string{"hello"}, goal: goal{times: 0.5}}
			return append(bothOn(log, lib.plainDir), hello)
		}},
}

// throughPipe reads a log through a pipe.
func throughPipe(log string, lib *libc) []command {
	return append(withCaches(command{name: "qss-filter", pipeline: "cat " + log + " | " + ours(lib.plainDir) + " >/dev/null"}),
		command{name: "cat", pipeline: "cat " + log + " | cat >/dev/null", goal: goal{times: 0.8}},
		command{name: "llvm-symbolizer-22", pipeline: "cat " + log + " | " + llvm(lib.plainDir) + " >/dev/null", goal: goal{30, 0.4}})
}

// bothOn reads a log from a file, with the debug files below dir.
func bothOn(log, dir string) []command {
	return append(withCaches(command{name: "qss-filter", argv: strings.Fields(ours(dir)), input: log}),
		command{name: "llvm-symbolizer-22", argv: strings.Fields(llvm(dir)), input: log})
}

// writeLog writes a log of ordinary lines of which percent are taken from frames.
func writeLog(path string, o *libc, percent int, frames []string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprint(w, o.context())
	if percent == 0 {
		w.Reset(file)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for size, i := 0, 0; size < *mb*1000*1000; i++ {
		line := ""
		if rng.IntN(100) < percent {
			line = frames[rng.IntN(len(frames))]
		} else {
			line = fmt.Sprintf("11-21 10:%02d:%02d.%03d  1201  %d I ActivityManager: Start proc %d:com.example.app%d/u0a%d for service status=200 took=%dms\n",
				i/60%60, i%60, i%1000, 1201+i%7, i%30000, i%100, i%300, rng.IntN(1000))
		}
		size += len(line)
		if _, err := w.WriteString(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
