package filter_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/match"
	"qss-filter/filter/print"
)

// TestLiteralSets holds that the vector search seldom stops in plain lines, whatever is searched for: not at bytes of the literals, and
// not at those that the halves of the bytes of literals of one set make up.
func TestLiteralSets(t *testing.T) {
	lines, size := plainLines(t)
	for _, c := range []struct {
		state match.When
		most  float64 // stops in each KiB
	}{
		{match.Always, 2}, {match.Always | match.Seeking, 2}, {match.Always | match.Retracing, 3}, {match.Always | match.Coloring, 12}, {match.Always | match.Absolute, 18}, {match.Always | match.Absolute | match.Renumbering, 34},
	} {
		search := match.NewScan(filter.Literals, c.state)
		stops := 0
		for _, line := range lines {
			stops += search.Stops(line)
		}
		if each := float64(stops) / float64(size) * 1024; each > c.most {
			t.Errorf("state %d: the search stops %.2f times in each KiB of plain lines", c.state, each)
		}
	}
}

// TestLiteralsInProse holds that the search does not stop often in sentences: programs log many, and the lines of plainLines have few.
func TestLiteralsInProse(t *testing.T) {
	const prose = "the quick worker thread started, taking longer than expected: waiting for a request handler to finish. " +
		"Retrying the connection from client 7 after 250 ms, using a config loaded during startup; missing cache entries are being fetched again. " +
		"Scheduling the next run, checking every pending job in the queue, and closing the remaining sockets. "
	if stops := match.NewScan(filter.Literals, match.Always).Stops([]byte(prose)); stops > 1 {
		t.Errorf("the search stops %d times in %d bytes", stops, len(prose))
	}
}

// plainLines returns lines of logs without a literal, and one of logcat many times, and their size.
func plainLines(t *testing.T) (lines [][]byte, size int) {
	t.Helper()
	err := filepath.WalkDir("../testdata/logs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && d.Name() == "bin" {
				return filepath.SkipDir
			}
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if !holdsLiteral(line) && !bytes.Contains(line, []byte("==")) { // the sanitizers' own lines
				lines = append(lines, line)
			}
		}
		return err
	})
	for range 400 {
		lines = append(lines, []byte(ordinary))
	}
	for _, line := range lines {
		size += len(line)
	}
	if err != nil || size < 32<<10 {
		t.Fatal(size, err)
	}
	return lines, size
}

// TestTriggers holds that no literal alone has its line read, but those that mean something whatever stands around them.
func TestTriggers(t *testing.T) {
	alone := []string{"*** *** ***", "==Process memory map follows", "Native frames: (J=", `"module_offset":`, "js\x1b[", "js:\x1b["}
	search := match.NewScan(filter.Literals, match.Always)
	for _, l := range filter.Literals {
		if l.When&match.Always == 0 {
			continue
		}
		line := "2026-11-21 10:11:12 host worker: request 7 done, status ok " + l.Text + " and nothing else to say about it\n"
		if got, want := search.Next([]byte(line), 0) >= 0, slices.Contains(alone, l.Text); got != want {
			t.Errorf("the line of %q is read: %v", l.Text, got)
		}
	}
}

// TestNearFrames holds that lines of tools and of other platforms, which hold a literal beside what is almost a frame, are not read.
func TestNearFrames(t *testing.T) {
	search := match.NewScan(filter.Literals, match.Always)
	for _, line := range []string{
		"   1000e:\tje     10012 <GLIBC_2.15@@GLIBC_2.15+0x10012>",
		"    0.00 :   155921: ja     155c50 <__strcmp_avx2+0x340>",
		"arm-linux-gnueabihf-ld: update.c:(.text+0x1598): undefined reference to `__bad_cmpxchg'",
		"\t/go/src/github.com/google/syzkaller/prog/clone.go:75 +0x8b8",
		"   reads from CF offset +0x10 (wire 0x18).",
		`21:45:23     INFO - GECKO(8692) | #13: BaseThreadInitThunk [C:\Windows\System32\KERNEL32.DLL + 0x2e8d7]`,
		"0000000001afc620 T llvm::MemorySanitizerPass::run(llvm::Function&, llvm::AnalysisManager<llvm::Function>&)@@LLVM_14",
		"14:58:28     INFO -      sp = 0x000000016f3b8920     pc = 0x00000001817d8e98",
		"21:36:55     INFO -  <<<<<<<",
		`{"source":"Auth.js:888","message":"login of \"test\" failed","level":4}`,
		`[2023-05-15] local.ERROR: Uncaught ReflectionException: Class "App\Policies\Customer" does not exist`,
		`{"filename":"lib/urllib.py","function":"open","lineno":12,"colno":4}`,
		`{"methodName":"run","fileName":"Worker.java","lineNumber":12,"column":0,"className":"x.Worker"}`,
		`Now using Node.js 20:11 of http://127.0.0.1`,
		`Old Config: ['avd.ini.encoding=UTF-8\n', 'path=/builds/mozemulator-x86_64.avd\n']`,
	} {
		if search.Next([]byte(line+"\n"), 0) >= 0 {
			t.Errorf("read: %s", line)
		}
	}
}

// TestUnread holds that a line which is not looked at means nothing, and a string of an object of JSON that is not: the output of real logs is
// the same if all are.
func TestUnread(t *testing.T) {
	logs := 0
	for _, root := range unreadLogs() {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) == ".so" {
				if err == nil && d.Name() == "bin" {
					return filepath.SkipDir
				}
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil || len(text) > 1<<20 || bytes.HasPrefix(text, []byte("\x7fELF")) {
				return err
			}
			logs++
			for i, o := range []filter.Options{{}, {Explain: true, Renumber: print.RenumberAlways}, {}} {
				o.Symbols = &symbols{}
				if i == 2 {
					text = objectsOf(text)
				}
				run := func(every bool) string {
					f := filter.New(o)
					if every {
						f.ReadEveryLine()
					}
					var out strings.Builder
					if err := f.Run(context.Background(), bytes.NewReader(text), &out); err != nil {
						t.Fatal(err)
					}
					return out.String()
				}
				if want, got := run(true), run(false); got != want {
					i := 0
					for i < min(len(got), len(want)) && got[i] == want[i] {
						i++
					}
					t.Errorf("%s: got %q\nwant %q", path, filtertest.Cut(got[max(0, i-200):]), filtertest.Cut(want[max(0, i-200):]))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if logs < 20 {
		t.Errorf("only %d logs", logs)
	}
}

// objectsOf returns the lines of a log as objects of JSON with other strings, some of them in one string.
func objectsOf(log []byte) (objects []byte) {
	for lines := range slices.Chunk(slices.Collect(bytes.Lines(log)), 5) {
		object, _ := json.Marshal(map[string]any{"level": "error", "caller": "worker/pool.go:17", "first": string(lines[0]), "all": string(bytes.Join(lines, nil)), "took": "0x12 ms"})
		objects = append(append(objects, object...), '\n')
	}
	return objects
}

func unreadLogs() []string {
	if dir := os.Getenv("QSS_LOGS"); dir != "" {
		return filepath.SplitList(dir)
	}
	return []string{"../testdata/logs", "../testdata/junit", "testdata/foreign", "frame/testdata", "prefix/testdata"}
}

// holdsLiteral reports whether a line holds one, whatever stands around it.
func holdsLiteral(line []byte) bool {
	for _, l := range filter.Literals {
		if l.Fits = nil; l.When&match.Always != 0 && l.In(line) {
			return true
		}
	}
	return false
}
