package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// place is one function of a stack as a report names it; line is "" where the report has none.
type place struct{ function, file, line string }

var (
	reportFrame  = regexp.MustCompile(`^    #\d+(?:\.\d+)? +0x[0-9a-f]+ (?:in )?(.*?)( +\(/\S+\+0x[0-9a-f]+\)( \(BuildId: [0-9a-f]+\))?)?$`)
	reportSource = regexp.MustCompile(`^(.*) (\S*[/?]\S*?)(?::(\d+))?(?::\d+)?(?: \(approximate\))?$`)
)

// places reads the frames of the sample programs out of a report; those of system libraries depend on the machine.
func places(report string) []place {
	var all []place
	for line := range strings.Lines(report) {
		m := reportFrame.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil || strings.Contains(line, "libc-start.c") || strings.Contains(line, "libc_start_call_main.h") ||
			strings.Contains(line, "libsanitizer") || strings.Contains(m[2], "(/lib/") {
			continue
		}
		if at := reportSource.FindStringSubmatch(m[1]); at != nil && at[2] != "??" {
			all = append(all, place{at[1], at[2], at[3]})
		} else {
			all = append(all, place{function: strings.TrimSuffix(m[1], " ??:0")})
		}
	}
	return all
}

// writtenNow returns the path of a copy of a log: it is not older than the programs that it is of.
func writtenNow(t *testing.T, log string) string {
	t.Helper()
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(log))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSamples compares what the filter makes of real unsymbolized reports with the runtimes' own symbolized reports of
// the same faults: function, file and line of every frame of the sample programs.
func TestSamples(t *testing.T) {
	for _, tc := range []struct{ log, truth string }{
		{"asan-clang22-uaf.log", "asan-clang22-symbolized.log"},
		{"asan-clang22-markup.log", "asan-clang22-symbolized.log"},
		{"asan-gcc12-uaf.log", "asan-gcc12-uaf.symbolized.log"},
	} {
		out, err := exec.Command("qss-filter", "--symbols", "testdata/logs/bin", writtenNow(t, "testdata/logs/"+tc.log)).Output()
		if err != nil {
			t.Fatal(err)
		}
		truth, err := os.ReadFile("testdata/logs/" + tc.truth)
		if err != nil {
			t.Fatal(err)
		}
		got, want := places(string(out)), places(string(truth))
		if len(want) < 10 || len(got) != len(want) {
			t.Errorf("%s: %d frames, want %d\n%s", tc.log, len(got), len(want), out)
			continue
		}
		for i := range want {
			// gcc's runtime prints paths as the compiler was given them, and of a function that only its unit knows the
			// bare name; where the compiler left the line open, the runtimes print none and we the nearest one.
			bare, _, _ := strings.Cut(got[i].function, "(")
			same := (got[i].function == want[i].function || bare == want[i].function) && strings.HasSuffix(got[i].file, want[i].file) &&
				(want[i].line == "" || got[i].line == want[i].line)
			if !same {
				t.Errorf("%s: frame %d is %v, want %v", tc.log, i, got[i], want[i])
			}
		}
	}
}

var sampleFrame = regexp.MustCompile(`^ *#\d+(?:\.\d+)? +0x[0-9a-f]+ (?:in )?(.*?) +\(/home/dev/crash-examples/(bin/\S+)\+(0x[0-9a-f]+)\)`)

// TestSamplesAgainstPeer compares every frame of the sample programs in every sample log with llvm-symbolizer-22 on the
// same module and offset. Two differences are meant: where llvm says line 0 the filter names the nearest line before and
// marks it, and where llvm knows no file it says ??.
func TestSamplesAgainstPeer(t *testing.T) {
	if _, err := exec.LookPath("llvm-symbolizer-22"); err != nil {
		t.Skip("llvm-symbolizer-22 is not installed (Debian: llvm-22)")
	}
	logs, err := filepath.Glob("testdata/logs/*san-*.log")
	if err != nil || len(logs) < 10 {
		t.Fatalf("sample logs: %v, %v", logs, err)
	}
	chains := map[string]string{} // by module and offset
	for _, log := range logs {
		out, err := exec.Command("qss-filter", "--symbols", "testdata/logs/bin", writtenNow(t, log)).Output()
		if err != nil {
			t.Fatal(err)
		}
		// Lines of one chain follow each other; a chain that comes again must be the same.
		last, chain := "", ""
		for line := range strings.Lines(string(out) + "\n") {
			key, text := "", ""
			if m := sampleFrame.FindStringSubmatch(line); m != nil {
				key, text = m[2]+" "+m[3], m[1]
			}
			if key != last {
				chain = normalChain(chain)
				if before, ok := chains[last]; last != "" && ok && before != chain {
					t.Errorf("%s: %s is %q here and %q elsewhere", log, last, chain, before)
				}
				chains[last] = chain
				last, chain = key, ""
			}
			chain += text + "\n"
		}
	}
	delete(chains, "")
	if len(chains) < 40 {
		t.Errorf("only %d distinct frames", len(chains))
	}
	var keys, asked []string
	for key := range chains {
		module, offset, _ := strings.Cut(key, " ")
		if _, err := os.Stat("testdata/logs/" + module); err == nil { // or its report was symbolized where it was made, and its program is not kept
			keys, asked = append(keys, key), append(asked, "testdata/logs/"+module+" "+offset)
		}
	}
	out, err := exec.Command("llvm-symbolizer-22", asked...).Output() // once: it takes longer to start than to answer
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n")
	if len(answers) != len(keys) {
		t.Fatalf("%d answers for %d frames", len(answers), len(keys))
	}
	for i, key := range keys {
		if got, want := chains[key], peerChain(answers[i]); got != want {
			t.Errorf("%s:\n got %q\nwant %q", key, got, want)
		}
	}
}

// peerChain rewrites llvm-symbolizer's pairs of lines as the filter's `func file:line:col`.
func peerChain(out string) string {
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var b strings.Builder
	for i := 0; i+1 < len(lines); i += 2 {
		b.WriteString(lines[i])
		if lines[i+1] != "??:0:0" {
			b.WriteString(" " + strings.TrimSuffix(lines[i+1], ":0"))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var approximate = regexp.MustCompile(`:\d+(:\d+)? \(approximate\)`)

func normalChain(chain string) string {
	return strings.ReplaceAll(approximate.ReplaceAllString(chain, ":0"), " ??:0\n", "\n")
}

// TestSoak reads some of the traffic of testdata/soak, as much as a test has time for.
func TestSoak(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors and memory are read from /proc")
	}
	lines := "60000"
	if testing.Short() {
		lines = "10000"
	}
	filter, err := exec.LookPath("qss-filter")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "run", "./testdata/soak", "-bin", filter, "-lines", lines, "-rate", "0").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
