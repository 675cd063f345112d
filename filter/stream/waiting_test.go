package stream_test

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/filtertest"
	"qss-filter/filter/stream"
)

// timed is a writer that notes what is there at which time.
type timed struct {
	begin time.Time
	text  strings.Builder
	log   []string
}

func (w *timed) Write(b []byte) (int, error) {
	w.log = append(w.log, time.Since(w.begin).String()+" "+strconv.Quote(string(b)))
	return w.text.Write(b)
}

// streamed runs a filter on what send writes, in a bubble whose time passes only while all wait.
func streamed(t *testing.T, o filter.Options, send func(f *stream.Stream, w io.Writer, out *timed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o.Symbols = &filtertest.Symbols{}
		f := filter.New(o).Stream()
		in, w := io.Pipe()
		out := &timed{begin: time.Now()}
		done := make(chan error, 1)
		go func() { done <- f.Run(context.Background(), in, out) }()
		send(f, w, out)
		w.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestLookaheadTime holds that frames which wait for mappings leave when their time is over, though nothing arrives.
func TestLookaheadTime(t *testing.T) {
	streamed(t, filter.Options{Lookahead: filter.Lookahead{Time: 500 * time.Millisecond}}, func(_ *stream.Stream, w io.Writer, out *timed) {
		time.Sleep(time.Second)
		io.WriteString(w, "text\n    @ 0x1021 f\n")
		time.Sleep(100 * time.Millisecond)
		io.WriteString(w, "more\npart")
		time.Sleep(time.Hour)
		io.WriteString(w, " and rest\n")
		synctest.Wait()
		want := `1s "text\n"|1.5s "    @ 0x1021 f\nmore\n"|1.55s "part"|1h0m1.1s " and rest\n"`
		if got := strings.Join(out.log, "|"); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// TestTrickle holds that a line without its end leaves after a short time even if more of it keeps arriving.
func TestTrickle(t *testing.T) {
	streamed(t, filter.Options{}, func(_ *stream.Stream, w io.Writer, out *timed) {
		sent := ""
		for i := range 400 {
			piece := "\r" + strconv.Itoa(i) + " %"
			sent += piece
			io.WriteString(w, piece)
			time.Sleep(20 * time.Millisecond)
			synctest.Wait()
			if late := len(sent) - out.text.Len(); i >= 13 && late > 0 {
				t.Fatalf("%d bytes of %q are not there: %v", late, sent, out.log)
			}
		}
		io.WriteString(w, "\n")
		// A line that comes in pieces within that time is whole.
		for _, piece := range []string{"#0 0x7f20 ", "(/a.so", "+0", "x20)", "\n"} {
			time.Sleep(40 * time.Millisecond)
			io.WriteString(w, piece)
		}
		time.Sleep(300 * time.Millisecond) // what no build ID verifies waits for the end of its stack
		synctest.Wait()
		if out.text.String() != sent+"\n#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\n" {
			t.Errorf("the end is %q", out.text.String()[len(sent):])
		}
	})
}

// TestAbandon holds that all that is held back is written before the program ends, in its order, and nothing after it.
func TestAbandon(t *testing.T) {
	streamed(t, filter.Options{Lookahead: filter.Lookahead{Time: time.Hour}}, func(f *stream.Stream, w io.Writer, out *timed) {
		io.WriteString(w, "    @ 0x1021 f\nmore\nan end")
		synctest.Wait()
		f.Abandon(time.Second)
		if got := out.text.String(); got != "    @ 0x1021 f\nmore\nan end" {
			t.Errorf("got %q", got)
		}
		f.Continue()
	})
}

// TestPatience holds that the beginning of a line waits longer for its rest if it may be that of a frame.
func TestPatience(t *testing.T) {
	const named = "#0 0x7f20 in plain /src/p.c:3:1 (/a.so+0x20)\n"
	for _, c := range []struct {
		begin, rest string
		pause       time.Duration
		want        string
	}{
		{"Password: ", "\n", time.Minute, `50ms "Password: "|1m0s "\n"`},
		{"#0 0x7f20 (/a.so", "+0x20)\n", 900 * time.Millisecond, `1.15s ` + strconv.Quote(named)},
		{"#0 0x7f", "20 (/a.so+0x20)\n", 900 * time.Millisecond, `1.15s ` + strconv.Quote(named)},
		{"#0", " 0x7f20 (/a.so+0x20)\n", 900 * time.Millisecond, `1.15s ` + strconv.Quote(named)},
		{"#0 0x7f20 (/a.so+0x20)", "\n", 900 * time.Millisecond, `1.15s ` + strconv.Quote(named)},
		{"#0 0x7f20 (/a.so+0x20)", "\n", time.Minute, `1s "#0 0x7f20 (/a.so+0x20)"|1m0s "\n"`},
		{"{{{sym", "bol:main}}}\n", 900 * time.Millisecond, `900ms "main\n"`},
		{"{{{symbol:main}}}", "\n", time.Minute, `50ms "main"|1m0s "\n"`},
		{"{{{symbol:main", "}}}\n", time.Minute, `1s "{{{symbol:main"|1m0s "}}}\n"`},
	} {
		streamed(t, filter.Options{}, func(_ *stream.Stream, w io.Writer, out *timed) {
			io.WriteString(w, c.begin)
			time.Sleep(c.pause)
			io.WriteString(w, c.rest)
			time.Sleep(300 * time.Millisecond)
			synctest.Wait()
			if got := strings.Join(out.log, "|"); got != c.want {
				t.Errorf("%q: got %s\nwant %s", c.begin, got, c.want)
			}
		})
	}
}
