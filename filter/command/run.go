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
	"qss-filter/filter/llvm"
	"qss-filter/filter/stream"
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
	another, end, err := c.open(o)
	if err != nil {
		return cli.Usage, err
	}
	s := another()
	if c.from != "" {
		c.imports.Symbols = o.Symbols
		status = untilSignal(func(ctx context.Context) int { return c.runImport(ctx, s) })
	} else {
		status = c.stream(s)
	}
	end()
	return max(status, c.summarize()), nil
}

// open returns what makes streams through filters, which may run at the same time. end ends them.
func (c *config) open(o filter.Options) (another func() *stream.Stream, end func(), err error) {
	keep := func(s *stream.Stream, stats func() filter.Stats) *stream.Stream {
		c.figures = append(c.figures, func() meter.Figures {
			moved, f := s.Stats(), stats()
			return meter.Figures{Lines: f.Lines, Read: moved.Read, Written: moved.Written, Frames: f.Frames, Unresolved: f.Unresolved}
		})
		return s
	}
	if c.asLLVM {
		c.llvm.Symbols, c.llvm.Warn = o.Symbols, o.Warn
		return func() *stream.Stream {
			f := llvm.New(c.llvm)
			return keep(f.Stream(), func() filter.Stats { return filter.Stats{Lines: f.Count()} })
		}, func() {}, nil
	}
	c.triggers.use(&o)
	filters, closeExtras, err := c.extras.Use(o)
	if err != nil {
		return nil, nil, err
	}
	return func() *stream.Stream {
			f := filters()
			c.filters = append(c.filters, f)
			return keep(f.Stream(), f.Stats)
		}, func() {
			closeExtras()
			c.triggers.wait()
		}, nil
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
	var all meter.Figures
	for _, figures := range c.figures {
		all.Add(figures())
	}
	c.measure.Tell(c.meter, all, warn)
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
	another, end, err := c.open(o)
	if err != nil {
		return cli.Usage, err
	}
	wrapped := &c.child
	wrapped.Argv, wrapped.Maps, wrapped.Warn, wrapped.Left = c.command, maps, warn, leftBehind
	wrapped.Stdin, wrapped.Stdout, wrapped.Stderr = os.Stdin, os.Stdout, os.Stderr
	wrapped.New = another
	status, err = child.Run(context.Background(), *wrapped)
	if err != nil && status == cli.OK {
		status = cli.Failed
	}
	end()
	c.summarize()
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

// stream carries the inputs through s.
func (c *config) stream(s *stream.Stream) (status int) {
	defer abandonOn(s, syscall.SIGTERM, syscall.SIGHUP)()
	drain := func(in *os.File) (restore func()) {
		if isTerminal(in) {
			return abandonOn(s, os.Interrupt)
		}
		return drain(func() { s.Abandon(patience) })
	}
	err := s.RunInputs(context.Background(), stream.Inputs{Names: c.inputs, Drain: drain, Problem: func(err error) {
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
		err = &stream.WriteError{Err: p.Err}
	}
	complain("write standard output: %v", errors.Unwrap(err))
	return cli.Failed
}

// runImport carries a foreign input through s, until ctx ends.
func (c *config) runImport(ctx context.Context, s *stream.Stream) (status int) {
	in, err := importer.Open(ctx, c.from, c.imports)
	if err == nil {
		err = s.Run(context.Background(), in, os.Stdout)
		in.Close()
	}
	if w, ok := errors.AsType[*stream.WriteError](err); ok {
		return unwritten(w)
	}
	if ctx.Err() != nil {
		return cli.Failed // which is said by the status alone
	}
	return complainAll(err)
}
