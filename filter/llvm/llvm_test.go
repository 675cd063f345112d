package llvm

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"qss-filter/filter/filtertest"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// runAll carries a log through a filter, in pieces of the reader's choosing.
func runAll(t *testing.T, o Options, in io.Reader) string {
	t.Helper()
	var out strings.Builder
	if err := New(o).Stream().Run(context.Background(), in, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

const llvmModuleLines = "{{{module:1:a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:1:rx:0x0}}}\n"

// TestLLVMStream looks at the output after each line: a module's line stays open until something else follows.
func TestLLVMStream(t *testing.T) {
	f := New(Options{Symbols: &filtertest.Symbols{}})
	for _, step := range []struct{ line, want string }{
		{"before\n", "before\n"},
		{"{{{module:1:a.so:elf:0123ABCD}}}\n", `[[[ELF module #0x1 "a.so"; BuildID=0123abcd`},
		{"{{{mmap:0x2000:0x1000:load:1:R:0x1000}}}\n", ""},
		{"{{{mmap:0x1000:0x1000:load:1:rx:0x0}}}\n", ""},
		{"{{{mmap:0x1000:0x1000:load:1:rx:0x0}}}\n", ""}, // refused
		{"{{{pc:0x1050}}}\r\n", " [0x1000-0x1fff](rx),[0x2000-0x2fff](r)]]]\r\n<invalid>[/src/n.c:0]\r\n"},
		{"#0 0x1020 (/a.so+0x20)\n", "#0 0x1020 (/a.so+0x20)\n"}, // only markup is read
		{"\x1b[31mred\n", "red\n"},
		{"{{{reset}}} x\n", "[[[reset]]]\n"},
		{"{{{reset}}} x\n", ""},
		{"last", "last\n"},
	} {
		if got := string(f.Line(context.Background(), nil, []byte(step.line))); got != step.want {
			t.Errorf("%q gives %q, want %q", step.line, got, step.want)
		}
	}
	if got := f.Flush(nil); len(got) > 0 {
		t.Errorf("at the end %q", got)
	}
}

// TestLLVMPieces holds that it does not matter how a log arrives, and that lines without markup may be copied in bulk.
func TestLLVMPieces(t *testing.T) {
	for seed := range uint64(100) {
		r := filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 1)), Targets: []filtertest.Target{{ID: "0123abcd", At: []uint64{0x10, 0x20, 0x30, 0x40}}}}
		log := r.Log(60) + strings.Repeat("plain\n", r.IntN(3)) + r.Log(5)
		o := Options{Symbols: &filtertest.Symbols{}, Color: seed%2 == 0}
		want := filtertest.Feed(New(o), log)
		for name, in := range map[string]io.Reader{
			"whole": strings.NewReader(log), "bytes": iotest.OneByteReader(strings.NewReader(log)), "halves": iotest.HalfReader(strings.NewReader(log)),
		} {
			if got := runAll(t, o, in); got != want {
				t.Fatalf("seed %d, %s:\n got %q\nwant %q", seed, name, got, want)
			}
		}
	}
}

// TestLLVMLongLine holds that a line over the limit leaves as it came, with what is open closed before it.
func TestLLVMLongLine(t *testing.T) {
	long := strings.Repeat("{{{pc:0x1020}}} \x1b[31m", stream.MaxLine/20+1)
	for _, tail := range []string{"", "\n", "\nnext\n"} {
		for _, log := range []string{llvmModuleLines + long + tail, llvmModuleLines + "x\n" + long + tail, strings.Repeat("x\n", stream.MaxLine/3) + llvmModuleLines + long + tail} {
			f := New(Options{Symbols: &filtertest.Symbols{}})
			f.longest = stream.MaxLine
			var out strings.Builder
			if err := f.Stream().Run(context.Background(), strings.NewReader(log), &out); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			before, after, ok := strings.Cut(got, long)
			if !ok || !strings.HasSuffix(before, "]]]\n") && !strings.HasSuffix(before, "x\n") || after != strings.TrimSuffix(tail, "\n")+"\n" {
				t.Errorf("%d bytes and %q give %d: %v, %q, %q", len(log), tail, len(got), ok, before[max(0, len(before)-20):], after)
			}
		}
	}
}

// TestLLVMVeryLongLines compares lines of several MiB with the peer.
func TestLLVMVeryLongLines(t *testing.T) {
	filtertest.NeedPeer(t)
	const all = 3 * stream.MaxLine / 2
	repeat := func(s string) string { return strings.Repeat(s, all/len(s)) }
	dirs := []string{filtertest.SampleTree()}
	for _, line := range []string{
		repeat("text \x1b[31mred\x1b[0m "), repeat("{{{pc:0x11130}}} and {{{symbol:_Z1fv}}} "), repeat("{{{"), repeat("{{{}}}"), repeat("}}}"), repeat("x{{") + "{{{{{{x:y}}}",
		repeat("plain ") + "{{{bt:0:0x11131}}}" + repeat(" plain"), repeat("plain ") + "{{{reset}}}" + repeat(" plain"), "{{{symbol:" + repeat("x") + "}}}",
		"{{{module:2:" + repeat("a.so") + ":elf:ab}}}", "{{{mmap:0x90000:1:load:1:r:0}}}" + repeat("x"), repeat("\x00\xff") + "{{{data:0x11130}}}", "{{{bad!:" + repeat("x") + "}}}",
	} {
		for _, log := range []string{demo + line + "\n" + line + "\r\nbehind\n", demo + "x\n" + line} {
			samePeer(t, filtertest.TreeSource(dirs...), colorRun, dirs, log)
		}
	}
}

// watchedBuffer is a buffer that may be read while it is written to.
type watchedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *watchedBuffer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(b)
}

func (w *watchedBuffer) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

// slowReader returns its pieces one by one, and notes the output so far before each.
type slowReader struct {
	pieces []string
	out    *watchedBuffer
	seen   []string
}

func (r *slowReader) Read(b []byte) (int, error) {
	time.Sleep(time.Second) // what may leave has left
	r.seen = append(r.seen, r.out.String())
	if len(r.pieces) == 0 {
		return 0, io.EOF
	}
	n := copy(b, r.pieces[0])
	r.pieces = r.pieces[1:]
	return n, nil
}

// TestLLVMPause holds that lines leave while the input pauses, but the beginning of a line does not: a context element
// after it may remove it.
func TestLLVMPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out watchedBuffer
		r := &slowReader{pieces: []string{"a\nb\nbegin ", "{{{mmap", ":0x1000}}}\nc\n"}, out: &out}
		if err := New(Options{Symbols: &filtertest.Symbols{}}).Stream().Run(context.Background(), r, &out); err != nil {
			t.Fatal(err)
		}
		want := []string{"", "a\nb\n", "a\nb\n", "a\nb\nc\n"}
		for i, seen := range r.seen {
			if seen != want[i] {
				t.Errorf("before piece %d: %q, want %q", i, seen, want[i])
			}
		}
	})
}

// TestLLVMAsksOnce holds that an address is asked for once, even if its module is missing. There is a message each time, as from
// llvm.
func TestLLVMAsksOnce(t *testing.T) {
	log := strings.ReplaceAll(llvmModuleLines, "a.so", "missing.so") + strings.Repeat("{{{bt:0:0x1021}}}\n", 5)
	source := &filtertest.Symbols{}
	var errs bytes.Buffer
	got := runAll(t, Options{Symbols: source, Errors: &errs}, strings.NewReader(log))
	if strings.Count(got, "[[[bt:0:0x1021]]]\n") != 5 || errs.String() != strings.Repeat("error: could not find build ID\n", 5) {
		t.Errorf("got %q, %q", got, &errs)
	}
	if len(source.Asked) != 1 || source.Asked[0].Offset != 0x20 || source.Asked[0].Module.BuildID != symsrc.BuildID("\x01\x23\xab\xcd") {
		t.Errorf("asked %v", source.Asked)
	}
}

// FuzzLLVM holds that for any log every line has an end, and lines without braces and escapes stay as they are.
func FuzzLLVM(f *testing.F) {
	for seed := range uint64(5) {
		r := filtertest.Nasty{Rand: rand.New(rand.NewPCG(seed, 2)), Targets: []filtertest.Target{{ID: "0123abcd", At: []uint64{0x10, 0x20}}}}
		f.Add(r.Log(20), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, log string, color bool) {
		got := filtertest.Feed(New(Options{Color: color, Errors: io.Discard}), log)
		if log != "" && got != "" && !strings.HasSuffix(got, "\n") && !strings.HasSuffix(got, "\x1b[0m") {
			t.Errorf("%q has no end", got)
		}
		if !strings.ContainsAny(log, "{\x1b") && strings.TrimSuffix(got, "\n") != strings.TrimSuffix(log, "\n") {
			t.Errorf("%q became %q", log, got)
		}
	})
}
