package main

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

const debugDir = "/usr/lib/debug"

// llvm and ours are the two filters with the same directory of debug files.
func llvm(dir string) string {
	return "llvm-symbolizer-22 --filter-markup --no-debuginfod --debug-file-directory=" + dir
}

func ours(dir string) string { return "qss-filter --build-id-dir " + dir }

// oneCase is a log and the commands that read it.
type oneCase struct {
	name, what string
	write      func(path string, lib *libc) error
	commands   func(log string, lib *libc) []command
}

var cases = []oneCase{
	{"pass", "plain text through a pipe", func(path string, lib *libc) error { return writeLog(path, lib, 0, nil) }, throughPipe},
	{"markup", "30 % bt frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, markupFrames(lib.sample(2000)))
	}, throughPipe},
	{"frames", "30 % `#N addr (elf+off) (BuildId: id)` frames of libc, 2,000 distinct", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, pairFrames(lib, lib.sample(2000)))
	}, func(log string, lib *libc) []command { return throughPipe(log, lib)[:2] }},
	{"cold", "one address of libc, a new process", coldLog(1), func(log string, lib *libc) []command {
		return append(bothOn(log, lib.plainDir), lookUps(lib.plain, lib.sample(1)[0])...)
	}},
	{"cold-zlib", "the same, with the debug file's sections compressed as Debian ships them", coldLog(1), func(log string, lib *libc) []command {
		return append(bothOn(log, debugDir), lookUps(lib.debug, lib.sample(1)[0])...)
	}},
	{"thousand", "1,000 random addresses of libc, a new process", coldLog(1000), func(log string, lib *libc) []command {
		return bothOn(log, lib.plainDir)
	}},
	{"many", "100,000 random addresses of libc", coldLog(100000), func(log string, lib *libc) []command {
		return bothOn(log, lib.plainDir)
	}},
	{"start", "no input: start-up alone", coldLog(0), func(log string, lib *libc) []command { return bothOn(log, lib.plainDir) }},
}

// throughPipe reads a log through a pipe.
func throughPipe(log string, lib *libc) []command {
	return []command{
		{name: "qss-filter", pipeline: "cat " + log + " | " + ours(lib.plainDir) + " >/dev/null"},
		{name: "cat", pipeline: "cat " + log + " | cat >/dev/null"},
		{name: "llvm-symbolizer-22", pipeline: "cat " + log + " | " + llvm(lib.plainDir) + " >/dev/null"},
	}
}

// bothOn reads a log from a file, with the debug files below dir.
func bothOn(log, dir string) []command {
	return []command{
		{name: "qss-filter", argv: strings.Fields(ours(dir)), input: log},
		{name: "llvm-symbolizer-22", argv: strings.Fields(llvm(dir)), input: log},
	}
}

// lookUps are the tools that take an address on the command line.
func lookUps(file string, addr uint64) []command {
	var list []command
	for _, tool := range []string{"eu-addr2line", "addr2line"} {
		list = append(list, command{name: tool, argv: []string{tool, "-i", "-f", "-C", "-e", file, fmt.Sprintf("%#x", addr)}})
	}
	return list
}

// libc is the machine's C library with its debug file.
type libc struct {
	debug     string // as shipped
	plain     string // its copy with plain sections, below plainDir
	plainDir  string
	id        string
	low, high uint64 // .text
}

func findLibc() (*libc, error) {
	found, err := filepath.Glob("/lib/*-linux-gnu/libc.so.6")
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("no /lib/*-linux-gnu/libc.so.6: this needs a Debian machine")
	}
	f, err := elf.Open(found[0])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, note := f.Section(".text"), f.Section(".note.gnu.build-id")
	if text == nil || note == nil {
		return nil, fmt.Errorf("%s has no .text or no build ID", found[0])
	}
	data, err := note.Data()
	if err != nil || len(data) < 16 {
		return nil, fmt.Errorf("%s: build ID: %v", found[0], err)
	}
	l := &libc{id: hex.EncodeToString(data[16:]), low: text.Addr, high: text.Addr + text.Size}
	l.debug = filepath.Join(debugDir, ".build-id", l.id[:2], l.id[2:]+".debug")
	if _, err := os.Stat(l.debug); err != nil {
		return nil, fmt.Errorf("libc6-dbg is not installed (-install): %w", err)
	}
	return l, nil
}

// unpack makes the copy with plain sections below dir.
func (l *libc) unpack(dir string) error {
	l.plainDir = dir
	l.plain = filepath.Join(dir, ".build-id", l.id[:2], l.id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(l.plain), 0o755); err != nil {
		return err
	}
	if err := shell("objcopy --decompress-debug-sections " + l.debug + " " + l.plain); err != nil {
		return fmt.Errorf("objcopy (Debian: binutils): %w", err)
	}
	return nil
}

// sample gives n addresses of .text, the same ones in every run.
func (l *libc) sample(n int) []uint64 {
	rng := rand.New(rand.NewPCG(1, 2))
	addrs := make([]uint64, n)
	for i := range addrs {
		addrs[i] = l.low + rng.Uint64N(l.high-l.low)
	}
	return addrs
}

const loadBase = 0x7f0000000000

func (l *libc) context() string {
	return fmt.Sprintf("{{{reset}}}\n{{{module:0:/lib/x86_64-linux-gnu/libc.so.6:elf:%s}}}\n{{{mmap:%#x:%#x:load:0:rx:0x0}}}\n", l.id, loadBase, l.high)
}

func markupFrames(addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("{{{bt:%d:%#x:pc}}}\n", i%20, loadBase+a))
	}
	return lines
}

func pairFrames(l *libc, addrs []uint64) []string {
	var lines []string
	for i, a := range addrs {
		lines = append(lines, fmt.Sprintf("    #%d %#x  (/lib/x86_64-linux-gnu/libc.so.6+%#x) (BuildId: %s)\n", i%20, loadBase+a, a, l.id))
	}
	return lines
}

// writeLog writes a log of ordinary lines of which percent are taken from frames.
func writeLog(path string, l *libc, percent int, frames []string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	fmt.Fprint(w, l.context())
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

// coldLog writes context and n exact frames.
func coldLog(n int) func(path string, l *libc) error {
	return func(path string, l *libc) error {
		if n == 0 {
			return os.WriteFile(path, nil, 0o644)
		}
		return os.WriteFile(path, []byte(l.context()+strings.Join(markupFrames(l.sample(n)), "")), 0o644)
	}
}
