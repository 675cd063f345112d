package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/child"
	"qss-filter/filter/command/cli"
	"qss-filter/filter/importer"
	"qss-filter/filter/llvm"
	"qss-filter/filter/stream"
	"qss-filter/filter/tree"
	"qss-filter/symsrc"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/meter"
	"qss-filter/symsrc/sources"
)

// job is a run of the filter.
type job struct {
	*config
	measure meter.Options
	meter   *meter.Meter
	filters []*filter.Filter
	figures []func() meter.Figures // of the streams
	headed  bool                   // the name of an input was written
}

// run runs the filter.
func (j *job) run() (status int, err error) {
	j.measured()
	defer j.report()
	j.followMaps(j.symbols)
	o, closeSource, err := j.filterOptions(j.live())
	if err != nil {
		return cli.Usage, err
	}
	defer closeSource()
	if err := j.redirect(); err != nil {
		return cli.Usage, err
	}
	defer func() {
		if failed := j.closeOutput(); failed != nil && err == nil {
			status, err = max(status, cli.Failed), failed
		}
	}()
	o.Palette, o.Screen, o.Count = j.palette(), j.screen(), j.summarizes() || j.style.failUnresolved != failNever
	if o.Screen != nil && !j.flags.Has("source") {
		o.Screen.FirstSource, o.SourceLines = true, 3
		o.Sources = sources.New(j.symbols.Sources) // those that are here: no others were asked for
	}
	j.wholeFiles(&o)
	found, err := newFound(j.style.annotate, j.style.findings, o.Names, os.Stderr)
	if err != nil {
		return cli.Usage, err
	}
	if found != nil {
		j.extras.Each = found.use
		defer func() {
			if failed := found.close(); failed != nil && err == nil {
				status, err = max(status, cli.Failed), failed
			}
		}()
	}
	if len(j.command) > 0 {
		return j.wrap(o)
	}
	if err := j.imports.Creatable(); err != nil {
		return cli.Usage, err
	}
	if j.tree.Report != "" {
		j.completeReport()
		report, err := tree.NewReport(j.tree.ReportOptions)
		if err != nil {
			return cli.Usage, err
		}
		o.Observe, o.Read = report.Observe, report.Read
		defer func() {
			if failed := report.Close(); failed != nil {
				status, err = cli.Failed, failed
			}
		}()
	}
	if j.imports.Pprof != "" || j.imports.Folded != "" {
		stacks := importer.NewLogStacks(o.Observe)
		o.Observe = stacks.Observe
		defer func() {
			if failed := stacks.Save(context.Background(), &j.imports); failed != nil {
				status, err = cli.Failed, failed
			}
		}()
	}
	another, end, err := j.open(o)
	if err != nil {
		return cli.Usage, err
	}
	status = j.stream(another())
	end()
	return max(status, j.summarize(), j.unresolved()), nil
}

// exitUnresolved is the status of --fail-unresolved if a frame has no name.
const exitUnresolved = 3

// unresolved returns the status that --fail-unresolved asks for.
func (j *job) unresolved() (status int) {
	if failing := j.failing(); failing != nil {
		for _, f := range j.filters {
			if s := f.Summary(); fails(&s, failing) {
				return exitUnresolved
			}
		}
	}
	return cli.OK
}

// open returns a function that makes streams through filters, which may run at the same time. end closes their files.
func (j *job) open(o filter.Options) (another func() *stream.Stream, end func(), err error) {
	keep := func(s *stream.Stream, stats func() filter.Stats) *stream.Stream {
		j.figures = append(j.figures, func() meter.Figures {
			moved, f := s.Stats(), stats()
			return meter.Figures{Lines: f.Lines, Read: moved.Read, Written: moved.Written, Frames: f.Frames, Unresolved: f.Unresolved}
		})
		return s
	}
	if j.style.llvm {
		j.llvm.Symbols, j.llvm.Warn = o.Symbols, o.Warn
		return func() *stream.Stream {
			f := llvm.New(j.llvm)
			return keep(f.Stream(), func() filter.Stats { return filter.Stats{Lines: f.Count()} })
		}, func() {}, nil
	}
	j.triggers.use(&o)
	filters, closeExtras, err := j.extras.Use(o)
	if err != nil {
		return nil, nil, err
	}
	return func() *stream.Stream {
			f := filters()
			j.filters = append(j.filters, f)
			return keep(f.Stream(), f.Stats)
		}, func() {
			closeExtras()
			j.triggers.wait()
		}, nil
}

// measured turns on the measurements and reports of --stats and --verbose.
func (j *job) measured() {
	j.measure = meter.Options{Verbose: j.tree.Verbose, Benchmark: j.tree.Benchmark}
	j.meter = j.measure.Start()
	j.symbols.Meter = j.meter
	if around := j.symbols.Around; j.measure.Verbose {
		j.symbols.Around = func(f symsrc.Finder) symsrc.Finder { return meter.Talk(around(f), warn) }
	}
}

// report writes the measurements.
func (j *job) report() {
	var all meter.Figures
	for _, figures := range j.figures {
		all.Add(figures())
	}
	j.measure.Tell(j.meter, all, warn)
}

// redirect opens the file of --output. It returns an error if the file is one of the inputs, which would be lost.
func (j *job) redirect() error {
	if j.output == "" {
		return nil
	}
	if is, err := os.Stat(j.output); err == nil {
		for _, input := range j.inputs {
			if of, err := inputInfo(input); err == nil && os.SameFile(is, of) {
				return fmt.Errorf("--output %s: is an input, too", j.output)
			}
		}
	}
	out, err := os.Create(j.output)
	if err != nil {
		return fmt.Errorf("--output %w", err)
	}
	j.out, outputName = out, j.output
	return nil
}

// inputInfo describes an input: a file, or standard input.
func inputInfo(name string) (fs.FileInfo, error) {
	if name == "-" {
		return os.Stdin.Stat()
	}
	return os.Stat(name)
}

// closeOutput closes the file of --output, or a pipe if the end of the run may wait for symbols that come too late: what reads it must not.
func (j *job) closeOutput() error {
	if j.out == os.Stdout {
		if max(j.symbols.Servers.After, j.symbols.Files.After) > 0 && !isTerminal(os.Stdout) {
			_ = os.Stdout.Close() // the last write has told of errors
		}
		return nil
	}
	if err := j.out.Close(); err != nil {
		return fmt.Errorf("--output %w", err)
	}
	return nil
}

// wrap runs a command and filters its output.
func (j *job) wrap(o filter.Options) (status int, err error) {
	ownMaps(&o, j.child.Maps)
	another, end, err := j.open(o)
	if err != nil {
		return cli.Usage, err
	}
	wrapped := &j.child
	wrapped.Argv, wrapped.Warn, wrapped.Left = j.command, warn, leftBehind
	wrapped.Stdin, wrapped.Stdout, wrapped.Stderr = os.Stdin, j.out, os.Stderr
	wrapped.New = another
	status, err = child.Run(context.Background(), *wrapped)
	if err != nil && status == cli.OK {
		status = cli.Failed
	}
	end()
	switch syscall.Signal(status - 128) {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE: // it was asked to end
		j.symbols.Hurry()
	}
	j.summarize()
	if status == cli.OK {
		status = j.unresolved()
	}
	return status, err
}

// followMaps has the mappings of a command of its own followed, if there is one. It comes before symbols are looked for.
func (c *config) followMaps(symbols *chain.Options) {
	if len(c.command) > 0 {
		maps := child.NewMaps()
		c.child.Maps = maps
		symbols.Files.Held = func(m symsrc.Module) string { return maps.Held(m.Name, m.BuildID.String()) }
	}
}

// ownMaps makes a filter read the output of a command of its own, whose mappings are known.
func ownMaps(o *filter.Options, maps *child.Maps) {
	o.Ran, o.Replaced, o.Listing = maps.Ran, maps.Replaced, "--maps FILE gives those of a program at fixed addresses"
	o.Named = func(name string) (path string, id symsrc.BuildID) {
		path, digits := maps.Named(name)
		return path, symsrc.ReadBuildID([]byte(digits))
	}
	o.Maps = func() (lists [][]byte) {
		for _, s := range maps.All() {
			lists = append(lists, s.Text)
		}
		return lists
	}
	o.Fixed = func() (lists [][]byte) {
		for _, s := range maps.All() {
			lists = append(lists, s.Fixed)
		}
		return lists
	}
}

// leftBehind names the processes that a command has left with its output.
func leftBehind(processes string, waiting bool) {
	processes = cmp.Or(processes, "processes that it has left behind")
	if waiting {
		inform("the command has ended; waiting for its output to be closed by %s (Ctrl-C ends that)", processes)
		return
	}
	inform("the command has ended; its output is still held by %s and no longer waited for (--linger=forever waits)", processes)
}

// follow carries a log that grows through s, until a signal ends the program.
func (j *job) follow(s *stream.Stream) (status int) {
	defer abandonOn(s, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, w, err := os.Pipe() // whose reader can tell that nothing comes
	if err != nil {
		complain("%v", err)
		return cli.Failed
	}
	defer r.Close()
	followed := make(chan error, 1)
	go func() {
		defer w.Close()
		followed <- stream.Follow(ctx, j.inputs[0], w, warn)
	}()
	if err := s.Run(ctx, r, j.out); err != nil {
		j.symbols.Hurry()
		return unwritten(err)
	}
	if err := <-followed; err != nil {
		complain("%v", inputProblem(err))
		return inputStatus(err)
	}
	return cli.OK
}

// stream carries the inputs through s.
func (j *job) stream(s *stream.Stream) (status int) {
	if j.style.follow {
		return j.follow(s)
	}
	defer abandonOn(s, syscall.SIGTERM, syscall.SIGHUP)()
	drain := func(in *os.File) (restore func()) {
		if isTerminal(in) {
			return abandonOn(s, os.Interrupt)
		}
		return drainWith(j.symbols.Hurry, func() { s.Abandon(patience) })
	}
	err := s.RunInputs(context.Background(), stream.Inputs{Names: j.inputs, Begin: j.begin, Drain: drain, Open: j.opened, Check: j.checked(), Problem: func(err error) {
		complain("%v", inputProblem(err))
		status = max(status, inputStatus(err))
	}}, j.out)
	if err != nil {
		j.symbols.Hurry()
		return unwritten(err)
	}
	return status
}

// begin notes an input in the filters: when it was written, and its name if there are several.
func (j *job) begin(name string, info fs.FileInfo) {
	for _, f := range j.filters {
		if f.Written(writtenAt(info)); len(j.inputs) > 1 {
			f.Input(name)
		}
	}
	if len(j.inputs) > 1 && j.options.JSON == nil && isTerminal(j.out) && !j.style.llvm {
		if name == "-" {
			name = "standard input"
		}
		heading := "==> " + symsrc.Visible(name) + " <==\n" // as head and tail have it
		if j.headed {
			heading = "\n" + heading
		}
		j.headed = true
		_, _ = io.WriteString(j.out, heading) // the next write fails, too
	}
}

// writtenAt returns when a log was written, as far as its file says.
func writtenAt(info fs.FileInfo) (at time.Time) {
	if info.Mode().IsRegular() {
		at = info.ModTime()
	}
	return at
}

// unwritten reports that the output cannot be written.
func unwritten(err error) (status int) {
	if p, ok := errors.AsType[*fs.PathError](err); ok { // its path is /dev/stdout, whatever that is
		err = &stream.WriteError{Err: p.Err}
	}
	complain("write %s: %v", cmp.Or(outputName, "standard output"), errors.Unwrap(err))
	return cli.Failed
}

// outputName is the file of --output, "" for standard output.
var outputName string

// live reports whether the log is written while it is read: by a command, or into a pipe or a device.
func (c *config) live() bool {
	return len(c.command) > 0 || c.style.follow || slices.ContainsFunc(c.inputs, func(name string) bool {
		info, err := os.Stdin.Stat()
		if name != "-" {
			info, err = os.Stat(name)
		}
		return err == nil && !info.Mode().IsRegular() && !info.IsDir()
	})
}

// summarizes reports whether --summary asks for a list of the modules without symbols.
func (j *job) summarizes() bool {
	return !j.style.quiet && (j.style.summary == "always" || j.style.summary == "auto" && isTerminal(os.Stderr))
}

// summarize lists the modules without symbols, if that is asked for.
func (j *job) summarize() (status int) {
	if !j.summarizes() {
		return cli.OK
	}
	if info, err := j.out.Stat(); err == nil && j.out == os.Stdout && !info.Mode().IsRegular() {
		_ = j.closeOutput() // what reads it must not wait; the path of a file is still needed
	}
	j.symbols.Await()
	write := writeBrief
	if j.style.summary == "always" {
		write = writeSummary
	}
	filters := slices.DeleteFunc(slices.Clone(j.filters), func(f *filter.Filter) bool { return f.Tally().Frames == 0 })
	if len(filters) == 0 && len(j.filters) > 0 {
		filters = j.filters[:1]
	}
	for _, f := range filters {
		s := f.Summary()
		if err := write(os.Stderr, s, j.advise(s), messages.Load()); err != nil {
			return cli.Failed
		}
	}
	return cli.OK
}

// patience bounds the time to clean up after a signal: the reader of the output may
// be blocked.
const patience = time.Second

// exitInterrupted is the status by which a shell reports a death by SIGINT.
const exitInterrupted = 128 + 2

// untilSignal calls run, which must remove its temporary files when its context ends. A signal ends the context. The status is then
// that of a death by the signal, as a shell reports it. A second signal ends the program immediately. Ignored signals stay ignored.
func untilSignal(run func(context.Context) (status int)) (status int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 1)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	ended := make(chan int, 1)
	go func() { ended <- run(ctx) }()
	select {
	case status := <-ended:
		return status
	case sig := <-signals:
		signal.Stop(signals)
		cancel()
		select {
		case <-ended:
		case <-time.After(patience):
		}
		if number, ok := sig.(syscall.Signal); ok {
			return 128 + int(number)
		}
		return exitInterrupted
	}
}

// drainOnInterrupt ignores the first Ctrl-C: it ends the producer at the other end of the pipe, whose last output is worth
// reading. interrupted is called then. waiting is called if the input is still open a second later, again at the second Ctrl-C.
func drainOnInterrupt(interrupted, waiting, again func()) (restore func()) {
	signals := make(chan os.Signal, 2)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt)
	go func() {
		select {
		case <-signals:
			interrupted()
		case <-done:
			return
		}
		late := time.NewTimer(patience)
		defer late.Stop()
		for {
			select {
			case <-signals:
				again()
			case <-late.C:
				waiting()
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// drain lets the first Ctrl-C end only the producer of the input.
func drain() (restore func()) { return drainWith(func() {}, func() {}) }

// drainWith is drain with what is called at the first Ctrl-C, and before the second one ends the program.
func drainWith(interrupted, abandon func()) (restore func()) {
	return drainOnInterrupt(interrupted, func() {
		if isTerminal(os.Stderr) {
			inform("the input is still open; Ctrl-C again stops at once")
		}
	}, func() {
		abandon()
		os.Exit(exitInterrupted)
	})
}

// abandonOn delays the signals that end the program until the held text of s is written, but no longer than patience. Ignored
// signals stay ignored.
func abandonOn(s *stream.Stream, deadly ...os.Signal) (restore func()) {
	signals := make(chan os.Signal, 1)
	done := make(chan struct{})
	for _, sig := range deadly {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	go func() {
		select {
		case sig := <-signals:
			s.Abandon(patience)
			signal.Stop(signals)
			dieOf(sig)
		case <-done:
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
	}
}

// dieOf ends the program by a signal that was caught.
func dieOf(s os.Signal) {
	signal.Reset(s)
	if self, err := os.FindProcess(os.Getpid()); err == nil && self.Signal(s) == nil {
		time.Sleep(patience) // it is on its way
	}
	status := 1
	if n, ok := s.(syscall.Signal); ok {
		status = 128 + int(n)
	}
	os.Exit(status)
}
