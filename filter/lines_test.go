package filter_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
)

// runAll runs a log through Run in pieces of the reader's choosing.
func runAll(t *testing.T, o filter.Options, in io.Reader) string {
	t.Helper()
	if o.Symbols == nil {
		o.Symbols = &symbols{}
	}
	return filtertest.RunAll(t, o, in)
}

// TestRunKeepsBytes holds that whatever is not understood leaves as it came, however it arrives.
func TestRunKeepsBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	pieces := []string{"\n", "\r\n", "\r", "\x00", "\xff\xfe", "text ", "#", "#1 ", "+0x", "{{{", "<<<", "}}}", "Sanitizer", "\x1b[31m",
		"(/a+0x", "ordinary words ", "{\"log\":\"", "\"}", "#2 0x1 (/missing.so+0x10)", strings.Repeat("long ", 500)}
	for range 300 {
		var log []byte
		for range rng.IntN(60) {
			log = append(log, pieces[rng.IntN(len(pieces))]...)
		}
		for name, in := range map[string]io.Reader{
			"whole": bytes.NewReader(log), "bytes": iotest.OneByteReader(bytes.NewReader(log)), "halves": iotest.HalfReader(bytes.NewReader(log)),
		} {
			if got := runAll(t, filter.Options{}, in); got != string(log) {
				t.Fatalf("%s:\n got %q\nwant %q", name, got, log)
			}
		}
	}
}

// TestRunLongLine holds that a line of any length passes untouched, in the memory of a few buffers.
func TestRunLongLine(t *testing.T) {
	frame := "#0 0x7f20 (/a.so+0x20)"
	long := strings.Repeat(frame+" ", 3*stream.MaxLine/len(frame)) + "\n"
	after := frame + "\n"
	got := runAll(t, filter.Options{}, strings.NewReader(long+after))
	if want := long + "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\n"; got != want {
		t.Errorf("got %d bytes, want %d; the end is %q", len(got), len(want), got[len(got)-60:])
	}
	just := strings.Repeat("x", stream.MaxLine-len(frame)-2) + " " + frame + "\n"
	if got := runAll(t, filter.Options{}, strings.NewReader(just)); !strings.HasSuffix(got, " in plain /src/p.c:3:1 (/a.so+0x20)\n") {
		t.Errorf("a line of %d bytes was not annotated", len(just)-1)
	}
}

// output collects what a run writes, and hands it out as it comes.
type output struct{ pieces chan string }

func (o output) Write(b []byte) (int, error) {
	o.pieces <- string(b)
	return len(b), nil
}

// TestRunLive feeds a log line by line into an open pipe: each line's outcome must be there before the next is sent.
func TestRunLive(t *testing.T) {
	for name, pipe := range map[string]func() (io.Reader, io.WriteCloser){
		"file": func() (io.Reader, io.WriteCloser) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
		"reader": func() (io.Reader, io.WriteCloser) { return io.Pipe() },
	} {
		t.Run(name, func(t *testing.T) {
			in, w := pipe()
			out := output{make(chan string, 100)}
			done := make(chan error, 1)
			go func() { done <- filter.New(filter.Options{Symbols: &symbols{}}).Run(context.Background(), in, out) }()
			for _, step := range []struct{ send, want string }{
				{"plain text\n", "plain text\n"},
				{"#0 0x7f20 (/a.so+0x20)\n", "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\n"},
				{"{{{module:0:/a.so:elf:0123abcd}}}\n", "[[[ELF module #0x0 \"/a.so\"; BuildID=0123abcd]]]\n"},
				{"{{{mmap:0x1000:0x100:load:0:rx:0x0}}}\n", "[[[ELF module #0x0 \"/a.so\"; adds [0x1000-0x10ff](rx)]]]\n"},
				{"{{{bt:0:0x1020:pc}}}\n", "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"},
				{"no end ", "no end "},
				{"#0 0x7f20 (/a.so+0x20)\n", "#0 0x7f20 (/a.so+0x20)\n"},
				{"#0 0x7f20 (/a.so+0x20)", "#0 0x7f20 (/a.so+0x20)"},
				{" (BuildId: ff)\n", " (BuildId: ff)\n"},
				{"{{{bt:0:0x1020:pc}}}", "    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)"},
				{"\n", "\n"},
				{"{{{bt:0:0x10", "{{{bt:0:0x10"},
				{"20:pc}}}\n{{{bt:0:0x1020:pc}}}\n", "20:pc}}}\n    #0    0x0000000000001020 plain /src/p.c:3:1 (/a.so+0x20)\n"},
			} {
				if _, err := io.WriteString(w, step.send); err != nil {
					t.Fatal(err)
				}
				got := ""
				for got != step.want {
					piece := <-out.pieces
					if got += piece; !strings.HasPrefix(step.want, got) {
						t.Fatalf("after %q came %q, want %q", step.send, got, step.want)
					}
				}
			}
			w.Close()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRunErrors holds which errors end a run, and that what was read before is written.
func TestRunErrors(t *testing.T) {
	broken := errors.New("broken")
	var out bytes.Buffer
	f := filter.New(filter.Options{Symbols: &symbols{}})
	err := f.Run(context.Background(), io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), &out)
	if !errors.Is(err, broken) || out.String() != "a\nb" {
		t.Errorf("error %v after %q", err, out.String())
	}
	var w *stream.WriteError
	err = f.Run(context.Background(), strings.NewReader("a\n"), failing{broken})
	if !errors.As(err, &w) || !errors.Is(err, broken) {
		t.Errorf("error %v of a failed write", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// lineKept reports whether a line stands in the output as it came, and returns the output from there on. To the strings of a JSON
// object answers are added inside: all of its bytes must be on one line, in their order.
func lineKept(out, line []byte) (rest []byte, ok bool) {
	if i := bytes.Index(out, line); i >= 0 {
		return out[i:], true
	}
	if begin := bytes.IndexByte(line, '{'); begin < 0 || bytes.IndexByte(line[begin:], '}') < 0 {
		return nil, false
	}
	for rest := out; len(rest) > 0; {
		one, more, _ := bytes.Cut(rest, []byte{'\n'})
		left := line
		for _, c := range one {
			if len(left) > 0 && c == left[0] {
				left = left[1:]
			}
		}
		if len(left) == 0 {
			return rest, true
		}
		rest = more
	}
	return nil, false
}

// FuzzRun holds that nothing panics, that in the appending style every line of the log is there as it came, and that
// what arrives in pieces becomes what it does at once.
func FuzzRun(f *testing.F) {
	f.Add([]byte(markupLog))
	f.Add([]byte("#0 0x7f10 (/a.so+0x10) (BuildId: 0123abcd)\r\n#1 0x7f21 main (/a.so+0x21)\n{\"log\":\"#2 0x7f30 (/a+0x30)\\n\"}"))
	f.Add([]byte(`{"log":"#0 0x7f10 (/a.so+0x10) x\n"}` + "\n" + `{"00""#0 0x000000 (00+0x10)0"}`))
	f.Add([]byte("SUMMARY: AddressSanitizer: x (/a.so+0x10)\n\x1b[1m#0 \x1b[0m0x7f10 (/a.so+0x10)\n{{{pc:0x1}}} <<<bt:0:0x1>>>"))
	f.Fuzz(func(t *testing.T, log []byte) {
		o := filter.Options{Symbols: &symbols{}, Style: print.Append}
		var out bytes.Buffer
		if err := filter.New(o).Run(context.Background(), bytes.NewReader(log), &out); err != nil {
			t.Fatal(err)
		}
		rest := out.Bytes()
		for _, line := range bytes.SplitAfter(log, []byte{'\n'}) {
			var ok bool
			if rest, ok = lineKept(rest, bytes.TrimRight(line, "\r\n")); !ok {
				t.Fatalf("line %q of %q is lost in %q", line, log, out.Bytes())
			}
		}
		for _, style := range []print.Style{print.Annotate, print.Replace} {
			o.Style = style
			var whole, pieces bytes.Buffer
			if err := filter.New(o).Run(context.Background(), bytes.NewReader(log), &whole); err != nil {
				t.Fatal(err)
			}
			if len(log) > 200 {
				continue
			}
			fl := filter.New(o)
			for _, line := range bytes.SplitAfter(log, []byte{'\n'}) {
				if len(line) > 0 {
					pieces.Write(fl.Line(context.Background(), nil, line))
				}
			}
			pieces.Write(fl.Flush(nil))
			if !bytes.Equal(whole.Bytes(), pieces.Bytes()) {
				t.Fatalf("at once %q, line by line %q", whole.Bytes(), pieces.Bytes())
			}
		}
	})
}

func benchmarkRun(b *testing.B, log []byte) {
	b.SetBytes(int64(len(log)))
	f := filter.New(filter.Options{Symbols: &symbols{}})
	for b.Loop() {
		if err := f.Run(context.Background(), bytes.NewReader(log), io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

const ordinary = "11-21 10:11:12.123  1201  1201 I ActivityManager: Start proc 4242:com.example.app/u0a12 for service status=200\n"

func BenchmarkRunPlain(b *testing.B) { benchmarkRun(b, bytes.Repeat([]byte(ordinary), 1e5)) }

func BenchmarkRunMarkup(b *testing.B) {
	log := []byte(markupLog)
	for range 10000 {
		log = append(log, ordinary+ordinary+"{{{bt:0:0x1010:pc}}}\n"...)
	}
	benchmarkRun(b, log)
}

func BenchmarkRunFrames(b *testing.B) {
	benchmarkRun(b, bytes.Repeat([]byte(ordinary+ordinary+"    #0 0x7f10  (/a.so+0x10)"+id+"\n"), 1e4))
}
