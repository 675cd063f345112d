// Package batch carries a tree of logs through the filter: every log becomes a list of its stacks or a rewritten log, and
// reports tell what was found in all of them. These are the five stages of QSS (parse, resolve, symbolize, rebuild, write) in
// one pass: one filter per log parses, resolves and symbolizes, and what it tells of each frame is rebuilt and written here.
//
//	batch.go     what is done: Options, Run
//	tree.go      which files are logs, and where their outputs go
//	input.go     opens a log, packed or not
//	whole.go     files that appear whole or not at all
//	run.go       the logs on all cores
//	observe.go   frame by frame: stacks, new numbers, rows
//	stack.go     one stack of a log
//	spool.go     rows until their turn comes, in bounded memory
//	report.go    the tables and the summary
//	modules.go   the modules of all logs, and their files
//	group.go     stacks with the same functions
//	html.go      the same as a page
//	timing.go    time per stage
//	progress.go  what a terminal shows meanwhile
package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// Exit statuses of Run.
const (
	exitOK    = 0
	exitInput = 1 // some inputs failed, or an output could not be written
	exitUsage = 2
	// exitInterrupted is what a shell reports of a death by SIGINT.
	exitInterrupted = 128 + 2
)

// Mode tells what a log becomes.
type Mode uint8

const (
	// StackOnly lists the log's stacks in NAME.stack.txt.
	StackOnly Mode = iota
	// Rewrite writes the whole log again in NAME.rewrite.
	Rewrite
)

// Form tells what becomes of a frame's line in a rewritten log.
type Form uint8

const (
	// Append keeps the line and puts its functions below it.
	Append Form = iota
	// Replace puts the functions in the place of the frame.
	Replace
)

// Finder finds the files of a module.
type Finder interface {
	Find(ctx context.Context, m symsrc.Module) *symsrc.Files
}

// Options say what Run does.
type Options struct {
	// Input is the directory whose logs are read, Output the one for what they become. Without Output logs are only listed.
	Input, Output string
	// Follow is set where symbolic links of Input are followed out of it, and to directories.
	Follow bool
	Mode   Mode
	Form   Form
	// Report is the directory of the reports; "" stands for Output.
	Report string
	// SummaryJSON is a path for the summary beside that in Report, "-" for standard output; "" for none.
	SummaryJSON string
	// Jobs is how many logs are read at once; 0 stands for as many as there are cores.
	Jobs int
	// Group counts the stacks that are the same; HTML is the path of a page with them, "" for none.
	Group bool
	HTML  string
	// Benchmark writes the time of each stage to Stderr, Verbose what becomes of each log.
	Benchmark, Verbose bool
	// ListModules writes the modules of all logs to Stdout in place of all else; Check adds the files found for them, and
	// JSON makes the list a document.
	ListModules, Check, JSON bool

	// Filter is what each log's filter does; Symbols must be set.
	Filter filter.Options
	// New makes the filter of a log; nil stands for filter.New.
	New func(filter.Options) *filter.Filter
	// Finder finds files for Check, and for reports those of modules whose answers a cache has kept.
	Finder Finder
	// Timing, if not nil, was put around the sources of Filter.Symbols for Benchmark.
	Timing *Timing
	// Stdout and Stderr take what is said; Terminal is set where Stderr shows a progress bar.
	Stdout, Stderr io.Writer
	Terminal       bool
}

// ErrUsage is an error of the command line.
var ErrUsage = errors.New("try 'qss-filter --help'")

// Asked reports whether the flags ask for Run.
func (o *Options) Asked() bool { return o.Input != "" || o.Output != "" }

// Run reads a tree of logs. Its status is 0 where all was read, 1 where an input failed or an output could not be written,
// 2 with an error where the options are wrong, and 130 where it was interrupted.
func Run(ctx context.Context, o Options) (status int, err error) {
	if err := o.check(); err != nil {
		return exitUsage, err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if o.New == nil {
		o.New = filter.New
	}
	r := &run{opt: &o, say: &diagnostics{out: o.Stderr}, timing: o.Timing}
	if r.timing == nil {
		r.timing = &Timing{}
	}
	done := r.timing.start(&r.timing.walk)
	logs, tree, err := walk(o.Input, o.Follow, r.unread)
	done()
	if err != nil {
		return exitUsage, err
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
		return exitInterrupted, nil
	}
	if err != nil {
		return exitInput, err
	}
	if o.Benchmark {
		r.timing.write(o.Stderr)
	}
	if r.failed.Load() > 0 {
		return exitInput, nil
	}
	return exitOK, nil
}

// check looks for what cannot be done.
func (o *Options) check() error {
	switch {
	case o.Input == "":
		return fmt.Errorf("--output-dir needs --input-dir (%w)", ErrUsage)
	case o.Output == "" && !o.ListModules:
		return fmt.Errorf("--input-dir needs --output-dir or --list-modules (%w)", ErrUsage)
	}
	if err := readable(o.Input); err != nil {
		return err
	}
	if o.ListModules {
		return nil
	}
	if o.Report == "" {
		o.Report = o.Output
	}
	return o.apart()
}

// diagnostics are lines for a person. They may come from several goroutines.
type diagnostics struct {
	mu  sync.Mutex
	out io.Writer
}

func (d *diagnostics) line(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out != nil {
		// There is nobody left to tell when that fails.
		_, _ = io.WriteString(d.out, "qss-filter: "+symsrc.VisibleLines(fmt.Sprintf(format, args...))+"\n")
	}
}
