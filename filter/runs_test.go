package filter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// TestRuns holds that what one run of a program says of its file is no evidence for another run in the same log, whose file was another build:
// runs of two builds in either order, with a build ID in one of them and with none.
func TestRuns(t *testing.T) {
	dir := t.TempDir()
	code, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(code, []byte(`#include <execinfo.h>
#define NI __attribute__((noinline))
volatile int sink;
NI void show(void) { void *a[64]; int n = backtrace(a, 64); backtrace_symbols_fd(a, n, 2); sink++; }
#ifdef MORE
NI int more(int x) { sink += x * 7; sink ^= 9; return sink + x; }
#endif
NI int leaf(int x) { show(); sink += x; return x + sink; }
NI int mid(int x) { int r = leaf(x + 1); sink += r; return r; }
int main(int c, char **v) { int r = mid(c); sink += r; return 0; }
`), 0o600); err != nil {
		t.Fatal(err)
	}
	build := func(flags ...string) (log, id string) {
		compiled(t, append(flags, "-w", "-g", "-O1", "-pie", "-fPIE", "-Wl,--build-id", "-o", program, code)...)
		notes, err := exec.Command("readelf", "-n", program).Output()
		m := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(notes)
		if err != nil || m == nil {
			t.Skipf("readelf: %v", err)
		}
		return errorOutput(program, nil), string(m[1])
	}
	before, id := build()
	now, _ := build("-DMORE")
	// As a sanitizer writes a frame, in the call, with its build ID.
	last := regexp.MustCompile(`\(\+0x([0-9a-f]+)\)\[(0x[0-9a-f]+)\]`)
	frame := last.FindStringSubmatch(before)
	identified := "#0 " + frame[2] + "  (" + program + "+0x" + frame[1] + ") (BuildId: " + id + ")\n"
	truth := oracle(t, program, offsetsOf(last, now))
	right := map[string]string{} // functions by the addresses of the build that is there
	for i, m := range last.FindAllStringSubmatch(now, -1) {
		if strings.Contains(now, program) && i < len(truth) {
			right[m[2]] = truth[i][len(truth[i])-1].function
		}
	}
	pointed, err := locate.New(locate.Options{Symbols: []string{program}})
	if err != nil {
		t.Fatal(err)
	}
	object := symobject.NewSource(pointed)
	defer object.Close()
	for name, source := range map[string]symsrc.Source{"this machine's file": assumedFiles(t), "the file pointed at": object} {
		for order, log := range map[string]string{
			"the old run first": before + now, "the new run first": now + before, "text between": now + "text\n\ntext\n" + before,
			"an ID first": identified + "text\n" + before, "an ID first, and one frame": identified + "text\n" + strings.SplitAfter(before, "\n")[1],
		} {
			for _, fr := range framesNow(t, source, log) {
				if len(fr.Functions) == 0 || !strings.Contains(fr.Text, "/p(") {
					continue
				}
				m := last.FindStringSubmatch(fr.Text)
				is := fr.Functions[len(fr.Functions)-1].Function
				if want, ok := right[m[2]]; ok && is != want || !ok && is != "show" { // which is at one place in both builds
					t.Errorf("%s, %s: %s is %s, want %q", name, order, fr.Text, is, want)
				}
			}
		}
	}
}

// offsetsOf returns the offsets in a program of the frames that an expression matches.
func offsetsOf(frame *regexp.Regexp, log string) (offsets []uint64) {
	for _, m := range frame.FindAllStringSubmatch(log, -1) {
		var off uint64
		for _, c := range m[1] {
			off = off<<4 | uint64(strings.IndexRune("0123456789abcdef", c))
		}
		offsets = append(offsets, off)
	}
	return offsets
}
