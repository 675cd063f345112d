package tree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// TestManyLogs compares the tables with 8 workers and with 1, for more rows than are kept in memory.
func TestManyLogs(t *testing.T) {
	before := spoolLimit
	t.Cleanup(func() { spoolLimit = before })
	spoolLimit = 1 << 20
	files := map[string]string{}
	for i := range 40 {
		var b strings.Builder
		for k := range 20 * (40 - i) {
			b.WriteString(frame(k%30, fmt.Sprintf("/lib%d.so", k%7), k))
		}
		files[fmt.Sprintf("d%d/log%02d", i%5, i)] = b.String()
	}
	b := newBatch(t, files)
	b.opt.Jobs, b.opt.Group = 8, true
	b.run(t, nil)
	names := []string{"frames.tsv", "failed_frames.tsv", "expanded_frames.tsv", "elf_list.tsv", "summary.json", "groups.tsv"}
	many := map[string]string{}
	for _, name := range names {
		many[name] = b.file(t, name)
	}
	if len(many["frames.tsv"])+len(many["expanded_frames.tsv"]) < spoolLimit {
		t.Errorf("only %d and %d bytes", len(many["frames.tsv"]), len(many["expanded_frames.tsv"]))
	}
	b.opt.Jobs = 1
	b.run(t, nil)
	for _, name := range names {
		if b.file(t, name) != many[name] {
			t.Errorf("%s differs with 8 workers", name)
		}
	}
}

// TestMixedThreads has interleaved stacks of two threads, a stack that does not begin with frame 0, and frames that the log names.
func TestMixedThreads(t *testing.T) {
	line := func(tid, n, off int) string {
		return fmt.Sprintf("01-02 03:04:05.600  100 %d F x: #%d 0x%x (/a.so+0x%x)\n", tid, n, off, off)
	}
	log := line(7, 0, 2) + line(8, 3, 4) + line(7, 1, 6) + line(8, 4, 8) + line(7, 0, 10)
	b := newBatch(t, map[string]string{"l\ta": log + "#0 0x14 in main /src/m.c:12:3 (/a.so+0x14)\n#1 0x16 (/a.so+0x16)\n"})
	b.run(t, nil)
	const want = `=== STACK 0 (l\ta: line 1) ===
#0 0x2 in fn_2 /src/a.c:2
#1 0x6 in fn_6 /src/a.c:6

=== STACK 1 (l\ta: line 2) ===
#0 0x4 in fn_4 /src/a.c:4
#1 0x8 in fn_8 /src/a.c:8

=== STACK 2 (l\ta: line 5) ===
#0 0xa in fn_a /src/a.c:10

=== STACK 3 (l\ta: line 6) ===
#0 0x14 in main /src/m.c:12:3 (/a.so+0x14)
#1 0x16 in fn_16 /src/a.c:22
`
	if got := b.file(t, "l\ta.stack.txt"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := b.file(t, "expanded_frames.tsv"); !strings.Contains(got, "l\\ta\t3\t0\t0\t0\t0x14\tmain\t/src/m.c\t12\n") {
		t.Errorf("got\n%s", got)
	}
}

// TestInvariant checks that each frame is counted as either symbolized or failed, and has its rows.
func TestInvariant(t *testing.T) {
	b := newBatch(t, map[string]string{"a": frame(0, "/a.so", 1) + frame(1, "/bad.so", 1) + "SUMMARY: AddressSanitizer: SEGV (/bad.so+0x12)\n" +
		"{{{reset}}}\n{{{module:0:x:elf:abcd}}}\n{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n{{{bt:0:0x1004}}}\n{{{bt:1:0x9000}}} here\nat {{{pc:0x1008}}}\n"})
	b.opt.Mode = Rewrite
	b.opt.SummaryJSON = "-"
	b.run(t, nil)
	var s struct {
		Stacks     int `json:"total_stacks"`
		Frames     int `json:"total_frames"`
		Symbolized int `json:"symbolized_frames"`
		Failed     int `json:"failed_frames"`
	}
	if err := json.Unmarshal(b.stdout.Bytes(), &s); err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(b.file(t, "frames.tsv"), "\n") - 1
	failed := strings.Count(b.file(t, "failed_frames.tsv"), "\n") - 1
	if s.Frames != s.Symbolized+s.Failed || s.Frames != rows || s.Failed != failed || s.Stacks != 2 {
		t.Errorf("%+v, %d rows, %d failed:\n%s", s, rows, failed, b.file(t, "frames.tsv"))
	}
	if got := b.file(t, "failed_frames.tsv"); !strings.Contains(got, "a\t-\t-\t/bad.so\t0x12\t-\t-\tNOT_FOUND\n") ||
		!strings.Contains(got, "a\t1\t1\t-\t-\t-\t-\tNO_MAPPING\n") {
		t.Errorf("got\n%s", got)
	}
	kept := strings.Builder{}
	for line := range strings.Lines(b.file(t, "a.rewrite")) {
		if !strings.HasPrefix(line, "  -> ") && line != "\n" {
			kept.WriteString(line)
		}
	}
	if log, _ := os.ReadFile(filepath.Join(b.in, "a")); kept.String() != string(log) {
		t.Errorf("without its additions the log is\n%s", kept.String())
	}
}

// TestStream checks a report of a single stream.
func TestStream(t *testing.T) {
	dir := t.TempDir()
	r, err := NewReport(ReportOptions{Report: dir, Group: true})
	if err != nil {
		t.Fatal(err)
	}
	log, out := frame(0, "/a.so", 2)+frame(1, "/bad.so", 4), new(bytes.Buffer)
	o := filter.Options{Symbols: fakeSource{}, Adjust: resolve.AdjustNone}
	plain := new(bytes.Buffer)
	if err := filter.New(o).Run(context.Background(), strings.NewReader(log), plain); err != nil {
		t.Fatal(err)
	}
	o.Observe = r.Observe
	if err := filter.New(o).Run(context.Background(), strings.NewReader(log), out); err != nil {
		t.Fatal(err)
	}
	if out.String() != plain.String() {
		t.Errorf("with a report:\n%s\nwithout:\n%s", out, plain)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "frames.tsv"))
	if want := tables[frameTable].head + "-\t0\t0\t0x7002\t/a.so\t0x2\tabcd\t-\n-\t0\t1\t0x7004\t/bad.so\t0x4\tabcd\t-\n"; err != nil || string(text) != want {
		t.Errorf("got %q, error %v", text, err)
	}
}

func TestGroups(t *testing.T) {
	one := frame(0, "/a.so", 2) + frame(1, "/bad.so", 4)
	other := frame(0, "/a.so", 6)
	b := newBatch(t, map[string]string{"b": other + one + one, "a": one})
	b.opt.Group, b.opt.HTML = true, filepath.Join(b.out, "page.html")
	b.run(t, nil)
	const want = "count\tfile\tstack_id\tstart_line\tdepth\tfunctions\tsignature\theadline\tkind\n3\ta\t0\t1\t2\tfn_2 < ?? (bad.so+0x4)\tfn_2--bad.so+0x4\t-\t-\n1\tb\t0\t1\t1\tfn_6\tfn_6\t-\t-\n"
	if got := b.file(t, "groups.tsv"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := b.file(t, "summary.json"); !strings.Contains(got, `"count": 3`) {
		t.Errorf("got %s", got)
	}
	page := b.file(t, "page.html")
	if !strings.Contains(page, "elf not found") || !strings.Contains(page, "2 logs, 4 stacks in 2 groups") {
		t.Errorf("the page lacks its totals or modules: %.2000s", page)
	}
	if got := outline(t, page); got != "3 × fn_2 a.c:2 [3: a:1×1 b:2×2]\n1 × fn_6 a.c:6 [1: b:1×1]\n" {
		t.Errorf("the page has\n%s", got)
	}
	for _, part := range []string{"http:", "https:", "src=", "<link", "@import", "url("} {
		if strings.Contains(page, part) {
			t.Errorf("the page refers to other files by %q", part)
		}
	}
}

// TestPageOfReport has the stacks of a report: what happened, what each stack is, the functions that they are named by, and their logs.
func TestPageOfReport(t *testing.T) {
	report := "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x1 bp 0x2 sp 0x3\nREAD of size 4 at 0x60 thread T0\n" +
		"    #0 0x1 in memcpy /build/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in ns::use<int>(int*) /src/a.cc:12:3\n    #2 0x3  (/bad.so+0x3)\n\n" +
		"0x60 is located 0 bytes inside of 4-byte region\nfreed by thread T0 here:\n    #0 0x1 in operator delete(void*) /b/asan.cc:1\n    #1 0x2 in drop() /src/a.cc:20:3\n\n" +
		"previously allocated by thread T0 here:\n    #0 0x1 in malloc /b/asan.cc:2\n    #1 0x2 in make() /src/a.cc:30:3\n"
	b := newBatch(t, map[string]string{"a/x y.log": report, "b.log": "text\n" + report + report, "c.c": report, "d.log": "text\n"})
	b.opt.Group, b.opt.HTML, b.opt.Mode = true, filepath.Join(b.out, "report", "page.html"), Rewrite
	b.run(t, nil)
	page := b.file(t, "report/page.html")
	const want = "3 × fault: heap-use-after-free READ 4: ns::use<int>(int*) a.cc:12 [3: a/x y.log:3×1 b.log:4×2]\n" +
		"  3 × freed by: drop() a.cc:20 [3: a/x y.log:9×1 b.log:10×2]\n  3 × allocated by: make() a.cc:30 [3: a/x y.log:13×1 b.log:14×2]\n"
	if got := outline(t, page); got != want {
		t.Errorf("the page has\n%s\nwant\n%s", got, want)
	}
	data := dataOf(t, page)
	if got := data.Bugs[0].Signature; got != "ns::use--bad.so+0x3" {
		t.Errorf("the signature is %q", got)
	}
	if want := [][2]string{{"a/x y.log", "../a/x%20y.log.rewrite"}, {"b.log", "../b.log.rewrite"}}; !slices.Equal(data.Logs, want) {
		t.Errorf("the logs are %q, want %q", data.Logs, want)
	}
	if want := "qss-filter: 3 logs, 2 with stacks, 18 of 21 frames named: " + b.opt.HTML + "\nqss-filter: not read: 1 file of source code or symbols\n"; b.stderr.String() != want {
		t.Errorf("stderr is\n%s\nwant\n%s", b.stderr.String(), want)
	}
}

// wholeData is the data of a page.
type wholeData struct {
	Bugs   []*pageBug `json:"bugs"`
	Frames [][5]any   `json:"frames"`
	pageData
}

// dataOf returns the data of a page.
func dataOf(t *testing.T, page string) (data wholeData) {
	t.Helper()
	_, text, _ := strings.Cut(page, `id="data">`)
	text, _, _ = strings.Cut(text, "</script>")
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Fatalf("%v: %.2000s", err, page)
	}
	return data
}

// outline returns the bugs of a page, a line for each, with the logs of its groups of stacks.
func outline(t *testing.T, page string) string {
	t.Helper()
	data := dataOf(t, page)
	var b strings.Builder
	var add func(list []*pageBug, indent string)
	add = func(list []*pageBug, indent string) {
		for _, bug := range list {
			fmt.Fprintf(&b, "%s%d × ", indent, bug.Count)
			for _, text := range []string{bug.Kind, bug.Head} {
				if text != "" {
					b.WriteString(text + ": ")
				}
			}
			b.WriteString(strings.TrimSpace(bug.Title + " " + bug.At))
			for _, s := range bug.Stacks {
				fmt.Fprintf(&b, " [%d:", s.Count)
				for _, log := range s.Logs {
					fmt.Fprintf(&b, " %s:%d×%d", data.Logs[log[0]][0], log[2], log[1])
				}
				b.WriteString("]")
			}
			b.WriteString("\n")
			add(bug.Below, indent+"  ")
		}
	}
	add(data.Bugs, "")
	return b.String()
}

// TestOneBug has one crash as three logs report it, which say different things of it and have other frames of the system.
func TestOneBug(t *testing.T) {
	own := "#1 0x2 in app::blend(int) /src/blend.cc:5:1\n#2 0x3 in app::decode(int) /src/decode.cc:6:1\n"
	b := newBatch(t, map[string]string{
		"tombstone": "signal 11 (SIGSEGV), code 1\n#0 0x1 in memcpy /b/sanitizer_common/x.cc:1:2\n" + own,
		"logcat":    "#0 0x1 in memmove /b/sanitizer_common/x.cc:1:2\n" + own,
		"pod":       "==1==ERROR: AddressSanitizer: SEGV on unknown address 0x0\n" + strings.ReplaceAll(strings.ReplaceAll(own, "#1", "#0"), "#2", "#1"),
	})
	b.opt.Group, b.opt.HTML = true, filepath.Join(b.out, "page.html")
	b.run(t, nil)
	const want = "3 × fault: SEGV, SIGSEGV: app::blend(int) blend.cc:5 [1: pod:2×1] [1: tombstone:2×1] [1: logcat:1×1]\n"
	if got := outline(t, b.file(t, "page.html")); got != want {
		t.Errorf("the page has\n%s\nwant\n%s", got, want)
	}
	// Another fault in the same functions is another bug, and then it is not known of which one logcat has the stack.
	other := "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x0\n" + strings.ReplaceAll(strings.ReplaceAll(own, "#1", "#0"), "#2", "#1")
	if err := os.WriteFile(filepath.Join(b.in, "other"), []byte(other), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(t, nil)
	const apart = "2 × fault: SEGV, SIGSEGV: app::blend(int) blend.cc:5 [1: pod:2×1] [1: tombstone:2×1]\n" +
		"1 × fault: heap-use-after-free: app::blend(int) blend.cc:5 [1: other:2×1]\n1 × app::blend(int) blend.cc:5 [1: logcat:1×1]\n"
	if got := outline(t, b.file(t, "page.html")); got != apart {
		t.Errorf("with another fault the page has\n%s\nwant\n%s", got, apart)
	}
}

// TestStacksOfTools has logs of gdb, which shows the frame where a program has stopped and then the stack that begins with it, and of valgrind,
// whose stacks follow each other without numbers.
func TestStacksOfTools(t *testing.T) {
	for name, want := range map[string]string{
		"gdb-bt.log": "1 × fault: SIGSEGV: demo::deref<int> crash.cc:12 [1: gdb-bt.log:10×1]\n",
		"valgrind.log": "1 × fault: Invalid read of size 4: int demo::deref<int>(int*, int) crash.cc:12 [1: valgrind.log:7×1]\n" +
			"  1 × freed by: demo::Widget::poke(int) crash.cc:19 [1: valgrind.log:14×1]\n" +
			"  1 × allocated by: demo::Widget::poke(int) crash.cc:16 [1: valgrind.log:21×1]\n",
	} {
		log, err := os.ReadFile("../../testdata/logs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		b := newBatch(t, map[string]string{name: string(log)})
		b.opt.Group, b.opt.HTML = true, filepath.Join(b.out, "page.html")
		b.run(t, nil)
		if got := outline(t, b.file(t, "page.html")); got != want {
			t.Errorf("%s: the page has\n%s\nwant\n%s", name, got, want)
		}
	}
}

// TestTitle has stacks without a function of the program's own: the title is of the first that is not an allocator's or of what has printed
// the stack.
func TestTitle(t *testing.T) {
	b := newBatch(t, map[string]string{
		"dependency": "#0 0x1 in operator new(unsigned long) /x/compiler-rt/n.cc:1:1\n#1 0x2 in zip::open(int) /b/third_party/zip.cc:5:1\n#2 0x3 in std::f() /usr/include/c++/12/f.h:1:1\n",
		"fuchsia": "   #0    0x1 in __sanitizer_print_stack_trace ../x/compiler-rt/a.cc:86 <libclang_rt.asan.so>+0x1\n" +
			"   #1    0x2 in _$LT$std..a..B$u20$as$u20$core..fmt..Display$GT$::fmt::h50f7b755f1835a1b rustlib/src/b.rs:45 <>+0xb8bff\n" +
			"   #2    0x3 in app::f::h50f7b755f1835a1b ./src/lib.rs:22 <>+0xb8bf0\n",
		"none": "#0 0x1 in runtime.raise /usr/lib/go/src/runtime/a.s:1 (/a+0x1)\n",
	})
	b.opt.HTML = filepath.Join(b.out, "page.html")
	b.run(t, nil)
	const want = "1 × zip::open(int) [1: dependency:1×1]\n1 × app::f lib.rs:22 [1: fuchsia:1×1]\n1 × runtime.raise [1: none:1×1]\n"
	if got := outline(t, b.file(t, "page.html")); got != want {
		t.Errorf("the page has\n%s\nwant\n%s", got, want)
	}
}

// TestMirror has the names of outputs that are those of the logs, and what these must not replace.
func TestMirror(t *testing.T) {
	text := frame(0, "/a.so", 2)
	files := map[string]string{"devB/tombstone_00": text, "a.log": text, "a.log.gz": text, "b.gz": text, "b/c": text, "summary.json": text, "e.xz.GZ": text, "stacks.html": text}
	b := newBatch(t, files)
	b.opt.Mode, b.opt.Mirror, b.opt.Include, b.opt.Group, b.opt.HTML = Rewrite, true, []string{"*"}, true, filepath.Join(b.out, "stacks.html")
	b.run(t, nil)
	for log, name := range map[string]string{"devB/tombstone_00": "devB/tombstone_00", "a.log": "a.log", "a.log.gz": "a.log.gz", "b.gz": "b.gz", "b/c": "b/c",
		"summary.json": "summary.json.rewrite", "e.xz.GZ": "e.xz", "stacks.html": "stacks.html.rewrite"} {
		if got := b.file(t, name); !strings.HasPrefix(got, text) || got == text {
			t.Errorf("%s: %s is %q", log, name, got)
		}
	}
	var s Summary
	if err := json.Unmarshal([]byte(b.file(t, "summary.json")), &s.Groups); err == nil {
		t.Error("the summary is a log's")
	}
	b.opt.Mode = StackOnly
	b.run(t, nil)
	for _, name := range []string{"devB/tombstone_00.stack.txt", "a.log.stack.txt", "a.log.gz.stack.txt", "b.stack.txt"} {
		if got := b.file(t, name); !strings.HasPrefix(got, "=== STACK 0 ") {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestChoice has which files are read by their names.
func TestChoice(t *testing.T) {
	text := frame(0, "/a.so", 2)
	files := map[string]string{"a.log": text, "b.txt": text, "c.c": text, "build/d.log": text, "build/sub/e.log": text, "sub/f.log.gz": text, "Makefile": text}
	for _, c := range []struct{ include, exclude, want string }{
		{"", "", "a.log b.txt build/d.log build/sub/e.log sub/f.log.gz"},
		{"*.log", "", "a.log build/d.log build/sub/e.log"},
		{"*.log *.c", "build", "a.log c.c"},
		{"", "*.txt build/sub", "a.log build/d.log sub/f.log.gz"},
		{"build/*.log", "", "build/d.log"},
		{"Makefile", "", "Makefile"},
		{"*.none", "", ""},
	} {
		b := newBatch(t, files)
		b.opt.Include, b.opt.Exclude = strings.Fields(c.include), strings.Fields(c.exclude)
		b.run(t, nil)
		var got []string
		for name := range files {
			if _, err := os.Stat(filepath.Join(b.out, name+stackSuffix)); err == nil {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.SortFunc(got, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		if strings.Join(got, " ") != c.want {
			t.Errorf("include %q, exclude %q: %q, want %q", c.include, c.exclude, got, c.want)
		}
		if entries, err := os.ReadDir(filepath.Join(b.out, "build")); err == nil && len(entries) == 0 {
			t.Error("an empty directory is left")
		}
	}
	b := newBatch(t, files)
	b.opt.Exclude = []string{"[a"}
	if _, wrong := errors.AsType[*symsrc.OptionError](Run(context.Background(), b.opt)); !wrong {
		t.Error("a malformed pattern is taken")
	}
}

// TestNamelessGroups checks that frames without names are grouped by what the log has of them, and that lists of stacks keep it.
func TestNamelessGroups(t *testing.T) {
	b := newBatch(t, map[string]string{
		"1": "#0 0x7f1111 (/bad.so+0x1111)\n", "2": "#0 0x7f9999 (/bad.so+0x9999)\n", "3": "#0 0x7e1111 (/bad.so+0x1111)\n",
		"4": "#0 0x7f1111 (/bad.so+0x1111) (BuildId: abcd)\n", "5": "#00 pc 000000000009bfb4  /bad.so (abort+172)\n",
		"6": "*** SIGSEGV ***\n    @     0x7f67d4a621ed  google::LogMessage::Fail()\n", "7": "    @     0x7e67d4a621ed  google::LogMessage::Fail()\n",
		"8": "    @     0x7f67d464524a  (unknown)\n", "9": "[    1.0]  do_one+0x10/0x20 [bad]\n",
		"a": "   1:     0x5581e5f3ba15 - <unknown>\n", "b": "==7==    by 0x10937A: one(int) (crash.cc:19)\n", "c": "==7==    by 0x10937A: two(int) (crash.cc:20)\n",
	})
	b.opt.Group = true
	b.run(t, nil)
	const want = "count\tfile\tstack_id\tstart_line\tdepth\tfunctions\tsignature\theadline\tkind\n" +
		"2\t1\t0\t1\t1\t?? (bad.so+0x1111)\tbad.so+0x1111\t-\t-\n2\t6\t0\t2\t1\tgoogle::LogMessage::Fail()\tgoogle::LogMessage::Fail\tSIGSEGV\tfault\n" +
		"1\t2\t0\t1\t1\t?? (bad.so+0x9999)\tbad.so+0x9999\t-\t-\n1\t4\t0\t1\t1\t?? (bad.so+0x1111)\tbad.so+0x1111\t-\t-\n" +
		"1\t5\t0\t1\t1\tabort+172 (bad.so+0x9bfb4)\tabort\t-\t-\n1\t8\t0\t1\t1\t0x7f67d464524a\t-\t-\t-\n1\t9\t0\t1\t1\tdo_one+0x10 (bad.ko)\tdo_one\t-\t-\n" +
		"1\ta\t0\t1\t1\t0x5581e5f3ba15\t-\t-\t-\n1\tb\t0\t1\t1\tone(int)\tone\t-\t-\n1\tc\t0\t1\t1\ttwo(int)\ttwo\t-\t-\n"
	if got := b.file(t, "groups.tsv"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for name, want := range map[string]string{
		"4": "#0 0x7f1111 in ?? ??:0 (/bad.so+0x1111) (BuildId: abcd)\n", "5": "#0 in abort+172 ??:0 (/bad.so+0x9bfb4)\n",
		"6": "#0 0x7f67d4a621ed in google::LogMessage::Fail() ??:0\n",
	} {
		if got := b.file(t, name+".stack.txt"); !strings.HasSuffix(got, ") ===\n"+want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// TestHostilePage checks that names with HTML are escaped.
func TestHostilePage(t *testing.T) {
	r := &Report{title: "<script>alert(1)</script>\x00", groups: newGroups(), link: func(log string) string { return log }}
	var b bytes.Buffer
	list := []*group{{count: 1, file: "</script><b>", shown: []*place{{Func: "operator<<<img src=x>", File: "\"'>"}},
		about: triage.Headline{Text: "<img src=y>", Kind: "<img src=z>"}, signature: "</script><b>", logs: []groupLog{{name: "javascript:alert(1)"}, {name: "</script><b>"}}}}
	if err := r.writePage(&b, list, nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x00") {
		t.Error("the page has a NUL")
	}
	if got := dataOf(t, b.String()).Logs[0][1]; got != "./javascript:alert(1)" {
		t.Errorf("the link is %q", got)
	}
	for _, part := range []string{"<script>alert", "<img", "</script><b>"} {
		if strings.Contains(b.String(), part) {
			t.Errorf("the page has %q", part)
		}
	}
}

type foundAt struct{ files symsrc.Files }

func (f foundAt) Find(context.Context, symsrc.Module) *symsrc.Files { return &f.files }

func TestListModules(t *testing.T) {
	b := newBatch(t, map[string]string{"a": frame(0, "/a.so", 2) + frame(1, "/b.so", 2) + "#2 0x1 (/c.so+0x1)\n"})
	list := func() {
		t.Helper()
		b.stdout.Reset()
		if err := Modules(t.Context(), []string{b.in}, b.opt); err != nil {
			t.Fatal(err)
		}
	}
	list()
	if got, want := b.stdout.String(), "/a.so\tBuildId:abcd\n/b.so\tBuildId:abcd\n/c.so\tBuildId:None\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	one := b.stdout.String()
	b.stdout.Reset()
	if err := Modules(t.Context(), []string{filepath.Join(b.in, "a"), b.in}, b.opt); err != nil || b.stdout.String() != one {
		t.Errorf("of the file and its directory: %v, %q", err, b.stdout.String())
	}
	if err := Modules(t.Context(), []string{filepath.Join(b.in, "none")}, b.opt); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	elf := "../../testdata/rootfs/usr/lib/liba.so"
	b.opt.Check, b.opt.Finder = true, foundAt{symsrc.Files{Elf: elf}}
	list()
	const id = "a1444a3789f54d28206804931d1b4756450e1f16"
	if got := b.stdout.String(); !strings.Contains(got, "/a.so\tBuildId:abcd\t"+elf+"\t"+id+"\tMISMATCH\n") ||
		!strings.Contains(got, "/c.so\tBuildId:None\t"+elf+"\t"+id+"\tOK\n") {
		t.Errorf("got %q", got)
	}
	b.opt.JSON = true
	list()
	var listed []Listed
	if err := json.Unmarshal(b.stdout.Bytes(), &listed); err != nil || len(listed) != 3 || !listed[0].Mismatch || listed[2].Effective != id ||
		!slices.Equal(listed[0].Tags, []string{"LOG", "FOUND", "MISMATCH"}) {
		t.Errorf("got %+v, error %v", listed, err)
	}
}

func TestEscaped(t *testing.T) {
	if got, want := string(appendField(nil, "a\tb\nc\\d\r")), "\ta\\tb\\nc\\\\d\\r"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(appendField(nil, "")); got != "\t-" {
		t.Errorf("got %q", got)
	}
}

// foundFiles returns the same files for every module.
type foundFiles struct{ symsrc.Files }

func (f foundFiles) Find(context.Context, symsrc.Module) *symsrc.Files { return &f.Files }

// TestKeptAnswers checks that the list of modules has the files even if the answers have none, as those from a cache.
func TestKeptAnswers(t *testing.T) {
	b := newBatch(t, map[string]string{"a.log": frame(0, "/a.so", 1)})
	b.opt.Filter.Symbols = oneFrame{symsrc.Frame{Func: "f"}}
	b.opt.Finder = foundFiles{symsrc.Files{Elf: "/root/a.so", DebugStatus: symsrc.Incomplete, Note: "no .debug_info"}}
	b.run(t, nil)
	if got := b.file(t, "elf_list.tsv"); !strings.Contains(got, "/a.so\t/root/a.so\tOK\tINCOMPLETE\tabcd\tno .debug_info\n") {
		t.Errorf("got %s", got)
	}
	if got := b.file(t, "summary.json"); !strings.Contains(got, `"INCOMPLETE": 1`) {
		t.Errorf("got %s", got)
	}
}

// fakeTexts has the source of one file, and doubts that of another.
type fakeTexts struct{}

func (fakeTexts) Excerpt(_ context.Context, p symsrc.Place, around int) symsrc.Excerpt {
	x := symsrc.Excerpt{First: p.Line - around, Lines: []string{"</script>", "\tcall();", strings.Repeat("x", 1000)}}
	if p.Line != 2 {
		x.Note = "newer than the binary"
	}
	return x
}

// TestSourcesOfPage has the source of own functions on the page, unless there is doubt about it.
func TestSourcesOfPage(t *testing.T) {
	b := newBatch(t, map[string]string{"a": frame(0, "/a.so", 2) + frame(1, "/a.so", 4)})
	b.opt.Group, b.opt.HTML, b.opt.Sources, b.opt.Finder = true, filepath.Join(b.out, "page.html"), fakeTexts{}, foundAt{}
	b.run(t, nil)
	page := b.file(t, "page.html")
	data := dataOf(t, page)
	if len(data.Bugs) != 1 || len(data.Sources) != 1 {
		t.Fatalf("%d bugs with %d sources, want one of each", len(data.Bugs), len(data.Sources))
	}
	got := data.Sources[data.Bugs[0].Stacks[0].Frames[0]]
	if got.First != 0 || got.Line != 2 || len(got.Lines) != 3 || got.Lines[1] != "    call();" || len(got.Lines[2]) != maxSourceLine {
		t.Errorf("the source is %+v", got)
	}
	if strings.Count(page, "</script>") != 2 {
		t.Error("a source ends the script")
	}
}

// TestGroupSummary holds that a group is written as the encoder of JSON writes a GroupSummary.
func TestGroupSummary(t *testing.T) {
	for _, g := range []*group{
		{count: 2, file: "a\\tb \"c\" <d>", id: 3, line: 4},
		{count: 1, file: "log", shown: []*place{{Func: "f<T&>(\u202e\x7f\xff)"}, {Module: "lib.so", Nameless: true}, {File: "/a/ü.js", line: 7, mark: " (approximate)"}},
			signature: "f--g\x01", about: triage.Headline{Text: "SIGSEGV\u2028", Kind: triage.Fault}},
	} {
		of := &GroupSummary{g.count, g.file, g.id, g.line, []string{}, g.signature, g.about.Text, g.about.Kind}
		for _, at := range g.shown {
			of.Functions = append(of.Functions, at.name())
		}
		want, err := json.MarshalIndent(of, "    ", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if got := g.appendSummary(nil); string(got) != string(symsrc.VisibleJSON(want)) {
			t.Errorf("%s\nwant\n%s", got, symsrc.VisibleJSON(want))
		}
	}
}
