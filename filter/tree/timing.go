package tree

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"qss-filter/symsrc"
	"qss-filter/symsrc/meter"
)

// Timing adds up the time of each stage over all logs, in nanoseconds. The zero value is ready to use.
type Timing struct {
	walk, run, read, resolve, symbolize, written atomic.Int64
}

// start starts a measurement, and returns the function that adds it to a stage.
func (t *Timing) start(stage *atomic.Int64) (end func()) {
	begin := time.Now()
	return func() { stage.Add(int64(time.Since(begin))) }
}

// within returns a meter.Start that adds the time of calls to a stage.
func (t *Timing) within(stage *atomic.Int64) meter.Start {
	return func(ctx context.Context, _ bool) (context.Context, func()) { return ctx, t.start(stage) }
}

// Finder returns f with the time of its calls added to the stage that resolves modules.
func (t *Timing) Finder(f symsrc.Finder) symsrc.Finder {
	return meter.TimedFinder(f, t.within(&t.resolve))
}

// Source returns s with the time of its calls added to the stage that symbolizes.
func (t *Timing) Source(s symsrc.Source) symsrc.Source {
	return meter.TimedSource(s, t.within(&t.symbolize))
}

// logTiming is the time of one log.
type logTiming struct {
	t                *Timing
	begin            time.Time
	reading, writing time.Duration
}

func (t *Timing) log() *logTiming { return &logTiming{t: t, begin: time.Now()} }

func (l *logTiming) done() {
	l.t.run.Add(int64(time.Since(l.begin)))
	l.t.read.Add(int64(l.reading))
	l.t.written.Add(int64(l.writing))
	l.t.run.Add(-int64(l.reading + l.writing))
}

func (l *logTiming) reader(r io.Reader) io.Reader { return timedReader{l, r} }
func (l *logTiming) writer(w io.Writer) io.Writer { return timedWriter{l, w} }

type timedReader struct {
	l *logTiming
	r io.Reader
}

func (r timedReader) Read(b []byte) (int, error) {
	begin := time.Now()
	n, err := r.r.Read(b)
	r.l.reading += time.Since(begin)
	return n, err
}

type timedWriter struct {
	l *logTiming
	w io.Writer
}

func (w timedWriter) Write(b []byte) (int, error) {
	begin := time.Now()
	n, err := w.w.Write(b)
	w.l.writing += time.Since(begin)
	return n, err
}

// write writes the time of each stage. The times of logs that were processed at once are added up.
func (t *Timing) write(w io.Writer) {
	resolve, symbolize := t.resolve.Load(), t.symbolize.Load()
	stages := []struct {
		name string
		ns   int64
	}{
		{"walk", t.walk.Load()},
		{"read", t.read.Load()},
		{"parse", t.run.Load() - symbolize},
		{"resolve", resolve},
		{"symbolize", symbolize - resolve},
		{"write", t.written.Load()},
	}
	for _, s := range stages {
		fmt.Fprintf(w, "qss-filter: %-9s %9.3f s\n", s.name, time.Duration(max(0, s.ns)).Seconds())
	}
}

// progress is a progress bar on a terminal. It shows bytes, files, frames, frames without a name, and the estimated time left. A nil
// progress does nothing.
type progress struct {
	bars                      *mpb.Progress
	bar                       *mpb.Bar
	total                     int
	files, frames, unresolved atomic.Int64
}

const refresh = 150 * time.Millisecond

func newBars(out io.Writer) *mpb.Progress {
	return mpb.New(mpb.WithOutput(out), mpb.WithWidth(40), mpb.WithRefreshRate(refresh), mpb.WithAutoRefresh())
}

// newProgress returns a bar for logs.
func newProgress(out io.Writer, logs []logFile) *progress {
	p := &progress{total: len(logs)}
	var size int64
	for i := range logs {
		size += logs[i].size
	}
	p.bars = newBars(out)
	// A bar that begins with a total ends only there, and logs may be shorter than they were when they were listed.
	p.bar = p.bars.New(0, mpb.BarStyle(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf("%d/%d files ", p.files.Load(), p.total)
		})),
		mpb.AppendDecorators(decor.Percentage(), decor.Any(func(decor.Statistics) string {
			return fmt.Sprintf(" %d frames, %d unresolved, ", p.frames.Load(), p.unresolved.Load())
		}), decor.AverageETA(decor.ET_STYLE_GO)))
	p.bar.SetTotal(max(size, 1), false)
	return p
}

// Write writes a line above the bar.
func (p *progress) Write(b []byte) (int, error) { return p.bars.Write(b) }

func (p *progress) bytes(n int64) {
	if p != nil {
		p.bar.IncrInt64(n)
	}
}

// file counts a file, of which so many bytes were not read.
func (p *progress) file(unread int64) {
	if p != nil {
		p.bytes(max(unread, 0))
		p.files.Add(1)
	}
}

func (p *progress) frame(failed bool) {
	if p == nil {
		return
	}
	p.frames.Add(1)
	if failed {
		p.unresolved.Add(1)
	}
}

// end ends the bar and leaves it on the terminal.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.bar.SetTotal(max(p.bar.Current(), 1), true)
	p.bars.Wait()
}

// Bar is a progress bar for one input, on a terminal.
type Bar struct {
	bars *mpb.Progress
	bar  *mpb.Bar
}

// NewBar returns a bar for the input of that name.
func NewBar(out io.Writer, name string) *Bar {
	b := &Bar{bars: newBars(out)}
	b.bar = b.bars.New(0, mpb.BarStyle(), mpb.PrependDecorators(decor.Name(name+" ")),
		mpb.AppendDecorators(decor.Percentage(), decor.Name(", "), decor.AverageETA(decor.ET_STYLE_GO)))
	return b
}

// Set shows that done of total is done. If that is all, it ends the bar and leaves it on the terminal.
func (b *Bar) Set(done, total int64) {
	if b.bar.Completed() {
		return
	}
	b.bar.SetTotal(total, false)
	b.bar.SetCurrent(done)
	if done >= total {
		b.bar.SetTotal(-1, true)
		b.bars.Wait()
	}
}

// Write writes lines above the bar. It fails after the end of the bar.
func (b *Bar) Write(text []byte) (int, error) { return b.bars.Write(text) }

// End ends the bar and leaves it on the terminal, even if not all is done.
func (b *Bar) End() {
	b.bar.Abort(false)
	b.bars.Wait()
}
