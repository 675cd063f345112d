// Package tree carries a tree of logs through the filter: every log becomes a list of its stacks or a rewritten log, and
// reports say what was found in all of them. These are the five stages of QSS (parse, resolve, symbolize, rebuild, write) in
// one pass: one filter per log parses, resolves and symbolizes, and what it says of each frame is rebuilt and written here.
//
//	tree.go      what is done: Options, Run
//	walk.go      which files are logs, and where their outputs go
//	input.go     opens a log, packed (xz.go) or not
//	whole.go     files that appear whole or not at all
//	run.go       the logs on all cores
//	observe.go   frame by frame: stacks, new numbers, rows
//	stack.go     one stack of a log; list.go, the file of all of them
//	spool.go     rows until their turn comes, in bounded memory
//	report.go    the summary; tsv.go, the tables
//	modules.go   the modules of all logs, and their files
//	group.go     stacks with the same functions, in a table and as a page
//	timing.go    time per stage
//	progress.go  what a terminal shows meanwhile
package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"qss-filter/filter"
	"qss-filter/symsrc"
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
