package live_test

import (
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
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// sampleTruth is, by function, on which lines of crash.cc, crashlib.cc and bt.c the frames of the sample programs stand: what
// the runtimes' own symbolized reports and gdb say of the same faults. A function that faults or calls in several places has
// several; 0 is a frame for which the compiler left the line open.
var sampleTruth = map[string][]int{
	"inl_leaf": {11}, "demo::inl_leaf(int*, int)": {11}, "int demo::deref<int>(int*, int)": {12},
	"demo::Widget::poke(int)": {16, 19, 20, 21, 23, 24}, "cb(int)": {32}, "main": {35, 13},
	"lib_step": {2}, "lib_entry": {3}, "h": {10}, "hidden": {11}, "exported_fn": {12}, "inner": {2},
	"demo::Widget::poke(int)::$_0::operator()() const": {23}, "demo::Widget::poke(int)::$_1::operator()() const": {23},
}

// namedFrame is the answer in a frame of the sample programs.
var namedFrame = regexp.MustCompile(`(?:in |0x[0-9a-f]{16} |func=)(\S.*?) (?:src=)?/home/dev/crash-examples/src/[a-z]+\.cc?:(\d+)`)

// TestSampleFrames counts, over all sample logs, the frames of the sample programs whose function and line are right and
// those that are wrong, by what printed them.
func TestSampleFrames(t *testing.T) {
	right, wrong := map[string]int{}, map[string]int{}
	for name, log := range filtertest.Samples(t) {
		if strings.Contains(name, "symbolized") {
			continue
		}
		emitter, _, _ := strings.Cut(filepath.Base(name), "-")
		if strings.HasPrefix(name, "wrapped/") {
			emitter = "wrapped"
		}
		before := map[string]bool{}
		for line := range strings.Lines(log) {
			before[line] = true
		}
		for line := range strings.Lines(strings.ReplaceAll(filtertest.Run(t, filter.Options{}, log), `\n`, "\n")) {
			m := namedFrame.FindStringSubmatch(line)
			if m == nil || before[line] || strings.Contains(line, "SUMMARY") {
				continue
			}
			ok := false
			for _, n := range sampleTruth[m[1]] {
				ok = ok || strconv.Itoa(n) == m[2]
			}
			if ok {
				right[emitter]++
			} else {
				wrong[emitter]++
				t.Errorf("%s: wrong: %s", name, line)
			}
		}
	}
	want := map[string]int{"asan": 108, "glibc": 16, "java": 1, "lsan": 4, "tsan": 20, "ubsan": 4, "wrapped": 88}
	if fmt.Sprint(right) != fmt.Sprint(want) {
		t.Errorf("right %v, want %v; wrong %v", right, want, wrong)
	}
}

// places returns the marks of testdata/places.c: for each case the functions and their lines, innermost first, as often as marked.
func places(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/places.c")
	if err != nil {
		t.Fatal(err)
	}
	marks := map[string][]string{}
	mark := regexp.MustCompile(`// (\w+): (\w+)`)
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		for _, m := range mark.FindAllStringSubmatch(line, -1) {
			marks[m[1]] = append(marks[m[1]], fmt.Sprintf("%s %d", m[2], n))
		}
	}
	return marks
}

// placeFrame is a frame of places.c in what the filter prints.
var placeFrame = regexp.MustCompile(`(?m)(?:in(?:to)? |0x[0-9a-f]{16} )(\w+) \S*places\.c:(\d+)`)

// flagged is the emitter that places.c plays.
var flagged = regexp.MustCompile(`FORM=(\w+)`)

// unclear are the cases of emitters in which a frame stays as it is, since no line of theirs tells what it is: FreeCAD's and libexecinfo's say no
// distance where it is 0, and the latter name no trampoline as Linux has it, nor a function at the end of the code. FoundationDB's says of
// neither address what it is.
var unclear = map[string][]string{"FREECAD": {"first", "last", "lineend"}, "EXECINFO": {"interrupted", "last"}, "ADDR2LINE": {"interrupted"}}

// TestPlaces builds a program that faults and calls where the right line is hard to tell, and lets every emitter that is at hand
// print its stacks: the lines must be those that are marked in its source.
func TestPlaces(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("makes programs for Linux")
	}
	marks := places(t)
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/places.c")
	if err != nil {
		t.Fatal(err)
	}
	found, err := locate.New(locate.Options{WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	symbols := symobject.NewSource(found)
	const markup = "enable_symbolizer_markup=1:abort_on_error=0"
	const text = "symbolize=0:abort_on_error=0"
	total := 0
	for i, how := range []struct{ compiler, flags, options string }{
		{"gcc", "-O1", ""}, {"gcc", "-O2 -fno-optimize-sibling-calls", ""}, {"gcc", "-O1 -no-pie", ""},
		{"clang-22", "-O1", ""}, {"clang-22", "-O2 -fno-optimize-sibling-calls", ""},
		{"gcc", "-O1 -fsanitize=address -DSANITIZED", text}, {"clang-22", "-O1 -fsanitize=address -DSANITIZED", text},
		{"clang-22", "-O1 -fsanitize=address -DSANITIZED", markup}, {"clang-22", "-O1 -fsanitize=thread -DSANITIZED", markup},
		{"clang-22", "-O1 -fsanitize=undefined -DSANITIZED", markup}, {"clang-22", "-O1 -fsanitize=undefined -DSANITIZED", text},
		{"gcc", "-O1 -rdynamic -DFORM=OPENJ9", ""}, {"gcc", "-O1 -rdynamic -DFORM=FREECAD", ""}, {"gcc", "-O1 -rdynamic -DFORM=EXECINFO", ""},
		{"gcc", "-O1 -no-pie -DFORM=EXECINFO", ""}, {"gcc", "-O1 -no-pie -DFORM=ADDR2LINE", ""},
	} {
		name := fmt.Sprint(how.compiler, " ", how.flags, " ", how.options)
		if _, err := exec.LookPath(how.compiler); err != nil {
			t.Logf("%s is not installed", how.compiler)
			continue
		}
		program := filepath.Join(dir, fmt.Sprint("places", i))
		args := append(strings.Fields(how.flags), "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", program, source)
		if out, err := exec.Command(how.compiler, args...).CombinedOutput(); err != nil {
			t.Logf("%s: cannot be built: %s", name, out)
			continue
		}
		for kase, want := range marks {
			if how.options != "" && (kase == "first" || kase == "interrupted") {
				want = want[1:] // no handler of ours
			}
			cmd := exec.Command(program, kase)
			if strings.Contains(how.flags, "thread") {
				cmd = exec.Command("setarch", "-R", program, kase) // its shadow memory does not fit every layout
			}
			for _, tool := range []string{"ASAN", "TSAN", "UBSAN"} {
				cmd.Env = append(cmd.Env, tool+"_OPTIONS="+how.options)
			}
			log, _ := cmd.CombinedOutput()
			var got []string
			for _, m := range placeFrame.FindAllStringSubmatch(filtertest.Run(t, filter.Options{Symbols: symbols}, string(log)), -1) {
				if m[1] != "print" {
					got = append(got, m[1]+" "+m[2])
				}
			}
			if form := flagged.FindStringSubmatch(how.flags); form != nil && slices.Contains(unclear[form[1]], kase) {
				rest := want
				for _, frame := range got { // of these, none is wrong
					i := slices.Index(rest, frame)
					if i < 0 {
						t.Errorf("%s %s: got %v, of %v in\n%s", name, kase, got, want, log)
						break
					}
					rest = rest[i+1:]
					total++
				}
				continue
			}
			for n := range want { // the first stack of the report
				if n >= len(got) || got[n] != want[n] {
					t.Errorf("%s %s: got %v, want %v in\n%s", name, kase, got, want, log)
					break
				}
				total++
			}
		}
	}
	t.Logf("%d frames right", total)
}
