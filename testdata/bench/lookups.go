package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// lookUp is what a new process is asked about one object.
type lookUp struct {
	name, what string
	form       string // of the object
	addrs      func(*object) []uint64
	goal       goal // against llvm
	peers      func(path string, addr uint64) []command
}

// lookUps are asked about every object. The time of packed sections is that of unpacking.
var lookUps = []lookUp{
	{"cold", "one address", "plain", inFunctions(1), goal{20, 0.4}, otherTools},
	{"noaranges", "one address, without .debug_aranges", "noaranges", inFunctions(1), goal{12, 0.4}, nil},
	{"cold-zlib", "one address, sections packed by zlib", "zlib", inFunctions(1), goal{2, 0.4}, otherTools},
	{"1000", "1,000 functions", "plain", inFunctions(1000), goal{4, 0.4}, nil},
	{"1000-zlib", "1,000 functions, sections packed by zlib", "zlib", inFunctions(1000), goal{2, 0.4}, nil},
	{"100k", "100,000 random addresses", "plain", func(o *object) []uint64 { return o.sample(100000) }, goal{5, 0.4}, nil},
	{"warm", "1,000 functions from the cache, the files gone", "plain", inFunctions(1000), goal{4, 0.4}, nil},
	{"100k-one-core", "100,000 random addresses on one core", "plain", func(o *object) []uint64 { return o.sample(100000) }, goal{3.5, 0.4}, nil},
}

func inFunctions(n int) func(*object) []uint64 {
	return func(o *object) []uint64 { return o.inFunctions(n) }
}

// otherTools are those that take an address on the command line, and a program that does nothing.
func otherTools(path string, addr uint64) []command {
	list := []command{{name: "hello", argv: []string{"hello"}, goal: goal{times: 0.5}}}
	for _, tool := range []string{"eu-addr2line", "addr2line"} {
		argv := []string{tool, "-i", "-f", "-C", "-e", path, fmt.Sprintf("%#x", addr)}
		list = append(list, command{name: tool, argv: argv, goal: goal{times: 1}})
	}
	return list
}

// run makes the form of the object and the log, and compares the commands.
func (l *lookUp) run(o *object, dir, log string) error {
	root, err := o.variant(dir, l.form)
	if err != nil {
		return err
	}
	addrs := l.addrs(o)
	if err := o.write(log, addrs); err != nil {
		return err
	}
	commands := bothOn(log, root)
	commands[3].goal = l.goal
	if l.name == "100k-one-core" {
		for i := range commands[:3] {
			commands[i].env = []string{"GOMAXPROCS=1"}
		}
	}
	if l.name == "warm" {
		const cached = "qss-filter"
		if err := shell(cached + " --build-id-dir " + root + " " + log + " >/dev/null"); err != nil {
			return err
		}
		empty := filepath.Join(dir, "empty") // in place of the files that are installed
		if err := os.MkdirAll(empty, 0o777); err != nil {
			return err
		}
		commands[0].argv = strings.Fields(cached + " --rootfs " + empty)
		commands = slices.Delete(commands, 1, 2) // nothing is found with an empty one; the files are read with none
	}
	if l.peers != nil {
		commands = append(commands, l.peers(o.path(root), addrs[0])...)
	}
	return compare(commands)
}
