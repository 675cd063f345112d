package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

var logs = flag.String("logs", "", "a pattern of logs without frames, such as those of Loghub: the case logs repeats each of them")

// serverWords are what servers log. Some begin what the filter searches for: `shard` is a word of Seastar's headlines.
var serverWords = strings.Fields(`request handler shard cache worker thread replica commit batch queue index segment started finished timeout retry
	client server socket latency bytes node region leader follower heartbeat snapshot compaction flush sstable level unhandled info error`)

// wordCases are logs of a server, in whose lines ordinary words stand that frames have, too.
var wordCases = []oneCase{
	{"words", "text of a server, with the word shard in every fourth line", func(path string, lib *libc) error {
		return writeLines(path, lib, 0, nil, serverLine)
	}, throughPipe},
	{"words-markup", "the same with 30 % bt frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLines(path, lib, 30, markupFrames(lib.sample(2000)), serverLine)
	}, throughPipe},
	{"words-frames", "the same with 30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLines(path, lib, 30, pairFrames(lib.object, lib.sample(2000)), serverLine)
	}, throughPipe},
	{"words-logcat", "the same frames in logcat", func(path string, lib *libc) error {
		frames := pairFrames(lib.object, lib.sample(2000))
		for i := range frames {
			frames[i] = "11-21 10:11:12.123  1201  1240 I app     : " + frames[i]
		}
		return writeLines(path, lib, 30, frames, func(rng *rand.Rand, i int) string {
			return fmt.Sprintf("11-21 10:%02d:%02d.%03d  1201  %d I app     : %s", i/60%60, i%60, i%1000, 1201+i%7, serverLine(rng, i))
		})
	}, throughPipe},
	{"words-report", "the first of these, with a report and annotations", func(path string, lib *libc) error {
		return writeLines(path, lib, 0, nil, serverLine)
	}, func(log string, lib *libc) []command {
		report := command{name: "qss-filter", pipeline: "cat " + log + " | " + ours(lib.plainDir) + " --annotate=github --report=" + log + ".report >/dev/null"}
		return []command{report, {name: "llvm-symbolizer-22", pipeline: "cat " + log + " | " + llvm(lib.plainDir) + " >/dev/null", goal: goal{times: 5}}}
	}},
	{"long-lines", "each sample of a frame over and over in a line, and in lines of 4 KB", writeLong, func(log string, _ *libc) []command {
		read := func(name, log string) command {
			return command{name: name, argv: []string{"qss-filter", "--no-cache"}, input: log}
		}
		short := read("qss-filter in short lines", log+shortEnd)
		short.goal = goal{times: 0.5}
		return []command{read("qss-filter", log), short}
	}},
}

// frameSamples has lines with frames of all formats, each behind a bar.
const frameSamples = "filter/frame/testdata/frames.txt"

// shortEnd ends the path of a log in shorter lines.
const shortEnd = ".short"

// writeLong writes each sample of a frame over and over, in one line of up to 1 MB each, and the same in lines of 4 KB.
func writeLong(path string, _ *libc) error {
	text, err := os.ReadFile(frameSamples)
	if err != nil {
		return err
	}
	var samples []string
	for line := range strings.Lines(string(text)) {
		if sample, ok := strings.CutPrefix(strings.TrimSpace(line), "|"); ok {
			samples = append(samples, sample+" ")
		}
	}
	size := min(*mb*1000*1000/len(samples), 1_000_000)
	var long, short []byte
	for _, sample := range samples {
		line := strings.Repeat(sample, size/len(sample)+1)[:size-1]
		long = append(append(long, line...), '\n')
		for part := range slices.Chunk([]byte(line), 4000) {
			short = append(append(short, part...), '\n')
		}
	}
	if err := os.WriteFile(path, long, 0o644); err != nil {
		return err
	}
	return os.WriteFile(path+shortEnd, short, 0o644)
}

func serverLine(rng *rand.Rand, i int) string {
	line := fmt.Appendf(nil, "2026-11-21T10:%02d:%02d.%03dZ node-%d INFO", i/60%60, i%60, i%1000, i%7)
	for range 9 {
		line = append(append(line, ' '), serverWords[rng.IntN(len(serverWords))]...)
	}
	return string(fmt.Appendf(line, " %d ms\n", rng.IntN(5000)))
}

// triggers are words that may begin something, none of which does here.
var triggers = []string{"(inlined)", " @ 0x", "segfault", "unhandled ", "[0x", "+0x", " pc ", "runtime error:", "build-id", "Sanitizer", "{{{", "<<<", "Backtrace:",
	"shard ", "r-x", "+ 0x", "offset=0x", "[unknown] (", " ip:", "epc = ", "|0x", `Object "`, "# 0x00000000", ", git hash: ", "<?xml ", "DEDUP_TOKEN: ",
	"Crash Information"}

// triggerCases returns logs with one of the triggers in each line.
func triggerCases() (all []oneCase) {
	for _, word := range append([]string{"nothing"}, triggers...) {
		all = append(all, oneCase{"triggers", fmt.Sprintf("%q in each line of 100 bytes", word), func(path string, lib *libc) error {
			return writeLines(path, lib, 0, nil, func(rng *rand.Rand, i int) string {
				line := fmt.Sprintf("2026-11-21 10:11:12 host worker: request %d done, status ok %s and nothing else to say about it", i, word)
				return (line + strings.Repeat(".", 100))[:99] + "\n"
			})
		}, func(log string, lib *libc) []command { return throughPipe(log, lib)[2:4] }})
	}
	return all
}

// logCases returns the logs of the pattern.
func logCases() (all []oneCase) {
	paths, _ := filepath.Glob(*logs) // an error says that the pattern is malformed: nothing is found
	for _, from := range paths {
		all = append(all, oneCase{"logs", filepath.Base(from), func(path string, _ *libc) error { return repeatLog(path, from) },
			func(log string, lib *libc) []command {
				commands := throughPipe(log, lib)
				commands = slices.DeleteFunc(commands, func(c command) bool { return c.name == "rg" })
				for i := range commands {
					switch commands[i].name {
					case "cat":
						commands[i].goal.times = 1 / 1.5
					case "llvm-symbolizer-22":
						commands[i].goal = goal{25, 0}
					}
				}
				return commands
			}})
	}
	return all
}

// repeatLog writes a log as often as the size of the logs asks for.
func repeatLog(path, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return fmt.Errorf("%s is empty", from)
	}
	if !bytes.HasSuffix(text, []byte{'\n'}) {
		text = append(text, '\n')
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	for size := 0; size < *mb*1000*1000; size += len(text) {
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
