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
	"qss-filter/sgr"
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

func main() { os.Exit(run(os.Args[1:])) }

// commands are what a first argument may be; else it is a file to read.
var commands = map[string]func(args []string) (status int, err error){
	"symbolize": symbolizeCommand,
}

func run(args []string) int {
	if len(args) > 0 && commands[args[0]] != nil {
		status, err := commands[args[0]](args[1:])
		if err != nil {
			complain("%v", err)
		}
		return status
	}
	c, err := parseFlags(args)
	switch {
	case errors.Is(err, errHelp):
		fmt.Fprint(os.Stdout, c.help())
		return exitOK
	case err != nil:
		complain("%v (try 'qss-filter --help')", err)
		return exitUsage
	case c.version:
		fmt.Println("qss-filter", version())
		return exitOK
	}
	status, err := c.run()
	if err != nil {
		complain("%v", err)
	}
	return status
}

// source says where symbols are from.
func (c *config) source() (*elfdwarf.Source, error) {
	c.files.OnProblem = warn
	if c.asLLVM {
		trees, err := locate.NewTrees(c.files)
		return elfdwarf.NewLLVMSource(trees), err
	}
	finder, err := locate.New(c.files)
	return elfdwarf.NewSource(finder), err
}

// run makes the filter and runs it; an error is one of the command line.
func (c *config) run() (status int, err error) {
	o := c.options
	if o.Symbols, err = c.source(); err != nil {
		return exitUsage, err
	}
	o.Palette, o.Warn = c.palette(), warn
	if c.asLLVM {
		c.llvm.Color, c.llvm.Errors, c.llvm.ErrorColor = llvmColor(os.Stdout, c.color), os.Stderr, llvmColor(os.Stderr, "auto")
		o.LLVM = &c.llvm
	}
	triggers, err := filter.NewTriggers(c.onDumpfile, o.Warn)
	if err != nil {
		return exitUsage, err
	}
	if len(c.onDumpfile) > 0 {
		o.OnDumpfile = func(d filter.Dumpfile) { triggers.Start(context.Background(), d) }
	}
	if c.dumpContext != "" {
		file, err := os.Create(c.dumpContext)
		if err != nil {
			return exitUsage, err
		}
		defer file.Close()
		o.DumpContext = file
	}
	f := filter.New(o)
	status = c.filter(f)
	f.End()
	triggers.Wait()
	if c.summary == "always" || c.summary == "auto" && isTerminal(os.Stderr) {
		if err := f.Summary(os.Stderr); err != nil {
			status = exitIO
		}
	}
	return status, nil
}

// filter runs the inputs through f.
func (c *config) filter(f *filter.Filter) (status int) {
	err := f.RunInputs(context.Background(), filter.Inputs{Names: c.inputs, Drain: drain, Problem: func(err error) {
		complain("%v", err)
		status = exitIO
	}}, os.Stdout)
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) { // its path is /dev/stdout, whatever that is
			err = &filter.WriteError{Err: p.Err}
		}
		complain("write standard output: %v", errors.Unwrap(err))
		return exitIO
	}
	return status
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

// symbolizeCommand is `qss-filter symbolize FILE [0xADDR…]`.
func symbolizeCommand(args []string) (status int, err error) {
	var files locate.Options
	var o symbolize.Options
	fs := newFlags("symbolize")
	register(fs, o.Register, files.Register)
	if err := fs.Parse(args); err != nil {
		return exitUsage, usage(err)
	}
	if help, _ := fs.GetBool("help"); help || fs.NArg() == 0 {
		fmt.Print("Usage: qss-filter symbolize [flags] FILE [0xADDRESS ...]     reads addresses from standard input without any\n\n",
			fs.FlagUsages())
		if help {
			return exitOK, nil
		}
		return exitUsage, errors.New("symbolize: no file named")
	}
	files.Objects = append(files.Objects, fs.Arg(0))
	finder, err := locate.New(files)
	if err != nil {
		return exitUsage, err
	}
	s, err := symbolize.New(fs.Arg(0), elfdwarf.NewSource(finder), o)
	if err == nil {
		err = s.Check(context.Background())
	}
	if err == nil {
		err = s.Run(context.Background(), fs.Args()[1:], os.Stdin, os.Stdout)
	}
	if err != nil {
		return exitIO, err
	}
	return exitOK, nil
}

// newFlags makes an empty set of flags but for --help.
func newFlags(name string) *pflag.FlagSet {
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	fs.SortFlags, fs.Usage = false, func() {}
	fs.BoolP("help", "h", false, "this help")
	return fs
}

// usage gives an error of the command line in the form --flag=value: what is wrong.
func usage(err error) error {
	if bad, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return fmt.Errorf("--%s=%s: %w", bad.GetFlag().Name, bad.GetValue(), bad.Unwrap())
	}
	return err
}

// config is what the command line says.
type config struct {
	flags   *pflag.FlagSet
	inputs  []string
	color   string
	summary string
	version bool
	helpAll bool
	asLLVM  bool

	files   locate.Options
	options filter.Options
	llvm    filter.LLVMOptions

	dumpContext string
	onDumpfile  []string
}

var errHelp = errors.New("help asked for")

// parseFlags reads the command line. The config is usable for help even where the error is errHelp.
func parseFlags(args []string) (*config, error) {
	c := &config{flags: pflag.NewFlagSet("qss-filter", pflag.ContinueOnError)}
	fs := c.flags
	fs.SortFlags, fs.Usage = false, func() {}
	register(fs, c.files.Register, c.options.Register)
	fs.StringVar(&c.dumpContext, "dump-context", "", "`FILE` for modules and mappings as JSON, a line at each reset and at the end")
	fs.StringArrayVar(&c.onDumpfile, "on-dumpfile", nil, "`TYPE=COMMAND`: run it with the context's file, type and name as $1 $2 $3")
	fs.StringVar(&c.color, "color", "auto", "`WHEN` to colour what is added: auto (on a terminal), always, never")
	fs.Lookup("color").NoOptDefVal = "always"
	word(fs, &c.summary, "summary", "`WHEN` to list modules without symbols at the end: auto (on a terminal), always, never",
		"auto", "always", "never")
	style := "default"
	word(fs, &style, "style", "`STYLE`: default, or llvm: what llvm-symbolizer --filter-markup prints, byte for byte", "default", "llvm")
	fs.BoolVar(&c.asLLVM, "filter-markup", false, "same as --style=llvm; the flags from here on to --dwp belong to it")
	register(fs, c.llvm.Register)
	fs.Func("dwp", "`FILE` of split DWARF: an error, it is only found beside its program", func(string) error {
		return errors.New("split DWARF is only found beside its program, as PROGRAM.dwp")
	})
	help := fs.BoolP("help", "h", false, "this help in short")
	fs.BoolVar(&c.helpAll, "help-all", false, "every flag")
	fs.BoolVar(&c.version, "version", false, "print the version")
	named := strings.HasPrefix(filepath.Base(os.Args[0]), "llvm-symbolizer")
	if named {
		args = append(strings.Fields(os.Getenv("LLVM_SYMBOLIZER_OPTS")), args...)
	}
	if err := fs.Parse(args); err != nil {
		return c, usage(err)
	}
	if *help || c.helpAll {
		return c, errHelp
	}
	if named && !c.asLLVM {
		return c, errors.New("in place of llvm-symbolizer only --filter-markup is supported")
	}
	c.asLLVM = c.asLLVM || style == "llvm"
	if !slices.Contains([]string{"auto", "always", "never"}, c.color) {
		if !c.asLLVM {
			return c, fmt.Errorf("--color=%s: want auto, always, never", c.color)
		}
		c.color = "never" // as llvm takes it
	}
	if c.inputs = fs.Args(); len(c.inputs) == 0 || named { // addresses, that llvm ignores
		c.inputs = []string{"-"}
	}
	return c, nil
}

// register adds flags of other packages, which know the standard library's flags only.
func register(fs *pflag.FlagSet, adders ...func(*flag.FlagSet)) {
	for _, add := range adders {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		add(set)
		set.VisitAll(func(f *flag.Flag) {
			v := foreign{f.Value, "value"}
			added := fs.VarPF(&v, f.Name, "", f.Usage)
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
				v.kind, added.NoOptDefVal = "boolfunc", "true"
			}
		})
	}
}

// foreign is a flag of the standard library as one of pflag's.
type foreign struct {
	flag.Value
	kind string
}

func (f *foreign) Type() string { return f.kind }

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

const shortHelp = `Usage: qss-filter [flags] [FILE ...]     reads standard input without FILE, or for -

Makes native stack traces in logs readable, live: adb logcat | qss-filter

Symbols (each flag may be repeated):
  --symbols DIR         any tree with unstripped files; searched by build ID
  --build-id-dir DIR    xx/yyyy.debug files, as in /usr/lib/debug/.build-id
  --rootfs DIR          root of the file system that the log's paths lie in
Frames:
  --frames=annotate|append|replace    into the frame, below it, in its place
  --renumber=auto|always|never        count on over inlined functions
  --adjust=auto|none|ra               how logged addresses are to be taken
Output:
  --color=auto|always|never           colour of what is added
  --explain                           why a frame has no name, at the frame
  --summary=auto|always|never         which modules have no symbols, at the end
  --style=llvm                        the output of llvm-symbolizer --filter-markup
  --help-all, --version
`

func (c *config) help() string {
	if !c.helpAll {
		return shortHelp
	}
	usage, _, _ := strings.Cut(shortHelp, "\n\n")
	return usage + "\n\nFlags:\n" + c.flags.FlagUsages() + `
Environment: NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE and TERM decide --color=auto.
Exit status: 0 everything was read, 1 an input or the output failed, 2 the command line is wrong.
`
}
