package live_test

import (
	"fmt"
	"io"
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
)

// TestStackAfterTrampoline holds that a stack which ends at a signal's trampoline says nothing of the next one, however many lines of whatever
// kind are between the two: the first frame of that is a return address, and what lies there is another function.
func TestStackAfterTrampoline(t *testing.T) {
	dir := t.TempDir()
	many := make([]string, 5000)
	for i := range many {
		many[i] = fmt.Sprint("going on, step ", i)
	}
	for _, compiler := range []string{"gcc", "clang-22"} {
		for _, level := range []string{"-O1", "-O2"} {
			program := filepath.Join(dir, "stacks"+compiler+level)
			compiled(t, "-dumpversion") // skips where there are no compilers
			cmd := exec.Command(compiler, "-w", "-g", level, "-fno-omit-frame-pointer", "-pie", "-fPIE", "-o", program, "testdata/stacks.c", "-ldl")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Logf("%s: %v: %s", compiler, err, out)
				continue
			}
			for _, c := range []struct {
				as      string
				between []string
			}{
				{"glibc", []string{"recovered, going on"}},
				{"glibc", []string{"[0x0]"}},
				{"glibc", []string{""}},
				{"glibc", many},
				{"numbered", nil}, // a number that begins again
				{"numbered", []string{"recovered, going on"}},
				{"numbered", []string{"a.c:7:3: runtime error: signed integer overflow"}},
				{"numbered", many},
			} {
				log := errorOutput(program, nil, append([]string{c.as, "-"}, c.between...)...)
				var names []string
				for _, fr := range framesNow(t, sourceOf(t, program), log) {
					if n := len(fr.Functions); n > 0 && strings.Contains(fr.Text, program) {
						names = append(names, fr.Functions[n-1].Function)
					}
				}
				i := slices.Index(names, "check_quota")
				if i < 1 || names[i-1] != "on_segv" || i+1 >= len(names) || names[i+1] != "main" {
					t.Errorf("%s %s, as %s after %.40q: %v, want check_quota called by main below on_segv in\n%.2000s", compiler, level, c.as, c.between, names, log)
				}
			}
		}
	}
}

// signalFrame is a frame in what the filter prints of the programs below: the function, and the line.
var signalFrame = regexp.MustCompile(`(?m)^ +#\d+ +(?:(?:0x[0-9a-f]+ )?in|0x[0-9a-f]{16}) (\w+) \S+signals\.c:(\d+)`)

// TestMovedSignal holds that frames which a signal interrupted are right where the sanitizers have taken 1 from all addresses: from that of the
// trampoline, too. The interrupted function faults at its first instruction.
func TestMovedSignal(t *testing.T) {
	source, marks := "testdata/signals.c", markedLines(t, "testdata/signals.c")
	for _, flags := range []string{"-O1", "-O2", "-O1 -no-pie -fno-pie", "-O0"} {
		program := clangProgram(t, source, "-fsanitize=undefined -fno-sanitize=null "+flags)
		for _, options := range []string{"symbolize=0", "enable_symbolizer_markup=1"} {
			log := errorOutput(program, []string{"UBSAN_OPTIONS=" + options + ":handle_segv=0"}, "own")
			out := filtertest.RunAll(t, optionsFor(t, program), strings.NewReader(log))
			got := signalFrame.FindAllStringSubmatch(out, -1)
			want := [][2]string{{"on_segv", marks["printed"]}, {"read_cell", marks["interrupted"]}, {"main", marks["called"]}}
			if len(got) != len(want) {
				t.Errorf("%s %s: %d frames of the program, want %d:\n%s", flags, options, len(got), len(want), out)
				continue
			}
			for i, m := range got {
				if [2]string(m[1:3]) != want[i] {
					t.Errorf("%s %s: %s:%s, want %v:\n%s", flags, options, m[1], m[2], want[i], out)
				}
			}
		}
	}
}

// TestSummaryMoved holds that the place in a report's summary is that of its first frame: the address of a fault right behind a call.
func TestSummaryMoved(t *testing.T) {
	source, marks := "testdata/signals.c", markedLines(t, "testdata/signals.c")
	for _, tool := range []string{"undefined", "thread", "address"} {
		for _, level := range []string{"-O1", "-O2", "-Os"} {
			program := clangProgram(t, source, "-fsanitize="+tool+" -fno-sanitize=null "+level)
			for _, options := range []string{"symbolize=0", "enable_symbolizer_markup=1"} {
				env := []string{"UBSAN_OPTIONS=" + options, "TSAN_OPTIONS=" + options, "ASAN_OPTIONS=" + options}
				log := withoutRandom(program, env, "behind")
				out := filtertest.RunAll(t, optionsFor(t, program), strings.NewReader(log))
				first := signalFrame.FindStringSubmatch(out)
				summary := regexp.MustCompile(`(?m)^SUMMARY: .* (\w+) \S+signals\.c:(\d+)`).FindStringSubmatch(out)
				if first == nil || summary == nil {
					t.Errorf("%s %s %s: no first frame, or no summary:\n%s", tool, level, options, out)
					continue
				}
				if first[1] != "value" || first[2] != marks["behind"] || !slices.Equal(first[1:], summary[1:]) {
					t.Errorf("%s %s %s: the first frame is %v, the summary %v, want value at line %s:\n%s", tool, level, options, first[1:], summary[1:], marks["behind"], out)
				}
			}
		}
	}
}

// markedLines returns the lines of a source file that end in a comment of one word, by that word.
func markedLines(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	marks, n := map[string]string{}, 0
	for line := range strings.Lines(string(text)) {
		n++
		if _, word, found := strings.Cut(strings.TrimSpace(line), "; // "); found {
			marks[word] = strconv.Itoa(n)
		}
	}
	return marks
}

// clangProgram builds a program with clang, and skips the test if that is not possible.
func clangProgram(t *testing.T, source, flags string) string {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the programs run on x86-64 Linux")
	}
	needTool(t, "clang-22", "clang-22")
	program := filepath.Join(t.TempDir(), "program")
	args := append(strings.Fields(flags), "-w", "-g", "-fno-omit-frame-pointer", "-Wl,--build-id=sha1", "-o", program, source)
	if out, err := exec.Command("clang-22", args...).CombinedOutput(); err != nil {
		t.Skipf("clang-22 %s: %v\n%s", flags, err, out)
	}
	return program
}

// optionsFor are those of a filter that knows a program and this machine's libraries.
func optionsFor(t *testing.T, program string) filter.Options {
	t.Helper()
	source := sourceOf(t, program)
	t.Cleanup(func() { source.(io.Closer).Close() })
	return filter.Options{Symbols: source}
}

// withoutRandom is errorOutput of a program at places that are not random, into which the shadow memory of ThreadSanitizer fits.
func withoutRandom(program string, env []string, args ...string) string {
	if _, err := exec.LookPath("setarch"); err != nil {
		return errorOutput(program, env, args...)
	}
	return errorOutput("setarch", env, append([]string{"-R", program}, args...)...)
}
