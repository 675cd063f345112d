// Command qss-filter reads a log and writes it again with every native stack frame in it made readable: function,
// source file, line, inlined calls. Everything else leaves byte for byte as it came.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"

	"qss-filter/filter"
	"qss-filter/filter/batch"
	"qss-filter/filter/child"
	"qss-filter/filter/cli"
	"qss-filter/filter/doctor"
	"qss-filter/filter/importer"
	"qss-filter/filter/record"
	"qss-filter/filter/worker"
	"qss-filter/sgr"
	"qss-filter/symsrc"
	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/dumpsym"
	"qss-filter/symsrc/meter"
	"qss-filter/symsrc/symbolize"
)

// exitInterrupted is how a shell reports a death by SIGINT.
const exitInterrupted = 128 + 2

// program is the table of commands.
var program = cli.Program{
	Name: "qss-filter", Version: version, About: about, Example: "adb logcat | qss-filter", Description: description, Uses: []string{"[flags] -- COMMAND [ARGUMENT ...]"},
	Exit: exits, Environment: environment, Date: date, Stdout: os.Stdout, Warn: warn,
	Commands: []*cli.Command{
		{Args: "[FILE ...]", Note: "reads standard input without FILE, or for -", Common: common, Setup: filterCommand, Rewrite: rewrite,
			Config: configured},
		{Name: "symbolize", Args: "FILE [0xADDRESS ...]", Note: "reads addresses from standard input where none is given", Least: 1,
			About: "names addresses of a program or library", Setup: symbolizeCommand},
		{Name: "where", Args: "BUILDID|FILE", Least: 1, Most: 1, About: "tells how the files of one module are found", Setup: whereCommand},
		{Name: "doctor", Args: "[LOG]", Note: "reads standard input without LOG", Most: 1,
			About: "tells why frames of a log have no names, and what to try", Setup: doctorCommand},
		{Name: "dump-sym", Args: "FILE", Least: 1, Most: 1, About: "writes the symbols of a program or library as a Breakpad .sym file", Setup: dumpSymCommand},
		{Name: "import", Args: "INPUT", Least: 1, Most: 1, About: "prints a trace of Scaler, PerFlow or ChopStiX as markup and frames", Setup: importCommand},
		{Name: "worker", About: "annotates the logs of a fleet, from and to NATS JetStream", Common: worker.Common, Setup: workerCommand},
		{Name: "publish", About: "sends a log to NATS JetStream, for workers", Setup: publishCommand},
		{Name: "schema", About: "prints the JSON Schema of what --format=json writes", Setup: schemaCommand},
		{Name: "cache", Args: "stats|clear|path|serve", Least: 1, Most: 1, About: "looks after the answers that are kept", Setup: cacheCommand,
			Config: func(fs *cli.Flags) bool { return !slices.Contains(fs.Args(), "serve") }}, // started by filters, with all it needs
	},
}

func main() {
	status, err := program.Run(os.Args[1:])
	if err != nil {
		complain("%v", err)
	}
	os.Exit(status)
}

// newSymbols gives the options of symbols as every command starts from.
func newSymbols() *chain.Options {
	o := &chain.Options{Warn: warn}
	if isTerminal(os.Stderr) {
		o.Progress = os.Stderr
	}
	return o
}

// config is what the command line says.
type config struct {
	flags   *cli.Flags
	inputs  []string
	command []string // behind `--`
	style   string
	color   string
	summary string
	asLLVM  bool
	from    string // a foreign input

	imports importer.Options
	batch   batch.Options
	timing  batch.Timing
	symbols *chain.Options
	options filter.Options
	format  filter.Format
	extras  filter.Extras
	llvm    filter.LLVMOptions
	measure meter.Options
	meter   *meter.Meter
	filters []*filter.Filter
}

// filterCommand is qss-filter without a command's name.
func filterCommand(fs *cli.Flags) cli.Run {
	c := &config{flags: fs, symbols: newSymbols()}
	c.symbols.Around = func(f chain.Finder) chain.Finder { return c.timing.Finder(f) }
	symbolFlags(fs, c.symbols, c.symbols.Programs.Register, c.symbols.Sources.Register)
	fs.Group("Output")
	fs.Register(c.options.Register, c.format.Register, c.extras.Register)
	fs.Repeated("on-dumpfile", "path-map", "strip-prefix")
	fs.Group("Processes and mappings", "by", "maps", "lookahead", "adjust", "context", "dump-context", "on-dumpfile")
	fs.Group("A tree of logs, and reports")
	fs.Register(c.batch.Register)
	fs.Group("Output", "verbose", "benchmark")
	fs.Group("Traces and samples of other tools")
	fs.Register(c.imports.Register)
	fs.Words("from-kind", "scaler", "perflow", "chopstix")
	fs.Extend("by", c.imports.ByValue, "; with --from what counts samples: function, address, line, module",
		"function", "address", "line", "module")
	fs.String(&c.from, "from", "", "`INPUT` of Scaler, PerFlow or ChopStiX, read as import prints it; these flags are for it")
	fs.Group("Output")
	fs.Word(&c.summary, "summary", "`WHEN` to list modules without symbols: auto (on terminals), always, never",
		"auto", "always", "never")
	c.styleFlags(fs)
	return func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		return c.run()
	}
}

// styleFlags adds the flags of the output that belong to no package, and those of llvm's style.
func (c *config) styleFlags(fs *cli.Flags) {
	fs.String(&c.color, "color", "auto", "`WHEN` to colour what is added: auto (on a terminal), always, never")
	fs.Words("color", "auto", "always", "never")
	fs.Optional("color", "always")
	fs.Word(&c.style, "style", "`STYLE`: default, or llvm: as llvm-symbolizer --filter-markup, byte for byte", "default", "llvm")
	fs.Group("In place of llvm-symbolizer")
	fs.Bool(&c.asLLVM, "filter-markup", "same as --style=llvm; these flags belong to it")
	fs.Register(c.llvm.Register)
	fs.Words("functions", "linkage", "short", "none")
	fs.Group("Symbols")
	fs.String(&c.symbols.Package, "dwp", "", "`FILE` of split DWARF, in place of PROGRAM.dwp")
}

// symbolFlags adds the flags of symbols.
func symbolFlags(fs *cli.Flags, s *chain.Options, more ...func(*flag.FlagSet)) {
	fs.Group("Symbols")
	fs.Register(append(more, s.Register)...)
	fs.Repeated("obj", "symbols", "build-id-dir", "debug-file-directory", "debug-root", "breakpad-dir", "rootfs", "ids-txt",
		"debuginfod-url", "source-root")
}

// configured tells whether the configuration counts. In llvm's place it does not: scripts that call llvm-symbolizer count on
// its output to the byte, and flags that they do not give must not change it.
func configured(fs *cli.Flags) bool {
	return !namedLLVM() && !fs.Is("style", "llvm") && !fs.Is("filter-markup", "true")
}

// check completes what the command line says.
func (c *config) check() error {
	if namedLLVM() && !c.asLLVM {
		return errors.New("in place of llvm-symbolizer only --filter-markup is supported")
	}
	c.asLLVM = c.asLLVM || c.style == "llvm"
	if !slices.Contains([]string{"auto", "always", "never"}, c.color) {
		if !c.asLLVM {
			return fmt.Errorf("--color=%s: want auto, always, never", c.color)
		}
		c.color = "never" // as llvm takes it
	}
	c.inputs = c.flags.Args()
	if !namedLLVM() {
		c.inputs, c.command = c.flags.Split()
	}
	if len(c.command) > 0 && len(c.inputs) > 0 {
		return fmt.Errorf("%s: a file and a command behind --: want one of them", c.inputs[0])
	}
	if len(c.inputs) == 0 || namedLLVM() { // addresses, that llvm ignores
		c.inputs = []string{"-"}
	}
	return c.format.Use(&c.options, c.batch.Asked(), c.asLLVM)
}

// filterOptions gives what the flags say of a filter. end closes where its symbols are from.
func (c *config) filterOptions() (o filter.Options, end func(), err error) {
	o, end = c.options, func() {}
	if c.asLLVM {
		o.Symbols, err = c.symbols.LLVMSource()
		c.llvm.Color, c.llvm.Errors, c.llvm.ErrorColor = llvmColor(os.Stdout, c.color), os.Stderr, llvmColor(os.Stderr, "auto")
		o.LLVM = &c.llvm
	} else {
		o.Symbols, end, err = c.symbols.Source()
	}
	if err != nil {
		return o, end, err
	}
	if c.options.SourceLines > 0 {
		o.Sources = c.symbols.Texts()
	}
	if c.llvm.NoDemangle && !c.asLLVM {
		o.Symbols = symsrc.Mangled(o.Symbols)
	}
	o.Warn = warn
	return o, end, nil
}

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
	if c.batch.Report != "" {
		report, err := batch.NewReport(c.batch.Report)
		if err != nil {
			return cli.Usage, err
		}
		report.Use(&c.batch)
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
			if failed := stacks.Save(&c.imports); failed != nil {
				status, err = cli.Failed, failed
			}
		}()
	}
	f, end, err := c.extras.Open(o)
	if err != nil {
		return cli.Usage, err
	}
	c.filters = append(c.filters, f)
	if c.from != "" {
		c.imports.Symbols = o.Symbols
		status = c.runImport(f)
	} else {
		status = c.stream(f)
	}
	end()
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
	finder, end, err := c.symbols.Finder()
	if err != nil {
		return cli.Usage, err
	}
	defer end()
	c.batch.Filter, c.batch.Finder = o, finder
	return batch.Run(context.Background(), c.batch)
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
	another, end, err := c.extras.Use(o)
	if err != nil {
		return cli.Usage, err
	}
	status, err = child.Run(context.Background(), child.Options{Argv: c.command, Maps: maps, Warn: warn,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		New: func() *filter.Filter {
			f := another()
			c.filters = append(c.filters, f)
			return f
		}})
	if err != nil && status == cli.OK {
		status = cli.Failed
	}
	end()
	for _, f := range c.filters {
		c.summarize(f)
	}
	return status, err
}

// stream carries the inputs through f.
func (c *config) stream(f *filter.Filter) (status int) {
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

// runImport carries a foreign input through f.
func (c *config) runImport(f *filter.Filter) (status int) {
	in, err := importer.Open(context.Background(), c.from, c.imports)
	if err == nil {
		err = f.Run(context.Background(), in, os.Stdout)
		in.Close()
	}
	if w, ok := errors.AsType[*filter.WriteError](err); ok {
		return unwritten(w)
	}
	return complainAll(err)
}

// complainAll tells of each thing that was wrong with an import.
func complainAll(err error) (status int) {
	for _, problem := range importer.Problems(err) {
		complain("%v", problem)
		status = cli.Failed
	}
	return status
}

// importCommand is `qss-filter import INPUT`.
func importCommand(fs *cli.Flags) cli.Run {
	var o importer.Options
	s := newSymbols()
	s.Cache.Off = true
	fs.Group("Traces and samples")
	fs.Register(o.Register, func(fs *flag.FlagSet) {
		fs.Var(o.ByValue(nil), "by", "`WHAT` samples are counted by: function, address, line, module")
	})
	fs.Words("from-kind", "scaler", "perflow", "chopstix")
	fs.Words("by", "function", "address", "line", "module")
	symbolFlags(fs, s)
	return func() (int, error) {
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		o.Symbols = source
		in, err := importer.Detect(fs.Args()[0], o)
		if err == nil {
			err = in.Lines(context.Background(), os.Stdout)
		}
		return complainAll(err), nil
	}
}

// symbolizeCommand is `qss-filter symbolize FILE [0xADDR…]`.
func symbolizeCommand(fs *cli.Flags) cli.Run {
	var o symbolize.Options
	s := newSymbols()
	s.Cache.Off = true
	fs.Group("Output")
	fs.Register(o.Register)
	symbolFlags(fs, s)
	return func() (int, error) {
		args := fs.Args()
		s.Files.Objects = append(s.Files.Objects, args[0])
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		z, err := symbolize.New(context.Background(), args[0], source, o)
		if err == nil {
			err = z.Run(context.Background(), args[1:], os.Stdin, os.Stdout)
		}
		if err != nil {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}

// whereCommand is `qss-filter where BUILDID|FILE`.
func whereCommand(fs *cli.Flags) cli.Run {
	s := newSymbols()
	symbolFlags(fs, s)
	return func() (int, error) {
		finder, end, err := s.Finder()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		if found, err := symbolize.Where(context.Background(), finder, fs.Args()[0], os.Stdout); err != nil || !found {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}

// doctorCommand is `qss-filter doctor LOG`.
func doctorCommand(fs *cli.Flags) cli.Run {
	var o filter.Options
	var extras filter.Extras
	s := newSymbols()
	symbolFlags(fs, s, s.Programs.Register)
	fs.Group("Processes and mappings")
	fs.Register(o.RegisterContext, extras.RegisterMaps)
	return func() (int, error) {
		var finder chain.Finder
		s.Around = func(f chain.Finder) chain.Finder { finder = f; return f }
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		d := doctor.Options{Log: "-", Finder: finder, Roots: len(s.Files.Rootfs) > 0, Servers: s.Servers.Servers(),
			ServersOff: s.Servers.Off, Cache: s.Cache.Check, Owner: doctor.Owner,
			New: func(j filter.JSONOptions) (*filter.Filter, func(), error) {
				o.Symbols, o.JSON = source, &j
				return extras.Open(o)
			}}
		if args := fs.Args(); len(args) > 0 {
			d.Log = args[0]
		}
		return doctor.Run(context.Background(), d, os.Stdout)
	}
}

// schemaCommand is `qss-filter schema`.
func schemaCommand(*cli.Flags) cli.Run {
	return func() (int, error) {
		if _, err := io.WriteString(os.Stdout, record.Schema); err != nil {
			return unwritten(err), nil
		}
		return cli.OK, nil
	}
}

// dumpSymCommand is `qss-filter dump-sym FILE`.
func dumpSymCommand(fs *cli.Flags) cli.Run {
	var o dumpsym.Options
	s := newSymbols()
	s.Cache.Off = true
	fs.Register(o.Register, s.Register)
	return func() (int, error) {
		s.Files.Objects = append(s.Files.Objects, fs.Args()[0])
		finder, end, err := s.Finder()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		if err := dumpsym.Run(context.Background(), finder, fs.Args()[0], o, os.Stdout); err != nil {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}

// cacheCommand is `qss-filter cache stats|clear|path|serve`.
func cacheCommand(fs *cli.Flags) cli.Run {
	var o cache.Options
	fs.Group("Cache")
	fs.Register(o.Register)
	return func() (int, error) {
		status, err := o.Command(fs.Args()[0], os.Stdout)
		if errors.Is(err, cache.ErrCommand) {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		return status, err
	}
}

func (c *config) summarize(f *filter.Filter) (status int) {
	if c.summary == "always" || c.summary == "auto" && isTerminal(os.Stderr) {
		if err := f.Summary(os.Stderr); err != nil {
			return cli.Failed
		}
	}
	return cli.OK
}

func drain(in *os.File) (restore func()) {
	if isTerminal(in) {
		return func() {}
	}
	return filter.DrainOnInterrupt(func() {
		if isTerminal(os.Stderr) {
			complain("the input is still open; Ctrl-C again stops at once")
		}
	}, func() { os.Exit(exitInterrupted) })
}

// workerCommand is `qss-filter worker`.
func workerCommand(fs *cli.Flags) cli.Run {
	c := &config{flags: fs, symbols: newSymbols()}
	var o worker.Options
	fs.Group("Fleet")
	fs.Register(o.Register)
	symbolFlags(fs, c.symbols, c.symbols.Programs.Register, c.symbols.Sources.Register)
	fs.Group("Output")
	fs.Register(c.options.Register, c.format.Register)
	c.styleFlags(fs)
	return func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		filters, end, err := c.filterOptions()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		filters.Palette = c.palette()
		o.Filter, o.Stderr = filters, os.Stderr
		return fleet(func(ctx context.Context) error { return worker.Run(ctx, o) })
	}
}

// publishCommand is `qss-filter publish`.
func publishCommand(fs *cli.Flags) cli.Run {
	o := worker.PublishOptions{Stdin: os.Stdin, Connection: worker.Connection{Stderr: os.Stderr}}
	fs.Register(o.Register)
	return func() (int, error) {
		return fleet(func(ctx context.Context) error { return worker.Publish(ctx, o) })
	}
}

// fleet runs a part of a fleet until a signal asks for its end; a second one stops at once.
func fleet(run func(context.Context) error) (status int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err = run(ctx)
	switch wrong, ok := errors.AsType[*worker.UsageError](err); {
	case ok:
		return cli.Usage, &cli.Misuse{Err: wrong.Err}
	case err != nil:
		return cli.Failed, err
	}
	return cli.OK, nil
}

// palette gives the colours of the filter's own text, nil for none.
func (c *config) palette() *sgr.Palette {
	force := cmp.Or(os.Getenv("FORCE_COLOR"), os.Getenv("CLICOLOR_FORCE"))
	if !sgr.Enabled(c.color, os.Getenv("NO_COLOR"), force, os.Getenv("TERM"), isTerminal(os.Stdout)) {
		return nil
	}
	p := sgr.NewPalette(true)
	if err := p.Parse(os.Getenv("QSS_COLORS")); err != nil {
		complain("QSS_COLORS: %v", err)
	}
	return p
}

// llvmColor tells whether llvm would write colours to out. It knows no variable but TERM.
func llvmColor(out *os.File, mode string) bool {
	return mode == "always" || mode == "auto" && sgr.Enabled(mode, "", "", cmp.Or(os.Getenv("TERM"), "dumb"), isTerminal(out))
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// complain writes a diagnostic, whose names a terminal must not obey. There is nobody left to tell when that fails.
func complain(format string, args ...any) {
	_, _ = io.WriteString(os.Stderr, "qss-filter: "+symsrc.VisibleLines(fmt.Sprintf(format, args...))+"\n")
}

func warn(message string) { complain("%s", message) }

// version is the module's version, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return cmp.Or(info.Main.Version, "(devel)") + " " + info.GoVersion
}

// date is the day of the commit that the program was built from, "" if that is not known.
func date() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if day, _, isTime := strings.Cut(s.Value, "T"); s.Key == "vcs.time" && isTime {
			return day
		}
	}
	return ""
}

// namedLLVM tells whether the program was started as llvm-symbolizer.
func namedLLVM() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), "llvm-symbolizer") }

// rewrite puts the arguments in the form that is read.
func rewrite(args []string) []string {
	if namedLLVM() {
		args = append(strings.Fields(os.Getenv("LLVM_SYMBOLIZER_OPTS")), args...)
	}
	return addr2line.LongForms(args)
}

// common are the flags that --help shows.
var common = []string{"symbols", "build-id-dir", "rootfs", "debuginfod-url", "frames", "explain", "format", "by",
	"color", "summary", "style", "no-cache", "print-config", "help", "help-all", "version"}

const (
	about = "makes native stack traces in logs readable, live"
	exits = "0 everything was read, 1 an input or the output failed, 2 the command line is wrong; behind -- the command's own."
)

// description is that of the manual page.
const description = `
qss-filter stands at the end of any pipe of logs and makes every native stack trace in it readable: function, source file,
line and inlined calls. Everything else of the log leaves byte for byte as it came, as soon as it came.

  adb logcat | qss-filter --symbols out/target/product/generic/symbols
  tail -f crash.log | qss-filter
  qss-filter --symbols build -- ctest
  qss-filter --explain crash.log
  qss-filter --input-dir logs --output-dir out --rootfs /mnt/rootfs

No wrong name is printed: a build ID that does not match, a stale file, an address outside its symbol leave a frame as it
was. --explain says at each one why; where tells how the files of one module are found.

Behind -- stands a command, whose output is filtered; its colours, signals and exit status are kept.
The first Ctrl-C lets the producer at the other end of a pipe finish, a second one stops at once.
`

// environment are the variables that count.
var environment = []cli.Variable{
	{Name: "QSS_FILTER_CONFIG", About: "the configuration; set but empty for none"},
	{Name: "XDG_CONFIG_HOME", About: "where the configuration is else, in qss-filter/config (~/.config)"},
	{Name: "NO_COLOR", About: "set to anything: --color=auto adds no colours"},
	{Name: "FORCE_COLOR", About: "set to anything but 0: --color=auto adds colours in a pipe, too"},
	{Name: "CLICOLOR_FORCE", About: "the same as FORCE_COLOR"},
	{Name: "QSS_COLORS", About: "the colours of what is added"},
	{Name: "TERM", About: "dumb: --color=auto adds no colours"},
	{Name: "XDG_CACHE_HOME", About: "where answers and downloads are kept (~/.cache)"},
	{Name: "DEBUGINFOD_URLS", About: "debuginfod servers, with blanks between them"},
	{Name: "DEBUGINFOD_CACHE_PATH", About: "where downloads are kept"},
	{Name: "DEBUGINFOD_TIMEOUT", About: "seconds to wait for a server to go on (90)"},
	{Name: "DEBUGINFOD_MAXTIME", About: "seconds that a download may take (no bound)"},
	{Name: "DEBUGINFOD_MAXSIZE", About: "bytes that a file may have (2 GiB)"},
	{Name: "DEBUGINFOD_RETRY_LIMIT", About: "how often a server is asked again (2)"},
	{Name: "DEBUGINFOD_HEADERS_FILE", About: "a file of headers for every request"},
	{Name: "DEBUGINFOD_PROGRESS", About: "set to anything: show downloads on standard error"},
	{Name: "LLVM_SYMBOLIZER_OPTS", About: "flags, where the program is called llvm-symbolizer"},
}
