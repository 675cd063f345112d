package live_test

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
		offsets = append(offsets, hexOf(m[1]))
	}
	return offsets
}

// TestProgramsAtOnePlace holds that what the stacks of one program say is no evidence for another one in the same log that has other functions
// at the same addresses, and neither for the same program at another place: programs that are not position-independent by turns, stack by stack
// and frame by frame; two runs of one that is, each after its list of mappings.
func TestProgramsAtOnePlace(t *testing.T) {
	dir := t.TempDir()
	code := filepath.Join(dir, "a.c")
	if err := os.WriteFile(code, []byte(`#include <execinfo.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#define NI __attribute__((noinline))
volatile int sink;
NI void show(int lists) {
	void *a[64]; int n = backtrace(a, 64); char b[4096];
	if (!lists) { backtrace_symbols_fd(a, n, 2); return; }
	for (int r, f = open("/proc/self/maps", O_RDONLY); (r = read(f, b, sizeof b)) > 0;) write(2, b, r);
	for (int i = 0; i < n; i++) dprintf(2, "    @ %18p (unknown)\n", a[i]);
}
#ifdef OTHER
NI int third(int x, int l) { sink += x * 7; show(l); return sink + x; }
NI int second(int x, int l) { sink ^= 3; int r = third(x, l); sink += r; return r; }
int main(int c, char **v) { sink++; sink ^= 5; int r = second(c, c > 1); sink += r; return 0; }
#else
NI int leaf(int x, int l) { show(l); sink += x; return x + sink; }
NI int mid(int x, int l) { int r = leaf(x + 1, l); sink += r; return r; }
int main(int c, char **v) { int r = mid(c, c > 1); sink += r; return 0; }
#endif
`), 0o600); err != nil {
		t.Fatal(err)
	}
	one, other, moving := filepath.Join(dir, "one"), filepath.Join(dir, "other"), filepath.Join(dir, "moving")
	compiled(t, "-w", "-g", "-O1", "-no-pie", "-fno-pie", "-o", one, code)
	compiled(t, "-w", "-g", "-O1", "-no-pie", "-fno-pie", "-DOTHER", "-o", other, code)
	compiled(t, "-w", "-g", "-O1", "-pie", "-fPIE", "-o", moving, code)
	truth := func(path string, offsets []uint64) (names []string) {
		for _, at := range oracle(t, path, offsets) {
			names = append(names, at[len(at)-1].function)
		}
		return names
	}
	frame := regexp.MustCompile(`/(one|other)\S* ?\[0x([0-9a-f]+)\]`)
	right := map[string]string{} // functions by program and address
	outputs := map[string]string{}
	for _, path := range []string{one, other} {
		log := errorOutput(path, nil)
		outputs[path] = log
		found := frame.FindAllStringSubmatch(log, -1)
		var offsets []uint64
		for _, m := range found {
			offsets = append(offsets, hexOf(m[2]))
		}
		for i, name := range truth(path, offsets) {
			right[found[i][1]+found[i][2]] = name
		}
	}
	a, b := outputs[one], outputs[other]
	var mixed strings.Builder
	first, second := strings.SplitAfter(a, "\n"), strings.SplitAfter(b, "\n")
	for i := range max(len(first), len(second)) {
		for _, lines := range [][]string{first, second} {
			if i < len(lines) {
				mixed.WriteString(lines[i])
			}
		}
	}
	for order, log := range map[string]string{"by turns": a + b + a + b, "with text between": b + "text\n\n" + a + "text\n\n" + b, "frame by frame": mixed.String()} {
		named := 0
		for _, fr := range framesNow(t, assumedFiles(t), log) {
			if m := frame.FindStringSubmatch(fr.Text); m != nil && len(fr.Functions) > 0 {
				named++
				if is := fr.Functions[len(fr.Functions)-1].Function; is != right[m[1]+m[2]] {
					t.Errorf("%s: %s is %s, want %s", order, fr.Text, is, right[m[1]+m[2]])
				}
			}
		}
		if named == 0 && order != "frame by frame" {
			t.Errorf("%s: nothing is named:\n%s", order, log)
		}
	}

	begin := regexp.MustCompile(`(?m)^([0-9a-f]+)-[0-9a-f]+ r--p 00000000 .*/moving$`)
	address := regexp.MustCompile(`@ +0x([0-9a-f]+) `)
	var log string
	at := map[string]string{}
	for range 2 {
		run := errorOutput(moving, nil, "lists")
		m := begin.FindStringSubmatch(run)
		if m == nil {
			t.Skipf("no list of mappings:\n%s", run)
		}
		var offsets []uint64
		var texts []string
		for _, fr := range address.FindAllStringSubmatch(run, -1) {
			if off := hexOf(fr[1]) - hexOf(m[1]); off < 1<<20 {
				offsets, texts = append(offsets, off), append(texts, fr[1])
			}
		}
		for i, name := range truth(moving, offsets) {
			at[texts[i]] = name
		}
		log += run + "text\n"
	}
	named := 0
	for _, fr := range framesNow(t, assumedFiles(t), log) {
		m := address.FindStringSubmatch(fr.Text + " ")
		if m == nil || at[m[1]] == "" || len(fr.Functions) == 0 {
			continue
		}
		named++
		if is := fr.Functions[len(fr.Functions)-1].Function; is != at[m[1]] {
			t.Errorf("at another place: %s is %s, want %s", fr.Text, is, at[m[1]])
		}
	}
	if named == 0 {
		t.Errorf("of the program that moves nothing is named:\n%s", log)
	}
}

// hexOf returns the value of hexadecimal digits.
func hexOf(digits string) (v uint64) {
	for _, c := range digits {
		v = v<<4 | uint64(strings.IndexRune("0123456789abcdef", c))
	}
	return v
}
