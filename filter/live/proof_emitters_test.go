package live_test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
)

// realEmitter is a library that prints the stack of the program which it is linked to; see testdata/emitters.cpp.
type realEmitter struct {
	name   string
	needs  string // a file of its Debian package
	pkg    string
	flags  []string
	scenes []string
	// frame matches a line with a frame that has an address, whose digits are its group, and exact one whose address is that of an
	// instruction. In moved frames 1 was taken from return addresses.
	frame, exact *regexp.Regexp
	moved        bool
	// least is how many of 100 frames have names at least.
	least int
}

var allScenes = []string{"deep", "qsort", "segv", "virtual", "memcpy", "thread"}

var backwardFrame = regexp.MustCompile(`^#\d+ +Object "/.*", at 0x([0-9a-f]+), in`)

var boostFrame = regexp.MustCompile(`^ *\d+# 0x([0-9A-F]{16}) in /`)

var realEmitters = []realEmitter{
	{name: "glog", least: 95, needs: "/usr/include/glog/logging.h", pkg: "libgoogle-glog-dev", flags: []string{"-DGLOG", "-lglog"}, scenes: allScenes,
		frame: regexp.MustCompile(`^    @ +0x([0-9a-f]+)`)},
	// Its unwinder follows frame pointers, which memcpy does not set.
	{name: "Abseil", least: 95, needs: "/usr/include/absl/debugging/stacktrace.h", pkg: "libabsl-dev", scenes: []string{"deep", "virtual", "thread"},
		flags: []string{"-DABSL", "-fno-omit-frame-pointer", "-labsl_examine_stack", "-labsl_stacktrace", "-labsl_symbolize"},
		frame: regexp.MustCompile(`^    @ +0x([0-9a-f]+)  `), exact: regexp.MustCompile(`^PC: @ +0x([0-9a-f]+)`)},
	{name: "Boost.Stacktrace", least: 95, needs: "/usr/include/boost/stacktrace.hpp", pkg: "libboost-stacktrace-dev", scenes: allScenes,
		flags: []string{"-DBOOST", "-ldl"}, frame: boostFrame},
	{name: "Boost.Stacktrace, addr2line", least: 95, needs: "/usr/include/boost/stacktrace.hpp", pkg: "libboost-stacktrace-dev", scenes: allScenes[:2],
		flags: []string{"-DBOOST", "-DBOOST_STACKTRACE_USE_ADDR2LINE", "-ldl"}, frame: boostFrame},
	{name: "Boost.Stacktrace, libbacktrace", least: 95, needs: "/usr/include/boost/stacktrace.hpp", pkg: "libboost-stacktrace-dev", scenes: []string{"deep", "qsort", "virtual", "thread"},
		flags: []string{"-DBOOST", "-DBOOST_STACKTRACE_LINK", "-lboost_stacktrace_backtrace", "-ldl"}, frame: boostFrame},
	// It begins with the outermost frame.
	{name: "backward-cpp", least: 95, needs: "/usr/include/backward.hpp", pkg: "libbackward-cpp-dev", scenes: allScenes, flags: []string{"-DBACKWARD"},
		frame: backwardFrame, moved: true},
	{name: "backward-cpp, in a handler", least: 90, needs: "/usr/include/backward.hpp", pkg: "libbackward-cpp-dev", scenes: []string{"segv", "thread"},
		flags: []string{"-DBACKWARD_HERE"}, frame: backwardFrame, moved: true},
}

// printed is a frame that an emitter has printed: the place of its instruction in the program.
type printed struct {
	line int
	at   uint64
	text string
}

// TestRealEmitters holds that the stacks which libraries print of a program without symbols prove nearly all of its frames, and that
// none gets another name than addr2line finds in the program's file.
func TestRealEmitters(t *testing.T) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the programs run on x86-64 Linux")
	}
	for i := range realEmitters {
		e := &realEmitters[i]
		t.Run(e.name, func(t *testing.T) {
			needTool(t, "g++", "g++")
			needTool(t, "objdump", "binutils")
			needTool(t, "llvm-symbolizer-22", "llvm-22")
			if _, err := os.Stat(e.needs); err != nil {
				t.Skipf("%s is not installed", e.pkg)
			}
			var all, pointed filtertest.Tally
			for _, build := range [][]string{{"-O2", "-pie", "-fPIE"}, {"-O0", "-no-pie", "-fno-pie"}} {
				proven, n := e.count(t, build)
				all.Add(proven)
				pointed.Add(n)
			}
			t.Log(all.Row(t.Name()))
			t.Log(pointed.Row(t.Name() + ", pointed at"))
			if pointed.Right*100 < pointed.Frames*99 {
				t.Errorf("%d of %d frames have names of a file that the user points at", pointed.Right, pointed.Frames)
			}
			if all.Frames == 0 || all.Right*100 < all.Frames*e.least {
				t.Errorf("%d of %d frames have names", all.Right, all.Frames)
			}
		})
	}
}

// count builds a program, and compares what the filter makes of its stacks with the truth: of the file that the stacks prove, and of one
// that the user points at.
func (e *realEmitter) count(t *testing.T, build []string) (proven, pointed filtertest.Tally) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	args := slices.Concat([]string{"-w", "-g", "-D_GNU_SOURCE", "-fno-optimize-sibling-calls", "-o", program, "testdata/emitters.cpp"}, build, e.flags)
	if out, err := exec.Command("g++", args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	returns, low := returnsOf(t, program), lowest(t, program)
	whole := program + ".whole"
	if err := os.Rename(program, whole); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("strip", "-o", program, whole).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	var logs []string
	var frames [][]printed
	for i, scene := range e.scenes {
		logs = append(logs, errorOutput(program, nil, scene))
		frames = append(frames, e.printed(t, logs[i], program, low, func(at uint64) bool { return returns[at] }))
		if len(frames[i]) == 0 {
			t.Errorf("%s: no frames in %s", scene, logs[i])
		}
	}
	if err := os.Rename(whole, program); err != nil {
		t.Fatal(err)
	}
	truth := truthOf(t, program, frames...)
	assumed, own := assumedFiles(t), sourceOf(t, filepath.Dir(program))
	for i, log := range logs {
		proven.Add(compareTruth(t, assumed, truth, log, frames[i]))
		pointed.Add(compareTruth(t, own, truth, log, frames[i]))
		compareProven(t, assumed, log) // also those of libraries
	}
	return proven, pointed
}

// TestRealNode is the same for Node.js, which names the functions of its dynamic symbols. It is as its package has it, with the symbols
// of all functions, and without debug information.
func TestRealNode(t *testing.T) {
	needTool(t, "node", "nodejs")
	needTool(t, "llvm-symbolizer-22", "llvm-22")
	program, err := exec.LookPath("node")
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !hasSymbols(program) {
		t.Skipf("%s has no symbols", program)
	}
	low, e := lowest(t, program), realEmitter{frame: regexp.MustCompile(`^ *\d+: 0x([0-9a-f]+) .*node\]$`)}
	const maps = "require('fs').writeSync(2, require('fs').readFileSync('/proc/self/maps'));"
	source := assumedFiles(t)
	var all filtertest.Tally
	logs := [][]string{{"-e", maps + "process.abort()"}, {"--max-old-space-size=20", "-e", maps + "for (const a = [];;) a.push(new Array(10000).fill({}))"}}
	for _, args := range logs {
		log := errorOutput(program, nil, args...)
		frames := e.printed(t, log, program, low, func(uint64) bool { return true }) // no signal has interrupted it
		if len(frames) == 0 {
			t.Skip("this Node.js prints no native stack")
		}
		all.Add(compareTruth(t, source, truthOf(t, program, frames), log, frames))
	}
	t.Log(all.Row(t.Name()))
	if all.Raw > len(logs) { // the outermost frame calls by way of a pointer
		t.Errorf("%d of %d frames have names", all.Right, all.Frames)
	}
}

// hasSymbols reports whether a program has the symbols of all its functions.
func hasSymbols(program string) bool {
	e, err := elf.Open(program)
	if err != nil {
		return false
	}
	defer e.Close()
	return e.Section(".symtab") != nil
}

// returnsOf returns the addresses after the calls of a program, as objdump has them.
func returnsOf(t *testing.T, program string) map[uint64]bool {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "-w", program).Output()
	if err != nil {
		t.Fatalf("objdump: %v", err)
	}
	call, returns := regexp.MustCompile(`(?m)^ *([0-9a-f]+):\t((?:[0-9a-f]{2} )+) *\tcall `), map[uint64]bool{}
	for _, m := range call.FindAllStringSubmatch(string(out), -1) {
		returns[number("0x"+m[1])+uint64(len(m[2])/len("e8 "))] = true
	}
	return returns
}

// printed returns the frames of a program that the emitter has printed.
func (e *realEmitter) printed(t *testing.T, log, program string, low uint64, isReturn func(at uint64) bool) (frames []printed) {
	t.Helper()
	mapped := regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) .* ` + program + "$")
	var first, end uint64
	for i, line := range strings.Split(log, "\n") {
		if m := mapped.FindStringSubmatch(line); m != nil {
			if first == 0 {
				first = number("0x" + m[1])
			}
			end = number("0x" + m[2])
			continue
		}
		m, exact := e.frame.FindStringSubmatch(line), false
		if m == nil && e.exact != nil {
			m, exact = e.exact.FindStringSubmatch(line), true
		}
		if m == nil {
			continue
		}
		pc := number("0x" + m[1])
		if pc < first || pc >= end {
			continue
		}
		at := pc - first + low
		if !exact && !e.moved && isReturn(at) {
			at--
		}
		frames = append(frames, printed{i + 1, at, line})
	}
	return frames
}

// truthOf returns the names that llvm-symbolizer finds for the frames of a program's logs: in one run, which takes longer to start than to
// answer.
func truthOf(t *testing.T, program string, logs ...[]printed) map[uint64]string {
	t.Helper()
	var at []uint64
	for _, f := range slices.Concat(logs...) {
		at = append(at, f.at)
	}
	truth := map[uint64]string{}
	for i, name := range functionsAt(t, program, at) {
		truth[at[i]] = name
	}
	return truth
}

// compareTruth compares the names of a program's frames with the true ones.
func compareTruth(t *testing.T, source symsrc.Source, truth map[uint64]string, log string, frames []printed) (n filtertest.Tally) {
	t.Helper()
	got, why := map[int]string{}, map[int]string{}
	out := filtertest.RunAll(t, filter.Options{Symbols: source, JSON: &jsonl.Options{}}, strings.NewReader(log))
	for line := range strings.Lines(out) {
		var l struct {
			Line   int
			Frames []struct {
				Reason    string
				Functions []struct {
					Linkage, Function string
					Line              int
				}
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		for _, f := range l.Frames {
			if why[l.Line] = f.Reason; len(f.Functions) > 0 {
				got[l.Line] = plain(f.Functions[0].Function) + " " + strconv.Itoa(f.Functions[0].Line)
			}
		}
	}
	for _, f := range frames {
		n.Frames++
		switch {
		case got[f.line] == "":
			if n.Raw++; n.Raw == 1 {
				t.Logf("stays as it is: %s: %s", f.text, why[f.line])
			}
		case got[f.line] == truth[f.at]:
			n.Right++
		default:
			n.Wrong++
			t.Errorf("%s: %s, want %s", f.text, got[f.line], truth[f.at])
		}
	}
	return n
}

// functionsAt asks llvm-symbolizer for the innermost functions at addresses, with their lines: 0 where it knows none. (addr2line has
// the function that others are inlined into, with their lines.)
func functionsAt(t *testing.T, program string, at []uint64) (places []string) {
	t.Helper()
	args := []string{"--output-style=JSON", "-e", program}
	for _, a := range at {
		args = append(args, fmt.Sprintf("%#x", a))
	}
	out, err := exec.Command("llvm-symbolizer-22", args...).Output()
	if err != nil {
		t.Fatalf("llvm-symbolizer: %v", err)
	}
	var answers []struct {
		Symbol []struct {
			FunctionName string
			Line         int
		}
	}
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(at) {
		t.Fatalf("llvm-symbolizer: %d answers for %d addresses: %v", len(answers), len(at), err)
	}
	for _, a := range answers {
		if len(a.Symbol) == 0 {
			places = append(places, "?? 0")
			continue
		}
		places = append(places, plain(a.Symbol[0].FunctionName)+" "+strconv.Itoa(a.Symbol[0].Line))
	}
	return places
}

// identifier is the last name before the arguments of a template or a function.
var identifier = regexp.MustCompile(`(~?\w+)(?:<.*>)?(?:\(.*)?$`)

// plain returns a function's name without its namespace, arguments, result and clone.
func plain(name string) string {
	name, _, _ = strings.Cut(name, " [clone")
	if m := identifier.FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return name
}
