package tree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
)

// The names that a log's outputs end in.
const (
	stackSuffix   = ".stack.txt"
	rewriteSuffix = ".rewrite"
)

// run is one Run.
type run struct {
	opt    *Options
	logs   []logFile
	report *Report
	output *outputs
	say    *diagnostics
	timing *Timing
	bar    *progress
	// read, skipped and failed count logs.
	read, skipped, failed atomic.Int64
}

// fail notes an input or an output that failed.
func (r *run) fail(rel string, err error) {
	r.failed.Add(1)
	r.say.line("%s: %v", rel, r.named(err))
}

// named puts into an error what its reader may do about it.
func (r *run) named(err error) error {
	if r.opt.Named == nil {
		return err
	}
	return r.opt.Named(err)
}

// reports carries all logs through, and writes the reports.
func (r *run) reports(ctx context.Context) error {
	report, err := NewReport(r.opt.ReportOptions)
	if err != nil {
		return err
	}
	defer report.discard()
	if r.output, err = openOutputs(r.opt.Output); err != nil {
		return err
	}
	defer r.output.close()
	report.title, report.stream = r.opt.Input, nil
	r.report = report
	if r.opt.Terminal {
		r.bar = newProgress(r.opt.Stderr, r.logs)
		r.say.out = r.bar
	}
	r.each(ctx, r.one)
	r.bar.end()
	r.say.out = r.opt.Stderr
	if err := ctx.Err(); err != nil {
		return err
	}
	defer r.timing.start(&r.timing.written)()
	return report.Close()
}

// each hands out the logs, in their order, to as many workers as there are to be.
func (r *run) each(ctx context.Context, work func(ctx context.Context, log *logFile) error) {
	n := r.opt.Jobs
	if n == 0 {
		n = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, len(r.logs)) {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(r.logs) {
					return
				}
				r.done(ctx, &r.logs[i], work(ctx, &r.logs[i]))
			}
		})
	}
	wg.Wait()
}

// done notes what became of a log.
func (r *run) done(ctx context.Context, log *logFile, err error) {
	r.bar.file()
	switch {
	case err == nil:
		r.read.Add(1)
		if r.opt.Verbose {
			r.say.line("%s: done", log.rel)
		}
	case ctx.Err() != nil:
	default:
		r.unread(log.rel, err)
	}
}

// unread notes what was not read: since it is no log, or as it cannot be.
func (r *run) unread(rel string, err error) {
	if !errors.Is(err, errSkip) {
		r.fail(rel, err)
		return
	}
	r.skipped.Add(1)
	r.say.line("%s: %v", rel, r.named(err))
}

// one carries one log through its filter into its output and the report. A panic over it is an error of this log: the others go on.
func (r *run) one(ctx context.Context, log *logFile) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("internal error: %v; please report it with the log", cause)
		}
	}()
	in, err := open(ctx, log, r.bar.bytes)
	if err != nil {
		return err
	}
	defer in.Close()
	suffix := stackSuffix
	if r.opt.Mode == Rewrite {
		suffix = rewriteSuffix
	}
	out, err := r.output.create(filepath.FromSlash(log.rel) + suffix)
	if err != nil {
		return err
	}
	defer out.abort()
	sink := r.report.begin(log.index, log.rel)
	sink.bar = r.bar
	defer sink.discard()
	o, to := r.options(log), io.Writer(io.Discard)
	o.Observe = sink.observe
	if r.opt.Mode == StackOnly {
		sink.stacks = out
	} else {
		sink.below = r.opt.Form == Append
		to = out
	}
	timed := r.timing.log()
	err = r.filter(o).Run(ctx, stream.Steady(timed.reader(in)), timed.writer(to))
	timed.done()
	if err != nil {
		return err
	}
	defer r.timing.start(&r.timing.written)()
	if err := sink.end(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	sink.keep()
	return nil
}

// options are those of one log's filter.
func (r *run) options(log *logFile) filter.Options {
	o := r.opt.Filter
	o.Palette, o.Dedupe, o.DumpContext = nil, false, nil
	o.Names, o.SourceLines = print.Names{}, 0 // what is written is compared and counted
	switch {
	case r.opt.Mode == Rewrite && r.opt.Form == Replace:
		o.Style, o.Renumber = print.Replace, print.RenumberAlways
	default: // what a list of stacks has is read, not written
		o.Style, o.Context = print.Append, print.ContextKeep
	}
	if warn := o.Warn; warn != nil {
		o.Warn = func(message string) { r.say.line("%s: %s", log.rel, message) }
	}
	o.Symbols = r.timing.Source(o.Symbols)
	return o
}

// filter makes the filter of a log.
func (r *run) filter(o filter.Options) *filter.Filter { return r.opt.New(o) }

// nothing answers no question, where only the questions are of interest.
type nothing struct{}

func (nothing) Frames(context.Context, symsrc.Addr) symsrc.Answer { return symsrc.Answer{} }
