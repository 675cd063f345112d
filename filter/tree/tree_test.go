package tree

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"qss-filter/filter"
	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// fakeSource returns a function for every address, except in modules whose name contains "bad", and in libraries where they are linked: none is loaded
// there.
type fakeSource struct{}

func (fakeSource) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	if strings.Contains(q.Module.Name, "bad") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}}
	}
	if q.Space == symsrc.Fixed && strings.HasSuffix(q.Module.Name, ".so") {
		return symsrc.Answer{Files: &symsrc.Files{Elf: "/elf" + q.Module.Name}}
	}
	name := fmt.Sprintf("fn_%x", q.Offset)
	frames := []symsrc.Frame{{Func: name, File: "/src/a.c", Line: int(q.Offset)}}
	if q.Offset%2 == 1 {
		frames = append([]symsrc.Frame{{Func: "inlined", File: "/src/a.h", Line: 1}}, frames...)
	}
	return symsrc.Answer{Frames: frames, Files: &symsrc.Files{Elf: "/elf" + q.Module.Name}}
}

// batch is a call of Run, with its directories and its output.
type batch struct {
	dir, in, out   string
	stdout, stderr bytes.Buffer
	opt            Options
}

func newBatch(t *testing.T, files map[string]string) *batch {
	t.Helper()
	dir := t.TempDir()
	b := &batch{dir: dir, in: filepath.Join(dir, "in"), out: filepath.Join(dir, "out")}
	if err := os.Mkdir(b.in, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(b.in, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.opt = Options{Input: b.in, Output: b.out, ReportOptions: ReportOptions{Stdout: &b.stdout}, Stderr: &b.stderr,
		Filter: filter.Options{Symbols: fakeSource{}, Adjust: resolve.AdjustNone}}
	return b
}

func (b *batch) run(t *testing.T, want error) {
	t.Helper()
	if err := Run(context.Background(), b.opt); err != want {
		t.Fatalf("error %v, want %v; stderr:\n%s", err, want, b.stderr.String())
	}
}

func (b *batch) file(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.out, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func frame(n int, module string, off int) string {
	return fmt.Sprintf("#%d 0x%x (%s+0x%x) (BuildId: abcd)\n", n, 0x7000+off, module, off)
}

// TestSeed compares the outputs for the sample of QSS with its expected files. Lines that may differ are in unlike.
func TestSeed(t *testing.T) {
	const rootfs = "../../testdata/rootfs"
	finder, err := locate.New(locate.Options{Rootfs: []string{rootfs}})
	if err != nil {
		t.Fatal(err)
	}
	source := object.NewSource(finder)
	b := newBatch(t, nil)
	b.opt.Input = "testdata/logs"
	b.opt.Filter.Symbols = source
	b.run(t, nil)
	b.opt.Mode = Rewrite
	b.run(t, nil)
	for _, name := range []string{"frames.tsv", "elf_list.tsv", "failed_frames.tsv", "expanded_frames.tsv", "foo.log.stack.txt",
		"bar.log.stack.txt", "sub/baz.log.stack.txt", "foo.log.rewrite", "bar.log.rewrite", "sub/baz.log.rewrite"} {
		want, err := os.ReadFile(filepath.Join("testdata/expected", name))
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(b.file(t, name), rootfs+"/", "/mnt/rootfs/")
		if strings.HasSuffix(name, ".rewrite") { // the expected files have no empty lines between frames
			got = strings.ReplaceAll(got, "\n\n#", "\n#")
		}
		compare(t, name, got, string(want))
	}
	var raw struct {
		Elf   map[string]int `json:"elf_status_counts"`
		Debug map[string]int `json:"debug_status_counts"`
	}
	text := b.file(t, "summary.json")
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	if raw.Elf["CORRUPTED"] != 1 || raw.Elf["NOT_ELF"] != 1 || raw.Elf["UNSUPPORTED_COMPRESSED"] != 1 {
		t.Errorf("summary: %s", text)
	}
	if raw.Debug["INCOMPLETE"] != 1 || raw.Debug["MISMATCH_BUILD_ID"] != 1 || raw.Debug["NOT_ELF"] != 1 {
		t.Errorf("summary: %s", text)
	}
}

// unlike are strings of lines of the sample that may differ, with the cause.
var unlike = []struct{ has, cause string }{
	{"libc.so.6", "the host's own C library"},
	{"0x7fa52715624a", "the host's own C library"},
	{"libf.so", "a superuser may read every file"},
	{"0x7f120050110d", "a superuser may read every file"},
	{"libi.so", "an empty directory is not kept under version control"},
	{"c_fn", "a name without a line is printed as ??:0"},
	{"j_fn", "a name without a line is printed as ??:0"},
}

const nameless = " in ?? ??:0"

// compare compares texts line by line, without the lines that may differ.
func compare(t *testing.T, name, got, want string) {
	t.Helper()
	strip := func(text string) (lines []string) {
	line:
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if at := strings.Index(line, nameless); at >= 0 { // module and build ID follow
				line = line[:at+len(nameless)]
			}
			for _, u := range unlike {
				if strings.Contains(line, u.has) {
					continue line
				}
			}
			lines = append(lines, line)
		}
		return lines
	}
	g, w := strip(got), strip(want)
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = w[i]
		}
		if a != b {
			t.Errorf("%s: line %d is\n%q, want\n%q", name, i+1, a, b)
			return
		}
	}
}

func TestOutputs(t *testing.T) {
	log := "start\n" + frame(0, "/a.so", 3) + frame(1, "/bad.so", 4) + "between\n" + frame(2, "/a.so", 6) + "end"
	const stack = "=== STACK 0 (x.log: line 2) ===\n#0 0x7003 in inlined /src/a.h:1\n#1 0x7003 in fn_3 /src/a.c:3\n" +
		"#2 0x7004 in ?? ??:0 (/bad.so+0x4) (BuildId: abcd)\n#3 0x7006 in fn_6 /src/a.c:6\n"
	f := func(n, off int, module string) string { return frame(n, module, off) }
	for _, test := range []struct {
		mode Mode
		form Form
		name string
		want string
	}{
		{StackOnly, Append, "x.log.stack.txt", stack},
		{Rewrite, Append, "x.log.rewrite", "start\n" + f(0, 3, "/a.so") + "  -> #0 0x7003 in inlined /src/a.h:1\n  -> #1 0x7003 in fn_3 /src/a.c:3\n\n" +
			f(1, 4, "/bad.so") + "  -> #2 0x7004 in ?? ??:0 (/bad.so+0x4) (BuildId: abcd)\nbetween\n" + f(2, 6, "/a.so") + "  -> #3 0x7006 in fn_6 /src/a.c:6\nend"},
		{Rewrite, Replace, "x.log.rewrite", "start\n#0 0x7003 in inlined /src/a.h:1 (a.so)\n#1 0x7003 in fn_3 /src/a.c:3 (a.so)\n" +
			f(2, 4, "/bad.so") + "between\n#3 0x7006 in fn_6 /src/a.c:6 (a.so)\nend"},
	} {
		b := newBatch(t, map[string]string{"x.log": log})
		b.opt.Mode, b.opt.Form = test.mode, test.form
		b.run(t, nil)
		want := test.want
		want = strings.ReplaceAll(want, f(2, 4, "/bad.so"), "#2 0x7004 (/bad.so+0x4) (BuildId: abcd)\n")
		if got := b.file(t, test.name); got != want {
			t.Errorf("mode %d form %d:\n%s\nwant\n%s", test.mode, test.form, got, want)
		}
		if text, err := os.ReadFile(filepath.Join(b.in, "x.log")); err != nil || string(text) != log {
			t.Error("the log has changed")
		}
	}
}

func TestPacked(t *testing.T) {
	text := frame(0, "/a.so", 2)
	pack := func(w func(io.Writer) (io.WriteCloser, error)) string {
		var b bytes.Buffer
		z, err := w(&b)
		if err == nil {
			_, err = io.WriteString(z, text)
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	b := newBatch(t, map[string]string{
		"a.gz":  pack(func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil }),
		"b.xz":  pack(func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) }),
		"c.zst": pack(func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) }),
		"d.bin": "\x7fELF\x01\x02\x00\x00", "e.bin": strings.Repeat("a\x00\x01\x00", 100), "empty": "",
		"cut.gz": "\x1f\x8b\x08\x00\x00\x00",
	})
	b.run(t, ErrUnread)
	if end := "qss-filter: 4 logs, 3 with stacks, 3 of 3 frames named: " + b.out + "\nqss-filter: not read: 2 binary files\n"; !strings.HasSuffix(b.stderr.String(), end) {
		t.Errorf("stderr ends with\n%s\nwant\n%s", b.stderr.String(), end)
	}
	if _, err := os.Stat(filepath.Join(b.out, "empty"+stackSuffix)); err == nil {
		t.Error("a log without a stack has an output")
	}
	b.opt.Verbose = true
	b.run(t, ErrUnread)
	for _, name := range []string{"a.gz", "b.xz", "c.zst"} {
		if got := b.file(t, name+stackSuffix); !strings.Contains(got, "#0 0x7002 in fn_2 /src/a.c:2\n") {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, message := range []string{"d.bin: skipped: not text", "e.bin: skipped: not text", "cut.gz: unpack gzip"} {
		if !strings.Contains(b.stderr.String(), message) {
			t.Errorf("no message %q; stderr:\n%s", message, b.stderr.String())
		}
	}
	var s struct {
		Files int `json:"total_input_files"`
	}
	if err := json.Unmarshal([]byte(b.file(t, "summary.json")), &s); err != nil || s.Files != 4 {
		t.Errorf("%d files, error %v", s.Files, err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.out, diskcache.TempPrefix+"*")); len(left) > 0 {
		t.Errorf("temporary files remain: %q", left)
	}
}

func TestPlaces(t *testing.T) {
	b := newBatch(t, map[string]string{"sub/x": frame(0, "/a.so", 1)})
	link := filepath.Join(b.dir, "link")
	if err := os.Symlink(b.in, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ in, out, report, html string }{
		{b.in, b.in, "", ""},
		{b.in, filepath.Join(b.in, "new", "out"), "", ""},
		{b.in, filepath.Join(link, "sub"), "", ""},
		{link, filepath.Join(b.in, "o"), "", ""},
		{b.in, b.out, filepath.Join(b.in, "r"), ""},
		{b.in, b.out, "", filepath.Join(b.in, "page.html")},
		{filepath.Join(b.dir, "none"), b.out, "", ""},
		{b.in, "", "", ""},
		{"", b.out, "", ""},
	} {
		o := b.opt
		o.Input, o.Output, o.Report, o.HTML = test.in, test.out, test.report, test.html
		if _, wrong := errors.AsType[*symsrc.OptionError](Run(context.Background(), o)); !wrong {
			t.Errorf("%+v: no option error", test)
		}
	}
	b.opt.Output = b.dir // the parent of the input directory, without overlap
	b.run(t, nil)
	if _, err := os.Stat(filepath.Join(b.dir, "sub", "x.stack.txt")); err != nil {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) {
	b := newBatch(t, map[string]string{"a": frame(0, "/a.so", 2)})
	ctx, cancel := context.WithCancel(context.Background())
	b.opt.New = func(o filter.Options) *filter.Filter { cancel(); return filter.New(o) }
	if err := Run(ctx, b.opt); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(b.out); len(left) > 0 {
		t.Errorf("files remain: %v", left)
	}
	if !strings.Contains(b.stderr.String(), "interrupted: 0 of 1 logs are done") {
		t.Errorf("stderr: %s", b.stderr.String())
	}
}

// TestBar checks what a bar for one input shows, and that lines can be written above it until it ends.
func TestBar(t *testing.T) {
	for _, complete := range []bool{true, false} {
		var out bytes.Buffer
		b := NewBar(&out, "traces")
		b.Set(1, 4)
		if _, err := b.Write([]byte("a line\n")); err != nil {
			t.Error(err)
		}
		b.Set(2, 4)
		if complete {
			b.Set(4, 4)
			b.Set(1, 4) // too late
		}
		b.End()
		text := out.String()
		if !strings.Contains(text, "traces ") || !strings.Contains(text, "a line\n") || strings.Contains(text, "100 %") != complete || complete == strings.HasSuffix(text, "50 %, 0s\n") {
			t.Errorf("complete %v: %q", complete, text)
		}
		if _, err := b.Write([]byte("late\n")); err == nil {
			t.Error("a line was written to a bar that has ended")
		}
	}
}

// TestOutputDevice checks that a device is written to, and not replaced by a file.
func TestOutputDevice(t *testing.T) {
	if info, err := os.Stat("/dev/null"); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		t.Skip("there is no /dev/null")
	}
	link := filepath.Join(t.TempDir(), "null") // a faulty implementation would replace the link, not the device
	if err := os.Symlink("/dev/null", link); err != nil {
		t.Fatal(err)
	}
	for _, end := range []func(*outputFile) error{(*outputFile).commit, func(w *outputFile) error { w.abort(); return nil }} {
		w := create(link)
		if _, err := io.WriteString(w, "text"); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := end(w); err != nil {
			t.Fatal(err)
		}
		if target, err := os.Readlink(link); err != nil || target != "/dev/null" {
			t.Errorf("the link is now %q, %v", target, err)
		}
	}
	path := filepath.Join(filepath.Dir(link), "file")
	w := create(path)
	defer w.abort()
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("the file exists before commit")
	}
	if err := w.commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}

// TestWarnings holds that what several logs are warned about is said of the first one only.
func TestWarnings(t *testing.T) {
	var said strings.Builder
	r := newRun(&Options{Stderr: &said})
	r.warn("a.log", "line 1: /lib/a.so stays as it is")
	r.warn("b.log", "line 7: /lib/a.so stays as it is")
	r.warn("b.log", "line 8: /lib/b.so stays as it is")
	const want = "qss-filter: a.log: line 1: /lib/a.so stays as it is\nqss-filter: b.log: line 8: /lib/b.so stays as it is\n"
	if said.String() != want {
		t.Errorf("got\n%swant\n%s", said.String(), want)
	}
}

// TestHeads holds that a group whose stacks come of several faults names them, the first one first.
func TestHeads(t *testing.T) {
	var h heads
	h.add("SEGV READ", "heap-use-after-free READ 4", "", "SEGV READ", "heap-buffer-overflow READ 4", "double-free")
	if got := h.after("heap-use-after-free READ 4"); got != "heap-use-after-free READ 4, SEGV READ, double-free, 1 more" {
		t.Error(got)
	}
	if got := (heads{"SEGV READ"}).after("SEGV READ"); got != "SEGV READ" {
		t.Error(got)
	}
	if got := (heads)(nil).after(""); got != "" {
		t.Error(got)
	}
}
