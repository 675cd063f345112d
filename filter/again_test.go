package filter_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/print/jsonl"
	"qss-filter/filter/resolve"
)

// TestAgain holds that a line in which nothing is found is not read again where it repeats itself, and that one with a frame that has a name is.
func TestAgain(t *testing.T) {
	for line, repeats := range map[string]bool{
		"*** *** ***": true, "[unknown] (": true, "a Native frames: (J= b": true, "Thread 0 Crashed:": true, "\x1b[1m[0xa\x1b[0m": true, `{"a":"[shard 7"}`: true,
		"#3 {{{": true, "#0 0x10 (/a.so+0x10)": false, "<signal handler called> [0xa": false, "{{{bt:0:0x10}}}": false, "==Process memory map follows": true,
	} {
		log := strings.Repeat(line+"\n", 100)
		f := filter.New(filter.Options{Symbols: &symbols{}})
		if got := streamed(t, f, log); repeats && got != log {
			t.Errorf("%q becomes %q", line, got)
		}
		if f.ReadsAgain() == repeats {
			t.Errorf("%q is read again: %v", line, !repeats)
		}
	}
}

// TestAgainUnnamed holds that a line with frames that have no names is not read again where it repeats itself. Its frames are counted all
// the same. TestRebuilt has what becomes of it once the files are there.
func TestAgainUnnamed(t *testing.T) {
	for _, line := range []string{"dump_stack+0x20/0x68", "# C  [libhs.so+0x10f9]  inner+0x0", "prog(f+0x1)[0x123]", "#0 0x10 (/a.so+0x10) #1 0x20 (/a.so+0x20)",
		"    at f (/srv/app/dist/app.js:1:237)", `{"a":"prog(f+0x1)[0x123]"}`, "1   libsystem_c.dylib                   0x00007fff986f4191 start_wqthread + 13",
		strings.Repeat("f+0x37/0x50 ", 300)} {
		log := strings.Repeat(line+"\n", 100)
		f := filter.New(filter.Options{Symbols: nothing{}})
		streamed(t, f, log)
		if f.ReadsAgain() {
			t.Errorf("%.100q is read again", line)
		}
		if all := f.Tally(); all.Frames < 100 || all.Frames%100 != 0 || all.By[resolve.OK] > 0 {
			t.Errorf("%.100q: %+v", line, all)
		}
	}
}

// TestAgainAsRead holds that nothing depends on whether lines are read again: of random logs of frames, headlines and near frames, in which
// lines repeat themselves, the output is the same if each line is looked at in full.
func TestAgainAsRead(t *testing.T) {
	text, err := os.ReadFile("frame/testdata/frames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if frame, ok := strings.CutPrefix(line, "|"); ok {
			lines = append(lines, frame)
		}
	}
	near := []string{"*** *** ***\n", "==Process memory map follows\n", "Thread 0 Crashed:\n", "EIP:\n", "[ RUN      ] a.b\n", "segfault (core dumped)\n", "Crash Information\n", "[shard 0] a\n",
		"==7==ERROR: AddressSanitizer: x (pc 0x10)\n", "SUMMARY: AddressSanitizer: x\n", "a.c:1:1: runtime error: x\n", "{{{reset}}}\n", "{{{module:0:/a.so:elf:0123abcd}}}\n",
		"{{{mmap:0x1000:0x1000:load:0:rx:0}}}\n", "{{{bt:0:0x1010}}}\n", "7f0000000000-7f0000010000 r-xp 00000000 00:00 7 /a.so\n", "plain\n", "#0 0x10 (/a.so+0x10)\n",
		"#1 0x7f0000000010\n", "<signal handler called>\n", "{\"image_addr\":\"0x1000\"}\n", "pid: 7\n", "--- pid 7\n", "[0xa\n", "{{{\n", "<?xml \n", "Attaching 1 probe...\n",
		"plain text\n", "C  [missing/libc.so.6+0x10]\n", "C  [/a.so+0x11]\n", "/missing/libc.so.6(+0x10) [0x10]\n", "/a.so(+0x11) [0x11]\n", "\t 10 f+0x10 (/missing.so)\n", "\t 11 g+0x11 (/a.so)\n",
		"#1 0x10 (/missing.so+0x10)\n", "#2 0x11 (/a.so+0x11)\n", "    @ 0x10 (/missing.so+0x10)\n", "/missing.so(+0x10) [0x10] /missing.so(+0x10) [0x10]\n"}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 150 {
		var log strings.Builder
		var few []string
		near := near
		if rng.IntN(2) == 0 { // frames with names, and without, in one stack
			near = near[len(near)-11:]
		}
		for range 1 + rng.IntN(6) {
			few = append(few, near[rng.IntN(len(near))])
		}
		for range rng.IntN(3) {
			few = append(few, lines[rng.IntN(len(lines))])
		}
		for range 1 + rng.IntN(12) {
			log.WriteString(strings.Repeat(few[rng.IntN(len(few))], 1+rng.IntN(7)))
		}
		for name, o := range map[string]filter.Options{"plain": {}, "explained": {Explain: true}, "adjusted": {Adjust: resolve.AdjustAuto},
			"unknown": {Symbols: nothing{}}, "unknown and explained": {Symbols: nothing{}, Explain: true}, "replaced": {Symbols: nothing{}, Style: print.Replace},
			"numbered": {Symbols: nothing{}, Renumber: print.RenumberAlways}, "objects": {Symbols: nothing{}, JSON: &jsonl.Options{}}, "stacks": {Symbols: nothing{}, OnlyStacks: true}} {
			if o.Symbols == nil {
				o.Symbols = &symbols{}
			}
			got, want := filter.New(o), filter.New(o)
			want.FullLook(true)
			if a, b := streamed(t, got, log.String()), streamed(t, want, log.String()); a != b {
				t.Fatalf("%s, of %q:\n%q\nread in full:\n%q", name, log.String(), a, b)
			}
			if a, b := got.Tally(), want.Tally(); a != b {
				t.Fatalf("%s, of %q: %+v, read in full: %+v", name, log.String(), a, b)
			}
		}
	}
}

// streamed returns what becomes of a log that a filter carries.
func streamed(t *testing.T, f *filter.Filter, log string) string {
	var out bytes.Buffer
	if err := f.Run(context.Background(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
