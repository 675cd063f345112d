package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
)

// contextCases are about markup in both styles: logs of little else than context, and frames beside text.
var contextCases = []oneCase{
	{"context", "20,000 resets, each with the modules and mappings of a new process", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 0, true)
	}, bothStyles},
	{"restarts", "20,000 resets, each with the same modules and mappings", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 0, false)
	}, bothStyles},
	{"crashes", "20,000 processes with ten bt frames each", func(path string, lib *libc) error {
		return writeProcesses(path, lib, 10, true)
	}, bothStyles},
	{"markup-llvm", "30 % bt frames of libc, 2,000 distinct, in the style of llvm", func(path string, lib *libc) error {
		return writeLog(path, lib, 30, markupFrames(lib.sample(2000)))
	}, bothStyles},
}

// bothStyles reads a log from a file in llvm's style, in the default one, and by llvm.
func bothStyles(log string, lib *libc) []command {
	own := bothOn(log, lib.plainDir)
	asLLVM := command{name: "qss-filter --style=llvm", argv: append(strings.Fields(ours(lib.plainDir)), "--style=llvm"), input: log}
	return []command{asLLVM, own[0], own[3]} // that style has no cache
}

// mapping is one of a module: its size, mode and address in the module.
type mapping struct {
	size, rel uint64
	mode      string
}

// aModule is one with four mappings, as linkers make them.
func aModule(name, id string, text, rest uint64) (string, string, []mapping) {
	return name, id, []mapping{{0x920, 0, "r"}, {text, 0x1000, "rx"}, {rest, 0x1000 + text, "r"}, {0x2c8, 0x2dc0 + text + rest, "rw"}}
}

// writeProcesses writes 20,000 processes of four modules, each laid out in memory anew where moved is set, and frames of the last
// module.
func writeProcesses(path string, lib *libc, frames int, moved bool) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(file, 1<<20)
	rng := rand.New(rand.NewPCG(5, 6))
	sample := lib.sample(200)
	for range 20000 {
		fmt.Fprint(w, "{{{reset}}}\n")
		base := uint64(0x7f0000000000)
		if moved {
			base += rng.Uint64N(1<<28) << 12
		}
		for id := range 3 {
			name, buildID, maps := aModule(
				[]string{"/usr/apps/org.example.test/bin/mainbin", "/usr/apps/org.example.test/lib/libdemo-1.2.3.so", "/lib/x86_64-linux-gnu/libm.so.6"}[id],
				fmt.Sprintf("%040x", 0x1234567890abcdef*uint64(id+1)), uint64(0x15000)<<id, uint64(0x7000)<<id)
			fmt.Fprintf(w, "{{{module:%d:%s:elf:%s}}}\n", id, name, buildID)
			at := base - uint64(id)<<24
			for _, m := range maps {
				fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:%d:%s:%#x}}}\n", at+m.rel, m.size, id, m.mode, m.rel)
			}
		}
		at := base - 1<<28
		fmt.Fprintf(w, "{{{module:3:/lib/x86_64-linux-gnu/libc.so.6:elf:%s}}}\n", lib.id)
		fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:3:r:0x0}}}\n", at, lib.low&^0xfff)
		fmt.Fprintf(w, "{{{mmap:%#x:%#x:load:3:rx:%#x}}}\n", at+lib.low&^0xfff, lib.high-lib.low&^0xfff, lib.low&^0xfff)
		fmt.Fprintf(w, "{{{mmap:%#x:0x12680:load:3:rw:%#x}}}\n", at+lib.high+0x2000, lib.high+0x2000)
		for n := range frames {
			fmt.Fprintf(w, "{{{bt:%d:%#x}}}\n", n, at+sample[rng.IntN(len(sample))])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return file.Close()
}
