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
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/mattn/go-isatty"
	"github.com/spf13/pflag"

	"qss-filter/filter"
	"qss-filter/filter/batch"
	"qss-filter/filter/child"
	"qss-filter/filter/importer"
	"qss-filter/sgr"
	"qss-filter/symsrc"
	"qss-filter/symsrc/addr2line"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/debuginfod"
	"qss-filter/symsrc/elfdwarf"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/symbolize"
)

// Exit statuses.
const (
	exitOK    = 0
	exitIO    = 1 // an input could not be read, or the output not be written
	exitUsage = 2 // the command line is wrong, or names a directory that cannot be used

	exitInterrupted = 128 + 2 // as a shell reports a death by SIGINT
)

// commands are what a first argument may be; else it is a file to read.
var commands = map[string]func(args []string) (status int, err error){
	"symbolize": symbolizeCommand,
	"where":     whereCommand,
	"import":    importCommand,
	"cache":     func(args []string) (int, error) { return cache.Command(args, os.Stdout, os.Stderr), nil },
}

func main() {
	args := os.Args[1:]
	run := filterCommand
	if len(args) > 0 && commands[args[0]] != nil {
		run, args = commands[args[0]], args[1:]
	}
	status, err := run(args)
	if err != nil {
		complain("%v", err)
	}
	os.Exit(status)
}

// symbols says where symbols are from.
type symbols struct {
	files   locate.Options
	servers debuginfod.Options
	cache   cache.Options
	dwp     string
	// programs are asked in place of the own reader.
	programs addr2line.Options
	timing   batch.Timing
}

func (s *symbols) register(fs *pflag.FlagSet) {
	register(fs, s.files.Register, s.servers.Register, s.cache.Register)
}

// finder looks on this machine first, and then asks servers. close ends what is under way.
func (s *symbols) finder() (f elfdwarf.Finder, close func(), err error) {
	s.files.OnProblem, s.servers.Warn = warn, warn
	if isTerminal(os.Stderr) {
		s.servers.Progress = os.Stderr
	}
	if dir, err := s.cache.Directory(); err == nil && !s.cache.Off {
		s.files.CacheDir = dir
	}
	local, err := locate.New(s.files)
	if err != nil {
		return nil, nil, err
	}
	client, err := debuginfod.New(s.servers)
	if err != nil {
		return nil, nil, err
	}
	return s.timing.Finder(debuginfod.Wrap(local, client)), client.Close, nil
}

// source answers from the finder's files, and from what the cache has kept of such answers.
func (s *symbols) source() (src symsrc.Source, close func(), err error) {
	finder, closeFinder, err := s.finder()
	if err != nil {
		return nil, nil, err
	}
	native := elfdwarf.NewSource(finder)
	native.UsePackage(s.dwp)
	if !s.cache.Off {
		native.KeepTwins(s.files.CacheDir)
	}
	closeServers := closeFinder
	closeFinder = func() { _ = native.Close(); closeServers() } // an unfinished twin is dropped
	engine := symsrc.Source(native)
	if s.programs.Wanted() {
		s.programs.Rootfs, s.programs.Warn = s.files.Rootfs, warn
		s.programs.DebugRoots = slices.Concat(s.files.DebugRoots, s.files.BuildIDDirs)
		program, err := addr2line.NewSource(finder, native, s.programs)
		if err != nil {
			return nil, nil, err
		}
		closeLocal := closeFinder
		engine, closeFinder = program, func() { program.Close(); closeLocal() }
		s.cache.Engine = fmt.Sprintf("addr2line %t %s %s", s.programs.GNU, s.programs.Cross, s.programs.Path)
	}
	if s.cache.Off || s.dwp != "" {
		return engine, closeFinder, nil
	}
	s.cache.Warn, s.cache.Finder = warn, finder
	cached := cache.Wrap(engine, s.cache)
	return cached, func() { closeFinder(); cached.Close() }, nil
}

// config is what the command line says.
type config struct {
	flags   *pflag.FlagSet
	inputs  []string
	command []string // behind `--`
	color   string
	summary string
	asLLVM  bool
	from    string // a foreign input

	imports importer.Options
	batch   batch.Options
	symbols symbols
	options filter.Options
	extras  filter.Extras
	llvm    filter.LLVMOptions
}

// filterCommand is qss-filter without a command's name.
func filterCommand(args []string) (status int, err error) {
	c := &config{}
	if done, err := c.parse(args); done || err != nil {
		return usage(err)
	}
	o := c.options
	closeSource := func() {}
	if c.asLLVM {
		trees, treesErr := locate.NewTrees(c.symbols.files)
		engine := elfdwarf.NewLLVMSource(trees)
		engine.UsePackage(c.symbols.dwp)
		o.Symbols, err = engine, treesErr
		c.llvm.Color, c.llvm.Errors, c.llvm.ErrorColor = llvmColor(os.Stdout, c.color), os.Stderr, llvmColor(os.Stderr, "auto")
		o.LLVM = &c.llvm
	} else {
		o.Symbols, closeSource, err = c.symbols.source()
	}
	if err != nil {
		return exitUsage, err
	}
	defer closeSource()
	if c.llvm.NoDemangle && !c.asLLVM {
		o.Symbols = symsrc.Mangled(o.Symbols)
	}
	o.Warn = warn
	c.batch.Stdout, c.batch.Stderr, c.batch.Terminal, c.batch.Timing = os.Stdout, os.Stderr, isTerminal(os.Stderr), &c.symbols.timing
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
			return exitUsage, err
		}
		report.Use(&c.batch)
		o.Observe = report.Observe
		defer func() {
			if failed := report.Close(); failed != nil {
				status, err = exitIO, failed
			}
		}()
	}
	if c.from == "" && (c.imports.Pprof != "" || c.imports.Folded != "") {
		stacks := importer.NewLogStacks(o.Observe)
		o.Observe = stacks.Observe
		defer func() {
			if failed := stacks.Save(&c.imports); failed != nil {
				status, err = exitIO, failed
			}
		}()
	}
	f, end, err := c.extras.Open(o)
	if err != nil {
		return exitUsage, err
	}
	if c.from != "" {
		c.imports.Symbols = o.Symbols
		status = c.runImport(f)
	} else {
		status = c.run(f)
	}
	end()
	return max(status, c.summarize(f)), nil
}

// runTree reads a tree of logs.
func (c *config) runTree(o filter.Options) (status int, err error) {
	finder, end, err := c.symbols.finder()
	if err != nil {
		return exitUsage, err
	}
	defer end()
	c.batch.Filter, c.batch.Finder = o, finder
	return batch.Run(context.Background(), c.batch)
}

// wrap runs a command with its output filtered.
func (c *config) wrap(o filter.Options) (status int, err error) {
	var filters []*filter.Filter
	maps := child.NewMaps()
	o.Maps = func() (lists [][]byte) {
		for _, s := range maps.All() {
			lists = append(lists, s.Text)
		}
		return lists
	}
	status, err = child.Run(context.Background(), child.Options{Argv: c.command, Maps: maps, Warn: warn,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		New: func() *filter.Filter {
			f := filter.New(o)
			filters = append(filters, f)
			return f
		}})
	if err != nil && status == exitOK {
		status = exitIO
	}
	for _, f := range filters {
		f.End()
		c.summarize(f)
	}
	return status, err
}

// run carries the inputs through f.
func (c *config) run(f *filter.Filter) (status int) {
	err := f.RunInputs(context.Background(), filter.Inputs{Names: c.inputs, Drain: drain, Problem: func(err error) {
		complain("%v", err)
		status = exitIO
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
	return exitIO
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
		status = exitIO
	}
	return status
}

// importCommand is `qss-filter import INPUT`.
func importCommand(args []string) (status int, err error) {
	var s symbols
	var o importer.Options
	s.cache.Off = true
	fs := newFlags()
	register(fs, o.Register, func(fs *flag.FlagSet) {
		fs.Var(o.ByValue(nil), "by", "`WHAT` samples are counted by: function, address, line, module")
	})
	s.register(fs)
	if done, err := parse(fs, args, "import [flags] INPUT", 1); done || err != nil {
		return usage(err)
	}
	source, end, err := s.source()
	if err != nil {
		return exitUsage, err
	}
	defer end()
	o.Symbols = source
	in, err := importer.Detect(fs.Arg(0), o)
	if err == nil {
		err = in.Lines(context.Background(), os.Stdout)
	}
	return complainAll(err), nil
}

func (c *config) summarize(f *filter.Filter) (status int) {
	if c.summary == "always" || c.summary == "auto" && isTerminal(os.Stderr) {
		if err := f.Summary(os.Stderr); err != nil {
			return exitIO
		}
	}
	return exitOK
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

// symbolizeCommand is `qss-filter symbolize FILE [0xADDR…]`.
func symbolizeCommand(args []string) (status int, err error) {
	var s symbols
	var o symbolize.Options
	s.cache.Off = true
	fs := newFlags()
	register(fs, o.Register)
	s.register(fs)
	const use = "symbolize [flags] FILE [0xADDRESS ...]     reads addresses from standard input where none is given"
	if done, err := parse(fs, args, use, 1); done || err != nil {
		return usage(err)
	}
	s.files.Objects = append(s.files.Objects, fs.Arg(0))
	source, end, err := s.source()
	if err != nil {
		return exitUsage, err
	}
	defer end()
	z, err := symbolize.New(context.Background(), fs.Arg(0), source, o)
	if err == nil {
		err = z.Run(context.Background(), fs.Args()[1:], os.Stdin, os.Stdout)
	}
	if err != nil {
		return exitIO, err
	}
	return exitOK, nil
}

// whereCommand is `qss-filter where BUILDID|FILE`.
func whereCommand(args []string) (status int, err error) {
	var s symbols
	fs := newFlags()
	s.register(fs)
	if done, err := parse(fs, args, "where [flags] BUILDID|FILE", 1); done || err != nil {
		return usage(err)
	}
	finder, end, err := s.finder()
	if err != nil {
		return exitUsage, err
	}
	defer end()
	if found, err := symbolize.Where(context.Background(), finder, fs.Arg(0), os.Stdout); err != nil || !found {
		return exitIO, err
	}
	return exitOK, nil
}

// palette gives the colours of the filter's own text, nil for none.
func (c *config) palette() *sgr.Palette {
	force := cmp.Or(os.Getenv("FORCE_COLOR"), os.Getenv("CLICOLOR_FORCE"))
	if !sgr.Enabled(c.color, os.Getenv("NO_COLOR"), force, os.Getenv("TERM"), isTerminal(os.Stdout)) {
		return nil
	}
	return sgr.NewPalette(true)
}

// llvmColor tells whether llvm would write colours to out. It knows no variable but TERM.
func llvmColor(out *os.File, mode string) bool {
	return mode == "always" || mode == "auto" && sgr.Enabled(mode, "", "", cmp.Or(os.Getenv("TERM"), "dumb"), isTerminal(out))
}

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// complain writes a diagnostic. There is nobody left to tell when that fails.
func complain(format string, args ...any) {
	_, _ = io.WriteString(os.Stderr, "qss-filter: "+fmt.Sprintf(format, args...)+"\n")
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

// parse reads the command line; done is true where that was all there was to do.
func (c *config) parse(args []string) (done bool, err error) {
	fs := newFlags()
	c.flags = fs
	c.symbols.register(fs)
	register(fs, c.symbols.programs.Register, c.options.Register, c.extras.Register, c.batch.Register)
	register(fs, c.imports.Register)
	by := fs.Lookup("by")
	by.Value = words{c.imports.ByValue(by.Value)}
	by.Usage += "; with --from what samples are counted by: function, address, line, module"
	fs.StringVar(&c.from, "from", "", "`INPUT` of Scaler, PerFlow or ChopStiX, read as import prints it; the flags above from --folded on are for it")
	fs.StringVar(&c.color, "color", "auto", "`WHEN` to colour what is added: auto (on a terminal), always, never")
	fs.Lookup("color").NoOptDefVal = "always"
	word(fs, &c.summary, "summary", "`WHEN` to list modules without symbols at the end: auto (on a terminal), always, never",
		"auto", "always", "never")
	style := "default"
	word(fs, &style, "style", "`STYLE`: default, or llvm: what llvm-symbolizer --filter-markup prints, byte for byte", "default", "llvm")
	fs.BoolVar(&c.asLLVM, "filter-markup", false, "same as --style=llvm; the flags from here on belong to it")
	register(fs, c.llvm.Register)
	fs.StringVar(&c.symbols.dwp, "dwp", "", "`FILE` of split DWARF, in place of PROGRAM.dwp")
	showVersion := fs.Bool("version", false, "print the version")
	named := strings.HasPrefix(filepath.Base(os.Args[0]), "llvm-symbolizer")
	if named {
		args = append(strings.Fields(os.Getenv("LLVM_SYMBOLIZER_OPTS")), args...)
	}
	args = addr2line.LongForms(args)
	if done, err := parse(fs, args, "[flags] [FILE ...]     reads standard input without FILE, or for -", 0); done || err != nil {
		return done, err
	}
	if *showVersion {
		fmt.Println("qss-filter", version())
		return true, nil
	}
	if named && !c.asLLVM {
		return false, errors.New("in place of llvm-symbolizer only --filter-markup is supported")
	}
	c.asLLVM = c.asLLVM || style == "llvm"
	if !slices.Contains([]string{"auto", "always", "never"}, c.color) {
		if !c.asLLVM {
			return false, fmt.Errorf("--color=%s: want auto, always, never", c.color)
		}
		c.color = "never" // as llvm takes it
	}
	c.inputs = fs.Args()
	if at := fs.ArgsLenAtDash(); at >= 0 && !named {
		c.inputs, c.command = c.inputs[:at], c.inputs[at:]
	}
	if len(c.command) > 0 && len(c.inputs) > 0 {
		return false, fmt.Errorf("%s: a file and a command behind --: want one of them", c.inputs[0])
	}
	if len(c.inputs) == 0 || named { // addresses, that llvm ignores
		c.inputs = []string{"-"}
	}
	return false, nil
}

var errUsage = errors.New("try 'qss-filter --help'")

// usage gives the outcome of a command line that asks for nothing more, or is wrong.
func usage(err error) (int, error) {
	if err == nil {
		return exitOK, nil
	}
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = fmt.Errorf("--%s=%s: %w", bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
	}
	return exitUsage, fmt.Errorf("%w (%w)", err, errUsage)
}

func newFlags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("qss-filter", pflag.ContinueOnError)
	fs.SortFlags, fs.Usage = false, func() {}
	return fs
}

// register adds flags of other packages, which know the standard library's flags only.
func register(fs *pflag.FlagSet, adders ...func(*flag.FlagSet)) {
	for _, add := range adders {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		add(set)
		fs.AddGoFlagSet(set)
	}
}

// words is a flag of the standard library as one of pflag's.
type words struct{ flag.Value }

func (words) Type() string { return "words" }

// word adds a flag that is one of words; the first one is the default.
func word(fs *pflag.FlagSet, to *string, name, usage string, words ...string) {
	*to = words[0]
	fs.Func(name, usage, func(value string) error {
		if !slices.Contains(words, value) {
			return fmt.Errorf("want %s", strings.Join(words, ", "))
		}
		*to = value
		return nil
	})
}

// parse reads a command line of at least so many arguments, or shows help.
func parse(fs *pflag.FlagSet, args []string, use string, least int) (done bool, err error) {
	help := fs.BoolP("help", "h", false, "the most common flags")
	all := fs.Bool("help-all", false, "every flag")
	if err := fs.Parse(args); err != nil {
		return false, err
	}
	if *help || *all {
		shown := fs
		if !*all && fs.Lookup("frames") != nil {
			shown = newFlags()
			for _, name := range common {
				shown.AddFlag(fs.Lookup(name))
			}
		}
		fmt.Printf("Usage: qss-filter %s\n%s\n%s%s", use, about, shown.FlagUsages(), epilogue)
		return true, nil
	}
	if fs.NArg() < least {
		return false, fmt.Errorf("want: qss-filter %s", use)
	}
	return false, nil
}

// common are the flags that --help shows.
var common = []string{"symbols", "build-id-dir", "rootfs", "debuginfod-url", "frames", "renumber", "adjust", "explain", "maps", "by",
	"color", "summary", "style", "no-cache", "help-all", "version"}

const about = `       qss-filter [flags] -- COMMAND [ARGUMENT ...]
       qss-filter symbolize FILE [0xADDRESS ...] | where BUILDID|FILE | cache stats|clear|path

Makes native stack traces in logs readable, live: adb logcat | qss-filter
`

const epilogue = `
Environment: NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM decide --color=auto; DEBUGINFOD_URLS names servers.
Exit status: 0 everything was read, 1 an input or the output failed, 2 the command line is wrong; behind -- the command's own.
`
