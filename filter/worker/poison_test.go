package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/symsrc"
)

// hostile is a source that does not survive the file deadly.so.
type hostile struct {
	offsets
	die func(ctx context.Context)
}

func (h hostile) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	switch q.Module.Name {
	case "deadly.so":
		h.die(ctx)
	case "slow.so":
		time.Sleep(500 * time.Millisecond)
	}
	return h.offsets.Frames(ctx, q)
}

// mortalEnv has the URL of the server of a worker that this test's program is to be, which is killed by deadly.so.
const mortalEnv = "QSS_TEST_MORTAL"

func beMortal(url string) (status int) {
	o := options(url, os.Stderr)
	o.Partitions = 1
	o.Filter.Symbols = hostile{die: func(context.Context) {
		time.Sleep(200 * time.Millisecond) // so that a slow line of another partition has begun, and is not done
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill() // as the kernel does where memory is short
		}
		select {}
	}}
	if err := Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// deadlyLine is a frame of deadly.so; deadlyMap makes that known.
const (
	deadlyMap  = "{{{module:1:deadly.so:elf:4567cdef}}}\n{{{mmap:0x9000:0x1000:load:1:rx:0x0}}}\n"
	deadlyText = "    #0 0x1 (deadly.so+0x20) (BuildId: 4567cdef)\n"
	slowText   = "    #0 0x1 (slow.so+0x20) (BuildId: 89abcdef)\n"
)

// rawLines returns the annotated lines that left as they came, with the reasons, and how many lines there are in all.
func rawLines(t *testing.T, js jetstream.JetStream) (raw map[string]string, all int) {
	t.Helper()
	raw = map[string]string{}
	stream, err := js.Stream(t.Context(), "ANNOTATED")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if why := m.Header.Get(headerRaw); why != "" {
			_, line, held := strings.Cut(string(m.Data), "]]]\n") // what was held back comes before it
			if !held {
				line = string(m.Data)
			}
			raw[line] = why
		}
		all++
	}
	return raw, all
}

// TestCrash holds that a line whose annotation kills the worker leaves as it came after a few workers, and no other one does.
func TestCrash(t *testing.T) {
	for name, c := range map[string]struct{ before, after, others string }{
		"the first line":       {"", "1\n", ""},
		"among others":         {strings.Repeat(frameLine, 300), strings.Repeat(frameLine, 300), ""},
		"read again each time": {strings.Repeat("text\n", 20), "==2==ERROR: AddressSanitizer\n" + frameLine, ""},
		"beside a slow line":   {"", "1\n", slowText},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // they wait for what a dead worker held
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			other := contextLines + c.others + strings.Repeat(frameLine, 100)
			log := contextLines + c.before + deadlyText + c.after
			publish(t, url, "1", other)
			publish(t, url, "2", log)
			publish(t, url, "3", other)
			wanted := 2*strings.Count(other, "\n") + strings.Count(log, "\n")
			starts := 0
			done := func() bool {
				s, err := js.Stream(t.Context(), "ANNOTATED")
				return err == nil && s.CachedInfo().State.Msgs >= uint64(wanted)
			}
			for !done() {
				if starts++; starts > 8 {
					t.Fatal("it never leaves")
				}
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), mortalEnv+"="+url)
				if os.Getenv("QSS_TEST_SAY") != "" {
					cmd.Stderr = os.Stderr
				}
				w := start(t, cmd)
				for !w.isGone() && !done() {
					time.Sleep(10 * time.Millisecond)
				}
				w.kill()
			}
			raw, all := rawLines(t, js)
			if len(raw) != 1 || raw[deadlyText] != whyCrash || all != wanted {
				t.Errorf("after %d workers: %q, %d lines of %d", starts, raw, all, wanted)
			}
			t.Logf("%d workers", starts)
			for _, key := range []string{"h.1", "h.3"} {
				if got := annotated(t, js, key, strings.Count(other, "\n")); strings.Count(strings.Join(got, ""), " a.so@10 ") != 100 {
					t.Errorf("%s: got %q", key, got)
				}
			}
			if got := strings.Join(annotated(t, js, "h.2", strings.Count(log, "\n")), ""); strings.Count(got, " a.so@10 ") != strings.Count(log, frameLine) {
				t.Errorf("got %q", got)
			}
			// A worker that reads all of it again makes the same of it.
			kv, err := js.KeyValue(t.Context(), "d-LOGS")
			if err != nil {
				t.Fatal(err)
			}
			if err := kv.Delete(t.Context(), "key.h.2"); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), mortalEnv+"="+url)
			w := start(t, cmd)
			publish(t, url, "2", frameLine)
			if got := annotated(t, js, "h.2", strings.Count(log, "\n")+1); !strings.Contains(got[len(got)-1], " a.so@10 ") {
				t.Errorf("then %q", got[len(got)-1])
			}
			if w.isGone() {
				t.Error("the line kills another worker")
			}
		})
	}
}

// fakeClock is a clock that goes by its own time, and as the real one does.
type fakeClock struct{ ahead atomic.Int64 }

func (c *fakeClock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// TestHang holds that a line which hangs leaves as it came, that the lines behind it follow, and that the worker's end does not wait
// for it.
func TestHang(t *testing.T) {
	for name, heeds := range map[string]bool{"for ever": false, "until it is given up": true} {
		t.Run(name, func(t *testing.T) {
			_, url := broker(t, brokerOptions{})
			js := client(t, url)
			clock := &fakeClock{}
			hanging := make(chan struct{}, 10)
			over := make(chan struct{})
			defer close(over)
			address := fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1)[0])
			said, stop := inProcess(t, url, func(o *Options) {
				o.now, o.Partitions, o.Parallel, o.Metrics = clock.now, 1, 1, address
				o.Filter.Symbols = hostile{die: func(ctx context.Context) {
					hanging <- struct{}{}
					if heeds {
						<-ctx.Done()
					} else {
						<-over
					}
				}}
			})
			publish(t, url, "1", contextLines+frameLine+deadlyText+frameLine)
			publish(t, url, "2", contextLines+frameLine)
			<-hanging
			clock.ahead.Store(int64(lineLimit + time.Minute))
			if got := annotated(t, js, "h.1", 6); got[4] != deadlyText || !strings.Contains(got[3], " a.so@10 ") || !strings.Contains(got[5], " a.so@10 ") {
				t.Errorf("got %q", got)
			}
			annotated(t, js, "h.2", 4)
			if raw, all := rawLines(t, js); len(raw) != 1 || raw[deadlyText] != whyHang || all != 10 {
				t.Errorf("%q, %d lines", raw, all)
			}
			if n := metric(t, address, `qss_filter_raw_lines_total\{reason="hang"\}`); n != 1 {
				t.Errorf("%d lines are counted", n)
			}
			if !heeds {
				if n := metric(t, address, "qss_filter_hanging_lines"); n != 1 {
					t.Errorf("%d lines hang", n)
				}
			}
			publish(t, url, "3", contextLines+deadlyText)
			<-hanging // and the clock is stopped
			stop()
			if strings.Count(said.String(), "cannot be annotated") != 1 {
				t.Errorf("said %s", said)
			}
		})
	}
}

// TestManyHang ends a worker in which too many lines hang.
func TestManyHang(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	client(t, url)
	clock := &fakeClock{}
	hanging := make(chan struct{}, 100)
	over := make(chan struct{})
	defer close(over)
	o := options(url, os.Stderr)
	o.now = clock.now
	o.Filter.Symbols = hostile{die: func(context.Context) {
		hanging <- struct{}{}
		<-over
	}}
	ended := make(chan error, 1)
	go func() { ended <- Run(t.Context(), o) }()
	publish(t, url, "1", strings.Repeat(deadlyText, 20))
	for {
		select {
		case <-hanging:
			clock.ahead.Add(int64(lineLimit + time.Minute))
			continue
		case err := <-ended:
			if !errors.Is(err, errStuck) {
				t.Errorf("it ended with %v", err)
			}
		}
		return
	}
}

// TestPanic holds that a line over which the program panics leaves as it came.
func TestPanic(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	inProcess(t, url, func(o *Options) {
		o.Partitions = 1
		o.Filter.Symbols = hostile{die: func(context.Context) { panic("a fault") }}
	})
	publish(t, url, "1", contextLines+frameLine+deadlyText+frameLine)
	publish(t, url, "2", contextLines+frameLine)
	if got := annotated(t, js, "h.1", 6); !strings.HasPrefix(got[4], strings.TrimSuffix(deadlyText, "\n")) || !strings.Contains(got[5], " a.so@10 ") {
		t.Errorf("got %q", got)
	}
	annotated(t, js, "h.2", 4)
}

// TestSteps holds what becomes of steps that panic, or write more than a batch takes.
func TestSteps(t *testing.T) {
	s := &steps{now: time.Now}
	s.run(t.Context(), nil, 3, func(_ context.Context, out []message, i int) []message {
		if i == 1 {
			panic("a fault")
		}
		return append(out, message{})
	})
	if s.err == nil || s.err.why != whyPanic || s.at() != 1 || !strings.HasPrefix(s.err.said, ": a fault\n") {
		t.Errorf("a panic: %v at %d", s.err, s.at())
	}
	for raw, fails := range map[string]bool{"": true, whyHang: false} {
		s = &steps{now: time.Now}
		s.run(t.Context(), nil, 3, func(_ context.Context, out []message, i int) []message {
			for range i * (batchMessages + 1) / 2 {
				out = append(out, message{raw: raw})
			}
			return out
		})
		if failed := s.err != nil && s.err.why == whySize && s.at() == 2; failed != fails || !fails && len(s.out) == 0 {
			t.Errorf("raw %q: %v at %d", raw, s.err, s.at())
		}
	}
}

// TestSubjects takes lines under subjects that servers cannot be asked about as they are.
func TestSubjects(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	publish(t, url, "1", contextLines) // the stream
	keys := []string{"h.\xff\xfe", "h.\xff\xfd", "\x80.x\xc3", "h.a\x01b", "h.ü\ufffd", "h." + strings.Repeat("long", 500), "h." + strings.Repeat("long", 500) + "x",
		strings.Repeat("t.", 1000) + "end", "h.==" + strings.Repeat("0", 32), "h." + strings.Repeat("l", 3900), "h.\\\"'<&>"[:8]}
	sent := 3
	send := func() {
		for _, key := range keys {
			for line := range strings.Lines(contextLines + frameLine + frameLine) {
				if _, err := js.Publish(t.Context(), "logs."+key, []byte(line)); err != nil {
					t.Fatalf("%q: %v", key, err)
				}
				sent++
			}
		}
	}
	for round := range 2 {
		send()
		_, stop := inProcess(t, url, func(o *Options) { o.Partitions = 1 })
		for {
			if s, err := js.Stream(t.Context(), "ANNOTATED"); err == nil && s.CachedInfo().State.Msgs >= uint64(sent) {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		stop()
		raw, all := rawLines(t, js)
		if len(raw) > 0 || all != sent {
			t.Errorf("round %d: %q raw, %d lines of %d", round, raw, all, sent)
		}
	}
	stream, err := js.Stream(t.Context(), "ANNOTATED")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]int{}
	for seq := range uint64(sent) {
		m, err := stream.GetMsg(t.Context(), seq+1)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(m.Data), " a.so@10 ") {
			named[m.Subject]++
		}
	}
	if len(named) != len(keys) {
		t.Errorf("%d processes of %d", len(named), len(keys))
	}
	for subject, n := range named {
		if n != 4 {
			t.Errorf("%q has %d frames of 4", subject, n)
		}
	}
}

// TestPoisonOfTwo holds that a worker which has lost a partition overwrites nothing of what its successor has kept of poisonous lines.
func TestPoisonOfTwo(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	kv, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "states"})
	if err != nil {
		t.Fatal(err)
	}
	one := func(name string) *partition {
		w := &worker{name: name, js: js, streams: &streams{state: kv, tag: "t"}}
		p := &partition{w: w, vigilance: vigilance{w: w, log: newLog(io.Discard, false)}}
		if err := p.vigilance.examine(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.vigilance.careful = true
		return p
	}
	condemn := func(p *partition, line uint64) {
		p.vigilance.condemn(t.Context(), &poisonError{line: line, why: whyHang})
	}
	begin := func(p *partition, seq uint64) {
		if n := p.vigilance.begin(t.Context(), []*line{{seq: seq}}); n != 1 {
			t.Errorf("%d lines are begun", n)
		}
	}
	kept := func() string {
		p, _, err := one("reader").vigilance.kept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(p.Raw)
		if p.Mark != nil {
			text += fmt.Sprintf(" %s %d", p.Mark.Worker, p.Mark.First)
		}
		return text
	}
	for _, c := range []struct {
		name string
		do   func(a, b *partition)
		want string
	}{
		{"both have lines", func(a, b *partition) { condemn(b, 7); condemn(a, 5); condemn(b, 9) }, "[{7 hang} {9 hang} {5 hang}]"},
		{"the successor has a mark", func(a, b *partition) { begin(b, 8); condemn(a, 5) }, "[{5 hang}] b 8"},
		{"both have marks", func(a, b *partition) {
			begin(a, 4)
			if err := b.vigilance.examine(t.Context()); err != nil {
				t.Fatal(err)
			}
			begin(b, 8)
			begin(a, 5)
			begin(a, 6)
			a.vigilance.unmark(t.Context())
		}, "[] b 8"},
		{"marks come and go", func(a, _ *partition) {
			v := &a.vigilance
			v.first, v.last = 1, 10
			for n := range uint64(5) {
				begin(a, 1+n)
				a.vigilance.unmark(t.Context())
			}
			begin(a, 6)
			if v.overtaken {
				t.Error("a worker takes its own marks for another's")
			}
		}, "[] a 6"},
		{"the record is gone", func(a, _ *partition) {
			condemn(a, 5)
			if err := kv.Delete(t.Context(), "poison.0"); err != nil {
				t.Fatal(err)
			}
			condemn(a, 6)
		}, "[{5 hang} {6 hang}]"},
	} {
		if err := kv.Purge(t.Context(), "poison.0"); err != nil {
			t.Fatal(err)
		}
		a, b := one("a"), one("b")
		c.do(a, b)
		if got := kept(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}
