package live_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
)

// assumed is a source of one file that the user has not pointed at: function N begins at N<<8 and calls function N-1 at its end.
type assumed struct {
	// targets are what the calls of functions lead to in the place of the function before.
	targets map[uint64]uint64
}

func (s *assumed) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	a := symsrc.Answer{Files: &symsrc.Files{Elf: q.Module.Name, Unverified: q.Module.BuildID == "", Assumed: q.Module.BuildID == ""}}
	n := q.Offset >> 8
	switch {
	case q.Kind == symsrc.CallSite && n >= 1 && n <= 9:
		a.Call = &symsrc.Call{Addr: q.Offset, Text: true, Start: n << 8}
		// As codeprobe has it, a call ends at a return address, and at one that was moved into the call.
		if a.Call.Ends = q.Offset&0xff == 0x20 || q.Offset&0xff == 0x1f; a.Call.Ends {
			to, other := s.targets[n]
			if !other {
				to = (n - 1) << 8
			}
			a.Call.Targets = []symsrc.Target{{Addr: to}}
		}
	case q.Kind == symsrc.CallSite:
		a.Call = &symsrc.Call{Addr: q.Offset}
	case q.Kind == symsrc.Named:
		var begin uint64
		if _, err := fmt.Sscanf(q.Symbol, "f%d", &begin); err == nil {
			a.Frames = []symsrc.Frame{{Func: q.Symbol, Linkage: q.Symbol, Offset: q.Offset - begin<<8, Size: 0xff}}
		}
	case n >= 1 && n <= 9:
		name := fmt.Sprintf("f%d", n)
		a.Frames = []symsrc.Frame{{Func: name, Linkage: name, File: "f.c", Line: int(n)}}
	}
	return a
}

// stackText returns a stack of an assumed file, whose frames are at these places.
func stackText(places ...uint64) string {
	var b strings.Builder
	for i, at := range places {
		fmt.Fprintf(&b, "    #%d 0x7f%04x  (/a.so+0x%x)\n", i, at, at)
	}
	return b.String()
}

// symbolized returns a stack with the functions of an assumed file that an emitter has found at these places.
func symbolized(at ...uint64) string {
	var b strings.Builder
	for i := 0; i+1 < len(at); i += 2 {
		fmt.Fprintf(&b, "    #%d 0x7f%04x in f%d f.h:%d\n", i/2, at[i], at[i+1], at[i+1])
	}
	return b.String() + "\n"
}

// TestProof holds which stacks prove a file that the user has not pointed at.
func TestProof(t *testing.T) {
	const unproven, other = "not verified: the log has no build ID", "another build: "
	for _, tc := range []struct {
		name   string
		log    string
		source assumed
		named  int    // frames
		why    string // of those without a name
	}{
		{"calls and what they lead to", stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 3, ""},
		{"return addresses as they are", stackText(0x110, 0x220, 0x320) + "\n", assumed{}, 3, ""},
		{"one call is not enough", stackText(0x110, 0x21f) + "\n", assumed{}, 0, unproven},
		{"a frame alone", stackText(0x110) + "\n", assumed{}, 0, unproven},
		{"a sentence", "SUMMARY: AddressSanitizer: ABRT (/a.so+0x110)\n", assumed{}, 0, unproven},
		{"a sentence about a place of the stack", stackText(0x110, 0x21f, 0x31f) + "SUMMARY: AddressSanitizer: ABRT (/a.so+0x110)\n", assumed{}, 4, ""},
		{"above all that agrees", stackText(0x110, 0x21f, 0x31f) + "SUMMARY: AddressSanitizer: ABRT (/a.so+0x510)\n", assumed{}, 3, unproven},
		{"no call ends there", stackText(0x110, 0x21f, 0x31f, 0x430) + "\n", assumed{}, 0, other + "no call ends at 0x430 in a.so"},
		{"no code", stackText(0x110, 0x21f, 0xf20, 0x31f) + "\n", assumed{}, 0, other + "no code at 0xf20 in a.so"},
		{"refuted later", stackText(0x110, 0x21f, 0x31f) + "\n" + stackText(0x118, 0x230) + "\n", assumed{}, 3, other + "no call ends at 0x230 in a.so"},
		{"calls of others", stackText(0x110, 0x21f, 0x31f) + "\n", assumed{targets: map[uint64]uint64{2: 0x500, 3: 0x500}}, 0, unproven},
		{"another stack names it so, too", symbolized(0x110, 1, 0x21f, 2, 0x31f, 3) + stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 3, ""},
		{"it says otherwise", symbolized(0x110, 1, 0x21f, 5, 0x31f, 3) + stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 0, other + "no f5 at 0x21e in a.so"},
		{"and its addresses lie in the calls", symbolized(0x110, 1, 0x21e, 5, 0x31e, 3) + stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 0, other + "no f5 at 0x21e in a.so"},
		{"it names what is inlined", symbolized(0x110, 1, 0x21f, 5, 0x21f, 2, 0x31f, 3) + stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 3, ""},
		{"it names nothing", strings.ReplaceAll(symbolized(0x110, 1, 0x21f, 5, 0x31f, 3), "f5", "??") + stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 3, ""},
		{"of another process", "==7==ERROR: AddressSanitizer: ABRT\n" + symbolized(0x110, 1, 0x21f, 5, 0x31f, 3) + "==8==ERROR: AddressSanitizer: ABRT\n" +
			stackText(0x110, 0x21f, 0x31f) + "\n", assumed{}, 3, ""},
		{"its names alone prove nothing", symbolized(0x110, 1, 0x21f, 2, 0x31f, 3) + stackText(0x110, 0x21f) + "\n", assumed{}, 0, unproven},
		{"with a build ID", strings.ReplaceAll(stackText(0x110), ")\n", ") (BuildId: 0123abcd)\n"), assumed{}, 1, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			out := filtertest.RunAll(t, filter.Options{Symbols: &tc.source, Explain: true}, strings.NewReader(tc.log))
			if named := strings.Count(out, " f.c:"); named != tc.named {
				t.Errorf("%d frames have names, want %d:\n%s", named, tc.named, out)
			}
			if tc.why != "" && !strings.Contains(out, "["+tc.why+"]") {
				t.Errorf("no frame says why, want %s:\n%s", tc.why, out)
			}
			want := strings.Count(tc.log, "+0x")
			if strings.HasPrefix(tc.why, other) {
				want = tc.named
			}
			if own := filtertest.RunAll(t, filter.Options{Symbols: &tc.source, Ran: filtertest.Ran, Explain: true}, strings.NewReader(tc.log)); strings.Count(own, " f.c:") != want {
				t.Errorf("of a file that a program was seen with %d frames have names, want %d:\n%s", strings.Count(own, " f.c:"), want, own)
			}
			insists := filtertest.RunAll(t, filter.Options{Symbols: &tc.source, Insist: true, Explain: true}, strings.NewReader(tc.log))
			if named, marked := strings.Count(insists, " f.c:"), strings.Count(insists, symsrc.UnverifiedMark); named != strings.Count(tc.log, "+0x")-strings.Count(tc.log, "0xf") || marked != named-tc.named {
				t.Errorf("of a file that the user insists on %d frames have names, %d of them marked:\n%s", named, marked, insists)
			}
		})
	}
}

// TestProofSummary holds that the function which a report's summary names counts as one that the log has: a file that has it elsewhere is
// another one, from then on.
func TestProofSummary(t *testing.T) {
	for _, tc := range []struct {
		summary, why string
		named        int
	}{
		{"SUMMARY: AddressSanitizer: ABRT (/a.so+0x110) in f1", "", 4 + 3},
		{"SUMMARY: AddressSanitizer: ABRT (/a.so+0x110) in f1+0x10", "", 4 + 3},
		{"SUMMARY: AddressSanitizer: ABRT (/a.so+0x110) in ??", "", 4 + 3},
		{"SUMMARY: AddressSanitizer: ABRT (/a.so+0x110) in f5", "another build: no f5 at 0x110 in a.so", 3},
		{"SUMMARY: AddressSanitizer: ABRT (/a.so+0x110) in f1+0x80", "another build: no f1 at 0x110 in a.so", 3},
	} {
		log := stackText(0x110, 0x21f, 0x31f) + tc.summary + "\n" + stackText(0x110, 0x21f, 0x31f)
		out := filtertest.RunAll(t, filter.Options{Symbols: &assumed{}, Explain: true}, strings.NewReader(log))
		if named := strings.Count(out, " f.c:"); named != tc.named {
			t.Errorf("%s: %d frames have names, want %d:\n%s", tc.summary, named, tc.named, out)
		}
		if raw := strings.Count(out, "["+tc.why+"]"); tc.why != "" && raw != 4 {
			t.Errorf("%s: %d frames say why, want %s:\n%s", tc.summary, raw, tc.why, out)
		}
	}
}

// TestProofHolds holds that lines wait for the end of their stack and no longer, in their order, and that nothing else waits.
func TestProofHolds(t *testing.T) {
	logcat := func(pid int, text string) string {
		return fmt.Sprintf("09-15 16:33:02.123  %d  %d E tag: %s\n", pid, pid, strings.TrimSuffix(text, "\n"))
	}
	frames := strings.SplitAfter(stackText(0x110, 0x21f, 0x31f), "\n")
	for _, tc := range []struct {
		name  string
		lines []string
		left  []int // how many lines have left after each one
	}{
		{"a stack and its end", append(frames[:3:3], "\n", "more\n"), []int{0, 0, 0, 4, 5}},
		{"before it", append([]string{"text\n", "more\n"}, append(frames[:3:3], "\n")...), []int{1, 2, 2, 2, 2, 6}},
		{"the next stack", append(frames[:2:2], frames[0], "\n"), []int{0, 0, 2, 4}},
		{"lines of others between", []string{logcat(1, frames[0]), logcat(2, "text"), logcat(1, frames[1]), logcat(1, "end")}, []int{0, 0, 0, 4}},
		{"a verified stack", []string{strings.Replace(frames[0], ")\n", ") (BuildId: 0123abcd)\n", 1), "more\n"}, []int{1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			feed := filter.New(filter.Options{Symbols: &assumed{}}).Feed()
			var all []byte
			for i, line := range tc.lines {
				all = feed.Add(t.Context(), all, []byte(line))
				if left := strings.Count(string(all), "\n"); left != tc.left[i] {
					t.Errorf("after line %d, %q, %d lines have left, want %d:\n%s", i+1, line, left, tc.left[i], all)
				}
			}
			if got, want := strings.Count(string(feed.Flush(all)), "\n"), len(tc.lines); got != want {
				t.Errorf("%d lines in all, want %d", got, want)
			}
		})
	}
}

// TestProofPause holds that lines leave when the log pauses, and that what comes after it belongs to the same stack.
func TestProofPause(t *testing.T) {
	frames := strings.SplitAfter(stackText(0x110, 0x21f, 0x31f), "\n")
	feed := filter.New(filter.Options{Symbols: &assumed{}}).Feed()
	out := feed.Flush(feed.Add(t.Context(), nil, []byte(frames[0]+frames[1])))
	if string(out) != frames[0]+frames[1] {
		t.Errorf("before the pause: %q", out)
	}
	out = feed.Flush(feed.Add(t.Context(), nil, []byte(frames[2])))
	if !strings.Contains(string(out), "in f3 f.c:3") {
		t.Errorf("after it, when two calls agree: %q", out)
	}
}

// TestProofCounts holds that frames without proof count as such, and that one message says how to allow them.
func TestProofCounts(t *testing.T) {
	const trust = "HOW trusts these files"
	how := func(string) string { return trust }
	var warned []string
	o := filter.Options{Symbols: &assumed{}, JSON: &jsonl.Options{}, Trust: how, Warn: func(m string) { warned = append(warned, m) }}
	f := filter.New(o)
	var out strings.Builder
	if err := f.Run(t.Context(), strings.NewReader(stackText(0x110, 0x21f)+"\n"+stackText(0x510)), &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"status":"NOT_VERIFIED","reason":"not verified: the log has no build ID; `+trust+`"`); n != 3 {
		t.Errorf("%d frames are not verified, want 3:\n%s", n, out.String())
	}
	if s := f.Summary(); s.Unnamed() != 3 || len(s.Modules) != 1 || !strings.HasPrefix(s.Modules[0].Reason, "NOT_VERIFIED: the log has no build ID") {
		t.Errorf("summary: %+v", s)
	}
	if n := f.Tally().By[symsrc.NotVerified]; n != 3 {
		t.Errorf("%d of the frames counted are not verified, want 3", n)
	}
	if len(warned) != 1 || !strings.HasSuffix(warned[0], trust) {
		t.Errorf("messages: %q", warned)
	}
}

// TestForeign holds that logs of other machines, whose files this machine has in other builds, leave as they came: those of the tests of
// ClusterFuzz.
func TestForeign(t *testing.T) {
	logs := 0
	for _, pattern := range []string{"../testdata/foreign/*.log", "../tree/testdata/clusterfuzz/*.txt"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			log, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			logs++
			if out := filtertest.RunAll(t, filter.Options{Symbols: assumedFiles(t)}, strings.NewReader(string(log))); out != string(log) {
				t.Errorf("%s has become\n%s", path, out)
			}
		}
	}
	if logs < 100 {
		t.Errorf("only %d logs", logs)
	}
}
