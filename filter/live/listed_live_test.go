package live_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
)

// TestListsOfProcesses holds that each process of a log has the names that it has alone, whether its list of mappings comes after the stack of
// another one or before.
func TestListsOfProcesses(t *testing.T) {
	program := filepath.Join(t.TempDir(), "listed")
	compiled(t, "-O1", "-g", "-Wl,--build-id=none", "-o", program, "testdata/listed.c")
	source := assumedFiles(t)
	names := func(log string) (names []string) {
		for _, f := range framesOf(t, source, log, false) {
			if len(f.Functions) > 0 {
				names = append(names, f.Functions[0].Function)
			}
		}
		return names
	}
	behind := func(prefix, log string) (lines []string) {
		for line := range strings.Lines(log) {
			lines = append(lines, prefix+line)
		}
		return lines
	}
	logs := []string{errorOutput(program, nil), errorOutput(program, nil)}
	alone := [][]string{names(logs[0]), names(logs[1])}
	if !slices.Contains(alone[0], "printed") || !slices.Contains(alone[1], "main") {
		t.Fatalf("%v, want printed and main, in %s", alone, logs[0])
	}
	for _, prefix := range []string{"Nov 28 10:00:00 host prog[%d]: ", "11-20 15:58:12.060  %[1]d  %[1]d I prog : "} {
		first, second := behind(fmt.Sprintf(prefix, 4711), logs[0]), behind(fmt.Sprintf(prefix, 4712), logs[1])
		if got := names(strings.Join(slices.Concat(first, second), "")); !slices.Equal(got, slices.Concat(alone[0], alone[1])) {
			t.Errorf("%q, one after the other: %v, want %v", prefix, got, alone)
		}
		var mixed []string
		for i := range max(len(first), len(second)) {
			mixed = slices.Concat(mixed, first[min(i, len(first)):min(i+1, len(first))], second[min(i, len(second)):min(i+1, len(second))])
		}
		if got := names(strings.Join(mixed, "")); len(got) != len(alone[0])+len(alone[1]) {
			t.Errorf("%q, mixed: %v, want %v", prefix, got, alone)
		}
	}
}

// TestLiveFortranListed runs a program of gfortran, whose runtime lists all functions at an address with their places below: each frame keeps
// its own, at that place. Its addresses lie in the calls already.
func TestLiveFortranListed(t *testing.T) {
	needTool(t, "gfortran", "gfortran")
	frame := regexp.MustCompile(`^#\d+  (0x[0-9a-f]+) in (\S+)( /\S+?:(\d+)(:\d+)?)?\n$`)
	inlined := 0
	for _, flags := range [][]string{{"-O0"}, {"-O1"}, {"-O2"}, {"-O3"}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "walks")
		args := append(flags, "-g", "-fcheck=bounds", "-Wl,--build-id=sha1", "-o", path, "testdata/walks.f90")
		if out, err := exec.Command("gfortran", args...).CombinedOutput(); err != nil {
			t.Skipf("gfortran: %v\n%s", err, out)
		}
		for _, way := range []string{"fault", "error"} {
			text, _ := exec.Command(path, way).CombinedOutput()
			log := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			named, last := 0, ""
			for i, line := range filtertest.LineByLine(t, filter.Options{Symbols: sourceOf(t, dir)}, log) {
				if strings.Count(line, "\n") > 1 {
					t.Errorf("%s %s: %q became %q", flags, way, log[i], line)
				}
				m := frame.FindStringSubmatch(line)
				if m == nil || i+1 == len(log) {
					continue
				}
				if _, place, ok := strings.Cut(log[i+1], "walks.f90:"); ok && m[4] != place {
					t.Errorf("%s %s: %q: the runtime says %s", flags, way, line, place)
				} else if ok {
					named++
				}
				if m[1] == last && m[3] != "" {
					inlined++
				}
				last = m[1]
			}
			if named < 4 {
				t.Errorf("%s %s: %d frames have names in\n%s", flags, way, named, text)
			}
		}
	}
	if inlined == 0 {
		t.Error("no runtime has listed inlined functions")
	}
}
