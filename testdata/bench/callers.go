package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// aCaller is a program that starts addr2line or llvm-symbolizer.
type aCaller struct {
	name, what string
	prepare    func(dir string) (path string, err error) // makes a program below dir, which may be there from an earlier run
	commands   func(path string, tools toolDirs) []command
}

var callers = []aCaller{
	{"perf", "perf script of 100,000 call chains of C++, with lines", recording(12 * time.Second), func(path string, t toolDirs) []command {
		return []command{perfWith("qss-filter", path, t.ours, goal{}), perfWith("llvm-addr2line-22", path, t.llvm, goal{times: 3}),
			floorOf(perfWith("perf"+alone, path, t.constant, goal{}))}
	}},
	{"perf-part", "perf script of some hundred of these", recording(20 * time.Millisecond), func(path string, t toolDirs) []command {
		return []command{perfWith("qss-filter", path, t.ours, goal{}), perfWith("addr2line", path, t.gnu, goal{times: 20}),
			perfWith("llvm-addr2line-22", path, t.llvm, goal{times: 3}), floorOf(perfWith("perf"+alone, path, t.constant, goal{}))}
	}},
	{"asan", "a test with 200 reports of clang's AddressSanitizer", reporting, func(path string, t toolDirs) []command {
		return []command{asanWith("qss-filter", path, t.ours, goal{}), asanWith("llvm-symbolizer-22", path, t.llvm, goal{times: 1}),
			floorOf(asanWith("asan"+alone, path, t.constant, goal{}))}
	}},
}

// alone is the end of the name of a row with a caller whose tool takes no time.
const alone = " alone"

// toolDirs are directories with addr2line and llvm-symbolizer: links to this program, or to the real ones. In constant they are a
// program that gives the same answer at once: what then remains is the caller's own time.
type toolDirs struct{ ours, llvm, gnu, constant string }

// linkTools makes the directories of tools.
func linkTools(scratch string) (t toolDirs, err error) {
	t = toolDirs{filepath.Join(scratch, "ours"), filepath.Join(scratch, "llvm"), filepath.Join(scratch, "gnu"), filepath.Join(scratch, "constant")}
	self, err := os.Executable()
	if err != nil {
		return t, err
	}
	for _, l := range [...]struct{ dir, name, program string }{{t.ours, "addr2line", "qss-filter"}, {t.ours, "llvm-symbolizer", "qss-filter"},
		{t.llvm, "addr2line", "llvm-addr2line-22"}, {t.llvm, "llvm-symbolizer", "llvm-symbolizer-22"}, {t.gnu, "addr2line", "addr2line"},
		{t.constant, constantTools[0], self}, {t.constant, constantTools[1], self}} {
		program, err := exec.LookPath(l.program)
		if err != nil {
			return t, err
		}
		if err := errors.Join(os.MkdirAll(l.dir, 0o700), os.Symlink(program, filepath.Join(l.dir, l.name))); err != nil {
			return t, err
		}
	}
	return t, nil
}

// constantTools are the names under which this program gives the same answer at once.
var constantTools = []string{"addr2line", "llvm-symbolizer"}

// answerAtOnce answers each request on standard input with the same function and line, and each other line with what addr2line writes for
// it. Answers to what is read at once are written at once.
func answerAtOnce() {
	in, out, begins := make([]byte, 1<<16), []byte(nil), true
	for {
		n, err := os.Stdin.Read(in)
		if err != nil {
			return
		}
		out = out[:0]
		for _, c := range in[:n] {
			switch {
			case begins && c == ',':
				out = append(out, "??\n??:0\n"...)
			case begins && c == 'C': // CODE
				out = append(out, "main\n/src/main.cc:10:1\n\n"...)
			case begins && c == 'D': // DATA
				out = append(out, "main\n16 4\n/src/main.cc:10\n\n"...)
			case begins:
				out = append(out, "main\n/src/main.cc:10\n"...)
			}
			begins = c == '\n'
		}
		if _, err := os.Stdout.Write(out); err != nil {
			return
		}
	}
}

// perfWith is perf script of a recording with the addr2line in dir. A perf that is started by its path looks there first, before PATH, so
// it is started by its name.
func perfWith(name, path, dir string, g goal) command {
	return command{name: name, goal: g, pipeline: "perf script -i " + path + " -F ip,sym,srcline >/dev/null",
		env: []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DEBUGINFOD_URLS="}}
}

// floorOf returns a command with its floor set.
func floorOf(c command) command {
	c.floor = true
	return c
}

// asanWith runs the program at path with the llvm-symbolizer in dir. Its reports on standard error are not shown.
func asanWith(name, path, dir string, g goal) command {
	return command{name: name, goal: g, pipeline: path + " 2>/dev/null", env: []string{"DEBUGINFOD_URLS=",
		"ASAN_OPTIONS=halt_on_error=0:suppress_equal_pcs=0:external_symbolizer_path=" + filepath.Join(dir, "llvm-symbolizer")}}
}

//go:embed program.txt
var programHeader string

// units is the number of units of the program that is recorded; functionsOfUnit how often each instantiates its functions.
const (
	units           = 32
	functionsOfUnit = 8
)

// recording returns a function that records the program for a time of the processor.
func recording(span time.Duration) func(dir string) (string, error) {
	return func(dir string) (string, error) {
		program, err := largeProgram(dir)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, fmt.Sprintf("perf-%v.data", span))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		return path, shell(fmt.Sprintf("perf record -q -N -F 10000 -e cpu-clock:u --call-graph fp -o %[1]s.part %s %d && mv %[1]s.part %[1]s", path, program, span.Milliseconds()))
	}
}

// largeProgram compiles a C++ program of 180 MB, which takes some minutes. Its file is two days old, so that it has an index.
func largeProgram(dir string) (path string, err error) {
	path = filepath.Join(dir, "program")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	source, err := os.MkdirTemp(dir, "source")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(source)
	write := func(name, text string) {
		err = errors.Join(err, os.WriteFile(filepath.Join(source, name), []byte(text), 0o600))
	}
	write("program.h", programHeader)
	var declared, called strings.Builder
	for u := range units {
		var calls strings.Builder
		for f := range functionsOfUnit {
			fmt.Fprintf(&calls, " + step<%d>(s, %d)", u*functionsOfUnit+f, f%3)
		}
		write(fmt.Sprintf("u%d.cc", u), fmt.Sprintf("#include \"program.h\"\nlong unit%d(long s) { return s%s; }\n", u, &calls))
		fmt.Fprintf(&declared, "long unit%d(long);\n", u)
		fmt.Fprintf(&called, "\t\ts += unit%d(s);\n", u)
	}
	write("main.cc", fmt.Sprintf("#include <cstdio>\n#include <cstdlib>\n#include <ctime>\n%sint main(int argc, char **argv) {\n\tlong s = 0;\n"+
		"\twhile (clock() / (CLOCKS_PER_SEC / 1000) < atol(argv[1])) {\n%s\t}\n\treturn s == 1;\n}\n", &declared, &called))
	if err != nil {
		return "", err
	}
	err = shell("cd " + source + " && ls *.cc | xargs -P \"$(nproc)\" -n 1 g++ -g -O2 -fno-omit-frame-pointer -c && g++ -o program *.o")
	return path, errors.Join(err, age(filepath.Join(source, "program")), os.Rename(filepath.Join(source, "program"), path))
}

// reporting compiles a program with 200 reports of its address sanitizer.
func reporting(dir string) (path string, err error) {
	path = filepath.Join(dir, "reports")
	const text = `#include <cstdlib>
#include <map>
#include <string>
#include <vector>
__attribute__((noinline)) static int after(const volatile char *p, int n) { return p[n]; }
static int sum(std::map<std::string, std::vector<int>> &m, char *p, int n) { int s = 0; for (auto &[k, v] : m) s += after(p, n) + v.size() + k.size(); return s; }
int main() {
	std::map<std::string, std::vector<int>> m;
	for (int i = 0; i < 200; i++) m[std::to_string(i)].push_back(i);
	char *p = (char *)malloc(64);
	free(p);
	return sum(m, p, 3) == 1;
}
`
	if err := os.WriteFile(path+".cc", []byte(text), 0o600); err != nil {
		return "", err
	}
	err = shell("clang++-22 -g -O1 -fno-omit-frame-pointer -fsanitize=address -fsanitize-recover=address -o " + path + " " + path + ".cc")
	return path, errors.Join(err, age(path))
}

// run prepares the caller's program and compares the tools.
func (c *aCaller) run(dir string, tools toolDirs) error {
	for _, needed := range [...]string{"perf", "g++", "clang++-22", "addr2line", "llvm-addr2line-22"} {
		if _, err := exec.LookPath(needed); err != nil {
			fmt.Printf("  skipped: %s is not installed (-install)\n", needed)
			return nil
		}
	}
	path, err := c.prepare(dir)
	if err != nil {
		return err
	}
	return compare(c.commands(path, tools))
}
