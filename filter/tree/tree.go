// Package tree filters a directory tree of logs. For each log it writes a list of the stacks or the rewritten log, and for all
// logs together it writes reports. It runs the five stages of QSS (parse, resolve, symbolize, rebuild, write) in one pass: a filter
// per log parses, resolves and symbolizes; this package rebuilds and writes the observed frames.
//
//	tree.go      Options and Run; the logs on all cores; output files, which are renamed into place when they are complete
//	end.go       the line at the end
//	choose.go    which files of a directory tree are logs
//	walk.go      the logs of a directory tree; the check that no output is written into it
//	names.go     how the outputs are called
//	list.go      the list of the modules of all logs
//	input.go     opens a log, compressed or not
//	observe.go   frame by frame: new numbers and lines; the modules of all logs, and their files
//	spool.go     table rows until they are written, in bounded memory
//	report.go    the tables and the summary
//	goroutine.go the stacks of goroutines, which Go names itself
//	group.go     the stacks of a log; groups of stacks with the same functions, as a table
//	page.go      the groups by bug, as a page
//	timing.go    time per stage, and the progress bar
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
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/filter/stream"
	"qss-filter/symsrc"
	"qss-filter/symsrc/diskcache"
)

// ErrUnread is returned by Run if some logs failed. Options.Stderr has a line for each of them.
var ErrUnread = errors.New("some logs could not be read")

// Mode is the kind of output that is written for a log.
type Mode uint8

const (
	// StackOnly writes the stacks of the log to NAME.stack.txt.
	StackOnly Mode = iota
	// Rewrite writes the log with its frames symbolized to NAME.rewrite.
	Rewrite
)

// Form is how frames are written in a rewritten log.
type Form uint8

const (
	// Append keeps the line and adds the functions below it.
	Append Form = iota
	// Replace replaces the frame with the functions.
	Replace
	// Full adds the function to the frame, as in a pipe.
	Full
)

// Options are the options of Run.
type Options struct {
	// Input is the directory of the logs, Output the one of the outputs.
	Input, Output string
	// Follow follows symbolic links in Input to directories, and to files outside Input.
	Follow bool
	Mode   Mode
	Form   Form
	// Mirror names what is written for a log like the log: a rewritten one has its name, and none the suffix of a packed one.
	Mirror bool
	// Include and Exclude are patterns of path.Match. A file is read if one of Include matches, or if there is none and the file is
	// no source, and none of Exclude matches. A pattern without a slash is compared with the name of the file, and in Exclude with
	// those of its directories; one with a slash with the path below Input.
	Include, Exclude []string
	// Jobs is the number of logs that are read at once; 0 means GOMAXPROCS.
	Jobs int
	// Benchmark writes the time of each stage to Stderr, Verbose a line for each log that is done, and for each file that is no log.
	// Quiet leaves out the line at the end.
	Benchmark, Verbose, Quiet bool
	// Check adds to the list of Modules the files that Finder returns for them, and JSON writes the list as JSON.
	Check, JSON bool
	// ReportOptions are the options of the report. An empty Report means Output.
	ReportOptions

	// Filter has the options of the filter of each log. Symbols must be set.
	Filter filter.Options
	// New returns the filter of a log; nil means filter.New.
	New func(filter.Options) *filter.Filter
	// Timing, if not nil, is for Benchmark: it already measures the finders within Filter.Symbols.
	Timing *Timing
	// Prefix begins each line of diagnostics; "" means "qss-filter:".
	Prefix string
	// Named, if not nil, returns an error with the option that avoids it.
	Named func(error) error
	// Stderr receives diagnostics; Terminal shows a progress bar on it.
	Stderr   io.Writer
	Terminal bool
}

// Run filters all logs of a directory tree. It returns a *symsrc.OptionError if an option is invalid, ErrUnread if some logs failed
// and the others are done, the error of ctx if it was canceled, and another error if a report could not be written.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	r := newRun(&o)
	done := r.timing.start(&r.timing.walk)
	logs, tree, err := walk(o.Input, &o, r.noteUnread)
	done()
	if err != nil {
		return optionError("Input", "", err)
	}
	defer tree.close()
	r.logs, r.names = logs, o.nameOutputs(logs)
	err = r.reports(ctx)
	if ctx.Err() != nil {
		r.diag.printf("interrupted: %d of %d logs are done; no report was written", r.read.Load(), len(r.logs))
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	if o.Benchmark {
		r.timing.write(o.Stderr)
	}
	r.summarize()
	if r.failed.Load() > 0 {
		return ErrUnread
	}
	return nil
}

// newRun returns the state of a run, and completes the options.
func newRun(o *Options) *run {
	if o.New == nil {
		o.New = filter.New
	}
	r := &run{opt: o, diag: &diagnostics{out: o.Stderr, prefix: cmp.Or(o.Prefix, "qss-filter:")}, timing: o.Timing}
	if r.timing == nil {
		r.timing = &Timing{}
	}
	return r
}

// check returns an error if an option is invalid, and sets the default of Report.
func (o *Options) check() error {
	switch {
	case o.Input == "":
		return optionError("Input", "", errors.New("want a directory of logs"))
	case o.Output == "":
		return optionError("Output", "", errors.New("want a directory"))
	}
	if err := readable(o.Input); err != nil {
		return optionError("Input", "", err)
	}
	for _, list := range []struct {
		field    string
		patterns []string
	}{{"Include", o.Include}, {"Exclude", o.Exclude}} {
		for _, pattern := range list.patterns {
			if err := checkPattern(pattern); err != nil {
				return optionError(list.field, pattern, err)
			}
		}
	}
	if o.Report == "" {
		o.Report = o.Output
	}
	return o.checkOverlap()
}

// optionError returns err as the error of a field of Options.
func optionError(field, value string, err error) error {
	return &symsrc.OptionError{Option: "tree." + field, Value: value, Err: err}
}

// diagnostics writes lines of diagnostics. Several goroutines may use it at once.
type diagnostics struct {
	mu     sync.Mutex
	out    io.Writer
	prefix string
}

func (d *diagnostics) printf(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out != nil {
		_, _ = io.WriteString(d.out, d.prefix+" "+symsrc.VisibleLines(fmt.Sprintf(format, args...))+"\n")
	}
}

// Suffixes of the outputs of a log.
const (
	stackSuffix   = ".stack.txt"
	rewriteSuffix = ".rewrite"
)

// run is the state of a call of Run.
type run struct {
	opt    *Options
	logs   []logFile
	names  map[string]string // of what is written for the logs, by their paths
	report *Report
	output *outputs
	diag   *diagnostics
	timing *Timing
	bar    *progress
	warned sync.Map // the causes of warnings
	// read, skipped and failed are numbers of logs. failed includes directories that could not be read. kinds are the numbers of
	// files that are no logs.
	read, skipped, failed atomic.Int64
	kinds                 kinds
}

// fail counts an input or an output that failed, and reports the error.
func (r *run) fail(rel string, err error) {
	r.failed.Add(1)
	r.diag.printf("%s: %v", rel, r.named(err))
}

// named returns err with the option that avoids it, if Options.Named adds one.
func (r *run) named(err error) error {
	if r.opt.Named == nil {
		return err
	}
	return r.opt.Named(err)
}

// reports filters all logs and writes the reports.
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
	defer r.output.prune()
	report.title, report.stream, report.link = whole(r.opt.Input), nil, r.link
	r.report = report
	if r.opt.Terminal {
		r.bar = newProgress(r.opt.Stderr, r.logs)
		r.diag.out = r.bar
	}
	r.each(ctx, r.processLog)
	r.bar.end()
	r.diag.out = r.opt.Stderr
	if err := ctx.Err(); err != nil {
		return err
	}
	defer r.timing.start(&r.timing.written)()
	return report.Close()
}

// each calls work for each log, in order, on as many goroutines as Jobs says.
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

// done counts a log that was processed, or reports its error.
func (r *run) done(ctx context.Context, log *logFile, err error) {
	r.bar.file(log.size - log.read)
	switch {
	case err == nil:
		r.read.Add(1)
		if r.opt.Verbose {
			r.diag.printf("%s: done", log.rel)
		}
	case ctx.Err() != nil:
	default:
		r.noteUnread(log.rel, err)
	}
}

// noteUnread reports a file that was not read, and counts it as skipped if it is not a log, or otherwise as failed.
func (r *run) noteUnread(rel string, err error) {
	if !errors.Is(err, errSkip) {
		r.fail(rel, err)
		return
	}
	r.skipped.Add(1)
	if r.kinds.count(err) && !r.opt.Verbose {
		return
	}
	r.diag.printf("%s: %v", rel, r.named(err))
}

// processLog filters one log into its output and the report. A panic becomes an error of this log, and the other logs are still
// processed.
func (r *run) processLog(ctx context.Context, log *logFile) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("internal error: %v; please report it with the log", cause)
		}
	}()
	in, err := open(ctx, log, r.bar)
	if err != nil {
		return err
	}
	defer in.Close()
	out := r.output.create(filepath.FromSlash(r.names[log.rel]))
	defer out.abort()
	sink := r.report.begin(log.index, log.rel)
	sink.bar, sink.names = r.bar, &r.opt.Filter.Names
	defer sink.discard()
	o, to := r.options(log), io.Writer(io.Discard)
	o.Observe, o.Read = sink.observe, sink.readLines
	if r.opt.Mode == StackOnly {
		sink.stacks = out
	} else {
		sink.below = r.opt.Form == Append
		to = out
	}
	timed := r.timing.log()
	f := r.filter(o)
	f.Written(log.written)
	err = f.Run(ctx, stream.Steady(timed.reader(in)), timed.writer(to))
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
	if sink.counts.frames.Frames+sink.counts.stacks > 0 {
		if err := out.commit(); err != nil {
			return err
		}
	}
	sink.keep()
	return nil
}

// options returns the options of the filter of a log.
func (r *run) options(log *logFile) filter.Options {
	o := r.opt.Filter
	o.Palette, o.DumpContext = nil, nil
	switch {
	case r.opt.Mode == Rewrite && r.opt.Form == Replace:
		o.Style, o.Renumber = print.Replace, print.RenumberAlways
	case r.opt.Mode == Rewrite && r.opt.Form == Full:
		o.Style = print.Annotate
	default: // for StackOnly the output is discarded: the stacks are taken from what is observed
		o.Style, o.Context, o.Below = print.Append, print.ContextKeep, true
	}
	if o.Warn != nil && !r.opt.Quiet {
		o.Warn = func(message string) { r.warn(log.rel, message) }
	}
	o.Symbols = r.timing.Source(o.Symbols)
	return o
}

// warn writes a warning about a log, unless another log has had it.
func (r *run) warn(rel, message string) {
	cause := message
	if number, after, ok := strings.Cut(message, ": "); ok && strings.HasPrefix(number, "line ") {
		cause = after
	}
	if _, said := r.warned.LoadOrStore(cause, true); !said {
		r.diag.printf("%s: %s", rel, message)
	}
}

// filter returns the filter of a log.
func (r *run) filter(o filter.Options) *filter.Filter { return r.opt.New(o) }

// outputFile is a buffered diskcache.File whose errors have its path. The file is begun when more than the buffer is written, or with commit:
// most logs of a tree have no stacks, and no output.
type outputFile struct {
	*bufio.Writer
	path string
	open func() (*diskcache.File, error)
	file *diskcache.File // nil before it is begun
}

// unbuffered is the writer below the buffer of an outputFile.
type unbuffered struct{ of *outputFile }

// Write begins the file if necessary.
func (u unbuffered) Write(b []byte) (n int, err error) {
	if err := u.of.begin(); err != nil {
		return 0, err
	}
	if n, err = u.of.file.Write(b); err != nil {
		err = u.of.named(err)
	}
	return n, err
}

// outputBuffers are those of files that are closed.
var outputBuffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 64<<10) }}

// newOutputFile returns the file of a path, which open begins.
func newOutputFile(path string, open func() (*diskcache.File, error)) *outputFile {
	w := &outputFile{Writer: outputBuffers.Get().(*bufio.Writer), path: path, open: open}
	w.Reset(unbuffered{w})
	return w
}

// begin begins the file.
func (w *outputFile) begin() (err error) {
	if w.file == nil {
		if w.file, err = w.open(); err != nil {
			return w.named(err)
		}
	}
	return nil
}

// named returns an error of the file with its path, in place of that of its temporary name.
func (w *outputFile) named(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	}
	return &fs.PathError{Op: "write", Path: w.path, Err: err}
}

// failed returns an error of what is written with the path of the file.
func (w *outputFile) failed(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok && of.Path == w.path {
		return err
	}
	return fmt.Errorf("write %s: %w", w.path, err)
}

// outputs is a directory for output files. Symbolic links in it cannot lead a file out of it.
type outputs struct {
	dir  string
	root *os.Root
	mu   sync.Mutex
	// made are the directories that were created in it, in their order.
	made []string
}

// openOutputs opens a directory, and creates it if necessary.
func openOutputs(dir string) (*outputs, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &outputs{dir: dir, root: root}, nil
}

func (o *outputs) close() { o.root.Close() }

// create creates a file of the directory, and the directories of name if necessary. A symbolic link of that name is replaced.
func (o *outputs) create(name string) *outputFile {
	return newOutputFile(filepath.Join(o.dir, name), func() (*diskcache.File, error) {
		if dir := filepath.Dir(name); dir != "." {
			if err := o.mkdir(dir); err != nil {
				return nil, err
			}
		}
		return diskcache.OutputIn(o.root, name)
	})
}

// mkdir creates a directory, and those above it, if necessary.
func (o *outputs) mkdir(dir string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	var missing []string
	for at := dir; at != "."; at = filepath.Dir(at) {
		if _, err := o.root.Lstat(at); err == nil {
			break
		}
		missing = append(missing, at)
	}
	slices.Reverse(missing)
	o.made = append(o.made, missing...)
	return o.root.MkdirAll(dir, 0o777)
}

// prune removes the directories that were created and are empty: none of their logs has a stack.
func (o *outputs) prune() {
	for _, dir := range slices.Backward(o.made) {
		_ = o.root.Remove(dir) // it fails for one with an output
	}
}

// creatable returns an error if a file of the directory could not be written.
func (o *outputs) creatable(name string) error {
	if info, err := o.root.Lstat(name); err == nil && (info.IsDir() || diskcache.IsSpecial(info)) {
		return creatable(filepath.Join(o.dir, name))
	}
	w := o.create(name)
	defer w.abort()
	return w.begin()
}

// fill writes the content of the file with write, and commits it.
func (w *outputFile) fill(write func(io.Writer) error) error {
	defer w.abort()
	if err := write(w); err != nil {
		return w.failed(err)
	}
	return w.commit()
}

// creatable returns an error if a file could not be written: otherwise that would be noticed only at the end of a long run. The paths
// "" and "-" are not files.
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
	w := create(path)
	defer w.abort()
	return w.begin()
}

// create creates a file that the user has named, and its directory if necessary. A symbolic link to a device is followed.
func create(path string) *outputFile {
	return newOutputFile(path, func() (*diskcache.File, error) {
		if info, err := os.Stat(path); err != nil || !diskcache.IsSpecial(info) {
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				return nil, err
			}
		}
		return diskcache.Output(path)
	})
}

// commit writes what is left of the file, and gives it its final name.
func (w *outputFile) commit() error {
	err := w.begin()
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = w.file.Commit()
	}
	if err != nil {
		return w.failed(err)
	}
	return nil
}

// abort removes what was written, unless it was committed. It must be called once, and w not be used afterward.
func (w *outputFile) abort() {
	if w.file != nil {
		w.file.Abort()
	}
	w.Reset(nil)
	outputBuffers.Put(w.Writer)
	w.Writer = nil
}
