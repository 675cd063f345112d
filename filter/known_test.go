package filter

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// processes writes n processes of two modules with a frame each. Where moved is set each lies elsewhere.
func processes(n int, moved bool, end string) string {
	var log strings.Builder
	for k := range n {
		base := uint64(0x7f0000000000)
		if moved {
			base += uint64(k) << 20
		}
		for _, line := range []string{
			"{{{reset}}}", "{{{module:0:a.so:elf:0123abcd}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0x0}}}", base), fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:rx:0x1000}}}", base+0x1000),
			"{{{module:1:b.so:elf:4567}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:1:rx:0x0}}}", base-0x8000),
			fmt.Sprintf("{{{bt:0:%#x}}}", base+0x1021), fmt.Sprintf("{{{bt:1:%#x:pc}}}", base-0x8000+0x40), "text",
		} {
			log.WriteString(line + end)
		}
	}
	return log.String()
}

// TestKnownLines holds that lines which are known become what they become when they are not, in both styles.
func TestKnownLines(t *testing.T) {
	for _, end := range []string{"\n", "\r\n"} {
		for _, moved := range []bool{false, true} {
			log := processes(20, moved, end)
			for _, o := range []Options{{LLVM: &LLVMOptions{}}, {LLVM: &LLVMOptions{Color: true, Errors: io.Discard}}, {}, {Context: ContextKeep}, {Context: ContextDrop}} {
				o.Symbols = &symbols{}
				want := feed(o, log) // line by line
				if got := runAll(t, o, strings.NewReader(log)); got != want {
					t.Errorf("moved %v, end %q: got %q\nwant %q", moved, end, cutAt(got), cutAt(want))
				}
			}
		}
	}
}

// TestKnownLinesRandom does the same with random logs, in the default style with its messages and counts.
func TestKnownLinesRandom(t *testing.T) {
	for seed := range uint64(300) {
		r := nasty{Rand: rand.New(rand.NewPCG(seed, 3)), targets: []target{{id: "0123abcd", at: []uint64{0x10, 0x20, 0x30, 0x40}}}}
		log := r.again(r.log(60))
		o := Options{Symbols: &symbols{}, Context: Context(r.IntN(2) * r.IntN(3)), StripSGR: r.one(4), Explain: r.one(4)}
		if r.one(3) {
			o.Palette = sgr.NewPalette(true)
		}
		want := tell(t, o, func(f *Filter, out *strings.Builder) {
			for line := range strings.Lines(log) {
				out.Write(f.Line(context.Background(), nil, []byte(line)))
			}
			out.Write(f.Flush(nil))
		})
		got := tell(t, o, func(f *Filter, out *strings.Builder) {
			if err := f.Run(context.Background(), strings.NewReader(log), out); err != nil {
				t.Fatal(err)
			}
		})
		if got != want {
			i := 0
			for got[i] == want[i] {
				i++
			}
			t.Fatalf("seed %d: got %q\nwant %q", seed, cutAt(got[max(0, i-100):]), cutAt(want[max(0, i-100):]))
		}
	}
}

// tell returns what a filter writes, with its messages and its summary.
func tell(t *testing.T, o Options, run func(*Filter, *strings.Builder)) string {
	var out strings.Builder
	var said []string
	o.Warn = func(message string) { said = append(said, message) }
	f := New(o)
	run(f, &out)
	return out.String() + fmt.Sprint(f.Summary()) + strings.Join(said, "\n") + "."
}

// namedSymbols answers with the name of the module.
type namedSymbols struct{}

func (namedSymbols) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "in " + q.Module.Name}}, Files: &symsrc.Files{Elf: q.Module.Name}}
}

// TestKnownFrameOfAnotherProcess holds that a frame of a running process, whose mappings no line states, is looked at again
// where another process runs by then.
func TestKnownFrameOfAnotherProcess(t *testing.T) {
	for _, json := range []*JSONOptions{nil, {}} {
		running := ""
		d := NewFeed(New(Options{Symbols: namedSymbols{}, JSON: json, Maps: func() [][]byte {
			return [][]byte{[]byte("00001000-00002000 r-xp 00000000 08:01 7 /lib/" + running + ".so\n")}
		}}))
		for _, running = range []string{"first", "second"} {
			out := string(d.Add(context.Background(), nil, []byte(strings.Repeat("{{{bt:0:0x1020:pc}}}\n", 30))))
			if n := strings.Count(out, "in /lib/"+running+".so"); n != 30 {
				t.Errorf("%d frames are of the %s process: %s", n, running, cutAt(out))
			}
		}
	}
}

// TestKnownLinesCost holds that lines which are known cost no memory.
func TestKnownLinesCost(t *testing.T) {
	log := []byte(strings.ReplaceAll(processes(20, true, "\n"), "text\n", ""))
	for _, o := range []Options{{LLVM: &LLVMOptions{}}, {}} {
		o.Symbols = &symbols{}
		f := New(o)
		dst := make([]byte, 0, 10*len(log))
		if allocated := testing.AllocsPerRun(3, func() {
			if _, used := f.run(context.Background(), dst, log); used != len(log) {
				t.Errorf("%d of %d bytes are known", used, len(log))
			}
		}); allocated > 0 {
			t.Errorf("%v times memory", allocated)
		}
	}
}
