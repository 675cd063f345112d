// Package tree carries a tree of logs through the filter: every log becomes a list of its stacks or a rewritten log, and
// reports say what was found in all of them. These are the five stages of QSS (parse, resolve, symbolize, rebuild, write) in
// one pass: one filter per log parses, resolves and symbolizes, and what it says of each frame is rebuilt and written here.
//
//	tree.go      what is done: Options, Run; the logs on all cores; files that appear whole or not at all
//	walk.go      which files are logs, where their outputs go, and the file of all stacks of a log
//	input.go     opens a log, packed (xz.go) or not
//	observe.go   frame by frame: stacks, new numbers, rows; the modules of all logs, and their files
//	spool.go     rows until their turn comes, in bounded memory
//	report.go    the summary and the tables
//	group.go     one stack of a log; stacks with the same functions, in a table and as a page
//	timing.go    time per stage, and the progress that a terminal shows
package tree

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// ErrUnread says that some logs could not be read, which Options.Stderr has named one by one.
var ErrUnread = errors.New("some logs could not be read")

// Mode says what a log becomes.
type Mode uint8

const (
	// StackOnly lists the log's stacks in NAME.stack.txt.
	StackOnly Mode = iota
	// Rewrite writes the whole log again in NAME.rewrite.
	Rewrite
)

// Form says what becomes of a frame's line in a rewritten log.
type Form uint8

const (
	// Append keeps the line and puts its functions below it.
	Append Form = iota
	// Replace puts the functions in the place of the frame.
	Replace
)

// Options say what Run does.
type Options struct {
	// Input is the directory whose logs are read, Output the one for what they become. Without Output logs are only listed.
	Input, Output string
	// Follow is set where symbolic links of Input are followed out of it, and to directories.
	Follow bool
	Mode   Mode
	Form   Form
	// Jobs is how many logs are read at once; 0 stands for as many as there are cores.
	Jobs int
	// Benchmark writes the time of each stage to Stderr, Verbose what becomes of each log.
	Benchmark, Verbose bool
	// ListModules writes the modules of all logs to Stdout in place of all that; Check adds the files that Finder finds for them, and
	// JSON makes the list a document.
	ListModules, Check, JSON bool
	// ReportOptions say what the report has; Report "" stands for Output.
	ReportOptions

	// Filter is what each log's filter does; Symbols must be set.
	Filter filter.Options
	// New makes the filter of a log; nil stands for filter.New.
	New func(filter.Options) *filter.Filter
	// Timing, if not nil, was put around the sources of Filter.Symbols for Benchmark.
	Timing *Timing
	// Prefix begins each line of diagnostics; "" stands for "qss-filter:".
	Prefix string
	// Named, if not nil, puts into an error what its reader may do about it.
	Named func(error) error
	// Stderr takes diagnostics; Terminal is set where it shows a progress bar.
	Stderr   io.Writer
	Terminal bool
}

// Asked reports whether the options ask for Run.
func (o *Options) Asked() bool { return o.Input != "" || o.Output != "" }

// Run reads a tree of logs, until the end of ctx. Its error is a *symsrc.OptionError where the options are wrong, ErrUnread where
// some logs failed and the rest is done, that of ctx where it was ended, and another one where an output could not be written.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.New == nil {
		o.New = filter.New
	}
	r := &run{opt: &o, say: &diagnostics{out: o.Stderr, prefix: cmp.Or(o.Prefix, "qss-filter:")}, timing: o.Timing}
	if r.timing == nil {
		r.timing = &Timing{}
	}
	done := r.timing.start(&r.timing.walk)
	logs, tree, err := walk(o.Input, o.Follow, r.unread)
	done()
	if err != nil {
		return wrong("Input", "", err)
	}
	defer tree.close()
	r.logs = logs
	if o.ListModules {
		err = r.listModules(ctx)
	} else {
		err = r.reports(ctx)
	}
	if ctx.Err() != nil {
		r.say.line("interrupted: %d of %d logs are done; no report was written", r.read.Load(), len(r.logs))
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if o.Benchmark {
		r.timing.write(o.Stderr)
	}
	if r.failed.Load() > 0 {
		return ErrUnread
	}
	return nil
}

// check looks for what cannot be done.
func (o *Options) check() error {
	switch {
	case o.Input == "":
		return wrong("Input", "", errors.New("want a directory of logs"))
	case o.Output == "" && !o.ListModules:
		return wrong("Output", "", errors.New("want a directory"))
	}
	if err := readable(o.Input); err != nil {
		return wrong("Input", "", err)
	}
	if o.ListModules {
		return nil
	}
	if o.Report == "" {
		o.Report = o.Output
	}
	return o.apart()
}

// wrong returns what is wrong with a field of Options.
func wrong(field, value string, err error) error {
	return &symsrc.OptionError{Option: "tree." + field, Value: value, Err: err}
}

// diagnostics are lines for people. They may come from several goroutines.
type diagnostics struct {
	mu     sync.Mutex
	out    io.Writer
	prefix string
}

func (d *diagnostics) line(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out != nil {
		_, _ = io.WriteString(d.out, d.prefix+" "+symsrc.VisibleLines(fmt.Sprintf(format, args...))+"\n")
	}
}

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
		o.Style, o.Context, o.Below = print.Append, print.ContextKeep, true
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

// whole is a buffered diskcache.File, whose errors name its path.
type whole struct {
	*bufio.Writer
	path string
	file *diskcache.File
}

// outputs is a directory that files are written into, and never out of it, whatever links are there already.
type outputs struct {
	dir  string
	root *os.Root
}

// openOutputs opens a directory, which is made where it is missing.
func openOutputs(dir string) (*outputs, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &outputs{dir, root}, nil
}

func (o *outputs) close() { o.root.Close() }

// create begins a file of the directory. Its own directories are made where they are missing; a link in the place of the file is
// replaced.
func (o *outputs) create(name string) (*whole, error) {
	if dir := filepath.Dir(name); dir != "." {
		if err := o.root.MkdirAll(dir, 0o777); err != nil {
			return nil, o.failed(err)
		}
	}
	file, err := diskcache.OutputIn(o.root, name)
	if err != nil {
		return nil, o.failed(err)
	}
	return newWhole(file, filepath.Join(o.dir, name)), nil
}

// failed puts the directory before the path of an error.
func (o *outputs) failed(err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: filepath.Join(o.dir, cause.Path), Err: cause.Err}
	}
	return err
}

func newWhole(file *diskcache.File, path string) *whole {
	return &whole{Writer: bufio.NewWriterSize(file, 64<<10), path: path, file: file}
}

// creatable fails where a file of the directory could not be written.
func (o *outputs) creatable(name string) error {
	if info, err := o.root.Lstat(name); err == nil && (info.IsDir() || diskcache.IsSpecial(info)) {
		return creatable(filepath.Join(o.dir, name))
	}
	w, err := o.create(name)
	if err != nil {
		return err
	}
	w.abort()
	return nil
}

// fill writes the whole of the file.
func (w *whole) fill(write func(io.Writer) error) error {
	defer w.abort()
	if err := write(w); err != nil {
		return fmt.Errorf("write %s: %w", w.path, err)
	}
	return w.commit()
}

// creatable fails where a file could not be written, which otherwise is found at the end of a run that may be long; "" and - are none.
func creatable(path string) error {
	if path == "" || path == "-" {
		return nil
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("write %s: %w", path, syscall.EISDIR)
	case err == nil && !info.Mode().IsRegular():
		return nil // opening a pipe waits for its reader
	}
	w, err := create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	w.abort()
	return nil
}

// create begins a file that the user has named, in a directory that is made where it is missing. A link to a device is followed.
func create(path string) (*whole, error) {
	if info, err := os.Stat(path); err != nil || !diskcache.IsSpecial(info) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
	}
	file, err := diskcache.Output(path)
	if err != nil {
		return nil, err
	}
	return newWhole(file, path), nil
}

// commit renames the file to its name.
func (w *whole) commit() error {
	err := w.Flush()
	if err == nil {
		err = w.file.Commit()
	}
	if err != nil {
		w.file.Abort()
		err = fmt.Errorf("write %s: %w", w.path, err)
	}
	return err
}

// abort removes what there is of a file that has no name yet. It does nothing after commit.
func (w *whole) abort() { w.file.Abort() }
