package command

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"qss-filter/filter"
	"qss-filter/filter/batch"
	"qss-filter/filter/child"
	"qss-filter/filter/command/cli"
	"qss-filter/filter/importer"
	"qss-filter/symsrc"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/meter"
)

// run does what the command line says.
func (c *config) run() (status int, err error) {
	c.measured()
	defer c.tell()
	o, closeSource, err := c.filterOptions()
	if err != nil {
		return cli.Usage, err
	}
	defer closeSource()
	c.batch.Stdout, c.batch.Stderr, c.batch.Terminal, c.batch.Timing = os.Stdout, os.Stderr, isTerminal(os.Stderr), &c.timing
	if c.batch.Asked() {
		return c.runTree(o)
	}
	o.Palette = c.palette()
	if len(c.command) > 0 {
		return c.wrap(o)
	}
	c.imports.Warn = warn
	if err := c.imports.Creatable(); err != nil {
		return cli.Usage, err
	}
	if c.batch.Report != "" {
		report, err := batch.NewReport(c.batch.Report)
		if err != nil {
			return cli.Usage, err
		}
		report.Use(&c.batch)
		if err := report.Creatable(); err != nil {
			return cli.Usage, err
		}
		o.Observe = report.Observe
		defer func() {
			if failed := report.Close(); failed != nil {
				status, err = cli.Failed, failed
			}
		}()
	}
	if c.from == "" && (c.imports.Pprof != "" || c.imports.Folded != "") {
		stacks := importer.NewLogStacks(o.Observe)
		o.Observe = stacks.Observe
		defer func() {
			if failed := stacks.Save(context.Background(), &c.imports); failed != nil {
				status, err = cli.Failed, failed
			}
		}()
	}
	c.triggers.use(&o)
	f, end, err := c.extras.Open(o)
	if err != nil {
		return cli.Usage, err
	}
	c.filters = append(c.filters, f)
	if c.from != "" {
		c.imports.Symbols = o.Symbols
		status = untilSignal(func(ctx context.Context) int { return c.runImport(ctx, f) })
	} else {
		status = c.stream(f)
	}
	end()
	c.triggers.wait()
	return max(status, c.summarize(f)), nil
}

// measured lets the layers of the source be measured, and tell what they do, where that is asked for.
func (c *config) measured() {
	if c.batch.Asked() {
		return // which tells of its logs and stages
	}
	c.measure = meter.Options{Verbose: c.batch.Verbose, Benchmark: c.batch.Benchmark}
	c.meter = c.measure.Start()
	c.symbols.Meter = c.meter
	if around := c.symbols.Around; c.measure.Verbose {
		c.symbols.Around = func(f chain.Finder) chain.Finder { return meter.Talk(around(f), warn) }
	}
}

// tell says what was measured.
func (c *config) tell() {
	var s filter.Stats
	for _, f := range c.filters {
		s.Add(f.Stats())
	}
	c.measure.Tell(c.meter, meter.Figures(s), warn)
}

// runTree reads a tree of logs.
func (c *config) runTree(o filter.Options) (status int, err error) {
	c.batch.Filter, c.batch.Named, c.batch.Prefix = o, named, messages.Load().Alert("qss-filter:")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = batch.Run(ctx, c.batch)
	_, wrong := errors.AsType[*symsrc.OptionError](err)
	switch {
	case err == nil:
		return cli.OK, nil
	case wrong:
		return cli.Usage, err
	case errors.Is(err, context.Canceled): // which it has said
		return exitInterrupted, nil
	case errors.Is(err, batch.ErrUnread):
		return cli.Failed, nil
	}
	return cli.Failed, err
}

// wrap runs a command with its output filtered.
func (c *config) wrap(o filter.Options) (status int, err error) {
	maps := child.NewMaps()
	o.Maps = func() (lists [][]byte) {
		for _, s := range maps.All() {
			lists = append(lists, s.Text)
		}
		return lists
	}
	c.triggers.use(&o)
	another, end, err := c.extras.Use(o)
	if err != nil {
		return cli.Usage, err
	}
	wrapped := &c.child
	wrapped.Argv, wrapped.Maps, wrapped.Warn, wrapped.Left = c.command, maps, warn, leftBehind
	wrapped.Stdin, wrapped.Stdout, wrapped.Stderr = os.Stdin, os.Stdout, os.Stderr
	wrapped.New = func() *filter.Filter {
		f := another()
		c.filters = append(c.filters, f)
		return f
	}
	status, err = child.Run(context.Background(), *wrapped)
	if err != nil && status == cli.OK {
		status = cli.Failed
	}
	end()
	c.triggers.wait()
	for _, f := range c.filters {
		c.summarize(f)
	}
	return status, err
}

// leftBehind tells of processes that a command has left with its output.
func leftBehind(processes string, waiting bool) {
	processes = cmp.Or(processes, "processes that it has left behind")
	if waiting {
		complain("the command has ended; waiting for its output to be closed by %s (Ctrl-C ends that)", processes)
		return
	}
	complain("the command has ended; its output is still held by %s and no longer waited for (--linger=forever waits)", processes)
}

// stream carries the inputs through f.
func (c *config) stream(f *filter.Filter) (status int) {
	defer abandonOn(f, syscall.SIGTERM, syscall.SIGHUP)()
	drain := func(in *os.File) (restore func()) {
		if isTerminal(in) {
			return abandonOn(f, os.Interrupt)
		}
		return drain(f.Abandon)
	}
	err := f.RunInputs(context.Background(), filter.Inputs{Names: c.inputs, Drain: drain, Problem: func(err error) {
		complain("%v", err)
		status = cli.Failed
	}}, os.Stdout)
	if err != nil {
		return unwritten(err)
	}
	return status
}

// unwritten says that the output is lost.
func unwritten(err error) (status int) {
	if p, ok := errors.AsType[*fs.PathError](err); ok { // its path is /dev/stdout, whatever that is
		err = &filter.WriteError{Err: p.Err}
	}
	complain("write standard output: %v", errors.Unwrap(err))
	return cli.Failed
}

// runImport carries a foreign input through f, until ctx ends.
func (c *config) runImport(ctx context.Context, f *filter.Filter) (status int) {
	in, err := importer.Open(ctx, c.from, c.imports)
	if err == nil {
		err = f.Run(context.Background(), in, os.Stdout)
		in.Close()
	}
	if w, ok := errors.AsType[*filter.WriteError](err); ok {
		return unwritten(w)
	}
	if ctx.Err() != nil {
		return cli.Failed // which is said by the status alone
	}
	return complainAll(err)
}
