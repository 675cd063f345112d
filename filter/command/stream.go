package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/child"
	"qss-filter/filter/command/cli"
	"qss-filter/filter/importer"
	"qss-filter/filter/llvm"
	"qss-filter/filter/resolve"
	"qss-filter/filter/tree"
	"qss-filter/sgr"
	"qss-filter/symsrc"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/javamap"
)

// config is what the command line says.
type config struct {
	flags   *cli.Flags
	inputs  []string
	command []string // after `--`
	style   style
	own     patterns // --own
	output  string   // a file in place of standard output
	out     *os.File // where the log goes
	hints   *hints   // nil if none are written while the log is read

	symbols  *chain.Options
	options  filter.Options
	format   format
	extras   filter.Extras
	triggers *triggers
	llvm     llvm.Options
	child    child.Options
	tree     tree.Options
	imports  importer.Options
}

// style are the flags of the output that belong to no package.
type style struct {
	name, color, summary string
	names                string // full, short or mangled
	quiet, follow        bool
	llvm                 bool // in place of llvm-symbolizer
	failUnresolved       string
	annotate             string // auto, off, github or azure
	findings             string // a file of --report, "" for none
}

func newConfig(fs *cli.Flags) *config {
	return &config{flags: fs, out: os.Stdout, symbols: newSymbols(), triggers: newTriggers()}
}

// filterCommand is qss-filter without a command name.
func filterCommand(fs *cli.Flags) cli.Run {
	c := newConfig(fs)
	c.timed()
	c.register(fs)
	filterRules(fs)
	return func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		if len(fs.Args()) == 0 && isTerminal(os.Stdin) {
			warn("reading a log from standard input, which is the keyboard; Ctrl-D ends it (qss-filter -h is a page of help)")
		}
		return (&job{config: c}).run()
	}
}

// timed measures the finder for reports.
func (c *config) timed() {
	timing := &tree.Timing{}
	c.tree.Timing = timing
	c.symbols.Around = func(f symsrc.Finder) symsrc.Finder {
		c.tree.Finder = timing.Finder(f)
		return c.tree.Finder
	}
}

// register adds all flags of the filter.
func (c *config) register(fs *cli.Flags) {
	symbolFlags(fs, c.symbols, with(programFlags, &c.symbols.Programs), with(sourceFlags, &c.symbols.Sources), with(javaFlags, c.symbols))
	fs.Register(func(set *flag.FlagSet) { filterFlags(set, &c.options, &c.symbols.Sources) }, c.format.register, with(c.triggers.flags, &c.extras), with(childFlags, &c.child),
		with(runFlags, &c.tree), with(profileFlags, &c.imports))
	fs.Repeated("on-dumpfile")
	fs.Words("linger", forever)
	fs.String(&c.output, "output", "", "write the log to `FILE` in place of standard output")
	fs.Bool(&c.style.follow, "follow", "go on when the log ends, as tail -F does")
	fs.Word(&c.style.summary, "summary", "say at the end what names are missing, `WHEN` is auto, always, never; stats adds what the run took",
		"auto", "always", "never", "stats")
	fs.Bool(&c.style.quiet, "quiet", "write no warnings and no summary")
	fs.Register(func(set *flag.FlagSet) {
		set.BoolVar(&c.tree.Benchmark, "benchmark", false, "the same as --stats, as QSS has it")
	})
	fs.Hide("benchmark", coreFlag, "source-root", "stats")
	fs.Optional("summary", "always")
	fs.Seldom(seldomFlags...)
	c.ownFlags(fs)
	fs.Word(&c.style.annotate, "annotate", "mark the first line of your own code for each fault for `CI`, on standard error: auto, off, github, azure", "auto", "off", "github", "azure")
	c.styleFlags(fs)
}

// styleFlags adds the flags of the output that belong to no package, and those of llvm's style.
func (c *config) styleFlags(fs *cli.Flags) {
	fs.Repeated("path-map")
	fs.Optional("source", around)
	c.colorFlag(fs, "color what is added `WHEN`: auto, always, never")
	c.namesFlag(fs)
	fs.Word(&c.style.name, "style", "`STYLE` of all output: default, or llvm (as llvm-symbolizer --filter-markup, byte for byte)", "default", "llvm")
	fs.Bool(&c.style.llvm, "filter-markup", "same as --style=llvm")
	fs.Register(with(llvmFlags, &c.llvm))
	fs.Words("functions", functionKinds...)
	fs.String(&c.symbols.Package, "dwp", "", "`FILE` of split DWARF, in place of PROGRAM.dwp")
	fs.Hide(llvmOwnFlags...)
}

// ownFlags adds the flags for the program's own code, and for a run that fails.
func (c *config) ownFlags(fs *cli.Flags) {
	fs.Register(func(set *flag.FlagSet) {
		set.Var(&c.own, "own", "`PATTERN` of source files or modules that are your own code; !PATTERN is others'")
	})
	fs.Repeated("own")
	fs.String(&c.style.failUnresolved, "fail-unresolved", failNever, "exit with status 3 if a frame has no name: `OF` all, own code, or a pattern of modules")
	fs.Words("fail-unresolved", failAll, failOwn)
	fs.Optional("fail-unresolved", failAll)
}

// namesFlag adds the flag for names of functions.
func (c *config) namesFlag(fs *cli.Flags) {
	fs.Word(&c.style.names, "names", "`FORM` of names: full, short, mangled",
		"full", "short", "mangled")
}

// configured reports whether the configuration applies. In place of llvm-symbolizer it does not: scripts that call llvm-symbolizer
// depend on every byte of its output.
func configured(fs *cli.Flags) bool {
	return !namedLLVM() && !fs.Is("style", "llvm") && !fs.Is("filter-markup", "true")
}

// check checks and completes the values of the flags.
func (c *config) check() error {
	c.style.llvm = c.style.llvm || c.style.name == "llvm"
	if !slices.Contains(colorWords, c.style.color) {
		if !c.style.llvm {
			return fmt.Errorf("--color=%s: want auto, always, never", c.style.color)
		}
		c.style.color = llvmColorWord(c.style.color)
	}
	if c.style.summary == "stats" {
		c.style.summary, c.tree.Benchmark = "auto", true
	}
	messages.Store(theme(os.Stderr, c.style.color))
	c.inputs = c.flags.Args()
	if !namedLLVM() {
		if c.inputs, c.command = c.flags.Split(); c.command != nil && len(c.command) == 0 {
			return errors.New("want a command after --")
		}
	}
	if len(c.inputs) > 0 && !namedLLVM() {
		switch {
		case len(c.command) > 0:
			return fmt.Errorf("%s: a file and a command after --: want one of them", c.inputs[0])
		}
	}
	if len(c.inputs) == 0 || namedLLVM() { // addresses, which llvm ignores
		c.inputs = []string{"-"}
	}
	if err := c.checkScope(); err != nil {
		return err
	}
	if c.style.follow && (len(c.command) > 0 || len(c.inputs) != 1 || c.inputs[0] == "-") {
		return errors.New("--follow: want one log, which may be a file that is still to come")
	}
	if c.extras.Maps != "" && javamap.Is(c.extras.Maps) {
		return fmt.Errorf("--maps %s: it has names of Java: did you mean --mapping?", c.extras.Maps)
	}
	for _, path := range c.symbols.Maps {
		if hasMappings(path) && !javamap.Is(path) {
			return fmt.Errorf("--mapping %s: it has the memory map of a process: did you mean --maps?", path)
		}
	}
	if isReportFile(c.tree.Report) {
		c.style.findings, c.tree.Report = c.tree.Report, ""
	}
	if len(c.command) > 0 && c.tree.Report != "" {
		return fmt.Errorf("--report %s: a command after -- needs a file of findings, .sarif or .json", c.tree.Report)
	}
	c.format.use(&c.options)
	quiet.Store(c.style.quiet)
	return nil
}

// hurryServers has servers of symbols waited for as for a log that is being written, if no flag says how long.
func (c *config) hurryServers() {
	if s := &c.symbols.Servers; s.Wait == 0 {
		s.Wait, s.After = liveWait, defaultAfter
	}
}

// hasMappings reports whether a file begins with a list of mappings.
func hasMappings(path string) bool {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	const enough = 64 << 10
	head, _ := io.ReadAll(io.LimitReader(f, enough)) // another look says what fails
	return resolve.CheckMappings(head) == nil
}

// filterOptions returns the options of a filter. live is set if someone may be looking at the log while it is written. end closes its source of symbols.
func (c *config) filterOptions(live bool) (o filter.Options, end func(), err error) {
	c.options.Names.Own = c.own.rules()
	o = c.options
	if c.style.llvm {
		c.symbols.SkipLineZero = c.llvm.SkipLineZero
		o.Symbols, end, err = c.symbols.LLVMSource()
		c.llvm.Color, c.llvm.Errors, c.llvm.ErrorColor = llvmColor(c.out, c.style.color), os.Stderr, llvmColor(os.Stderr, "auto")
	} else {
		if live {
			c.symbols.Files.Wait, c.symbols.Files.After = liveWait, defaultAfter
			c.hurryServers()
		}
		if o.Java, err = c.symbols.Java(context.Background()); err != nil {
			return o, nil, err
		}
		o.Scripts = c.symbols.Scripts()
		o.Board = c.symbols.Files.Board()
		o.Symbols, end, err = c.symbols.Source()
	}
	if err != nil {
		return o, end, err
	}
	if c.options.SourceLines > 0 {
		o.Sources = c.symbols.Texts()
	}
	if (c.llvm.NoDemangle || c.style.names == "mangled") && !c.style.llvm {
		o.Symbols = symsrc.Mangled(o.Symbols)
	}
	o.Names.Short = c.style.names == "short"
	o.Names.Base, o.Names.Relative = c.llvm.Basenames, c.llvm.RelativeNames
	o.Warn, o.Narrow, o.Trust, o.Insisting = warn, isTerminal(c.out), howToTrust, insisting
	if live && isTerminal(os.Stderr) && !c.style.quiet && c.style.summary != "never" {
		c.hints = &hints{}
		o.Missing = c.hints.missing
	}
	return o, end, nil
}

// A log that is being written waits for servers, and for files that are looked for here, no longer than liveWait in all each: what comes later
// names later frames, and those of the next run, for which the end of this one waits for up to defaultAfter.
const (
	liveWait     = 50 * time.Millisecond
	defaultAfter = 10 * time.Second
)

// insisting says how files are believed that the log contradicts.
const insisting = "--trust-files names those that the log does not name"

// howToTrust says how this machine's file of a module is trusted where a log has no build IDs. A root has no file for a name that is no whole
// path.
func howToTrust(module string) string {
	if strings.HasPrefix(module, "/") {
		return "to use this machine's files anyway: --rootfs /"
	}
	return "to use one that you know: --symbols FILE"
}

// palette returns the colors of the filter's own text, nil for none.
func (c *config) palette() *sgr.Palette {
	if !colored(c.out, c.style.color) {
		return nil
	}
	p := sgr.NewPalette(true)
	if err := p.Parse(os.Getenv("QSS_COLORS")); err != nil {
		complain("QSS_COLORS: %v", err)
	}
	return p
}

// llvmColorWord returns how llvm reads an unknown value of --color.
func llvmColorWord(word string) string {
	if strings.EqualFold(word, "always") || strings.EqualFold(word, "auto") {
		return "always"
	}
	return "never"
}

// llvmColor reports whether llvm would write colors to out. It reads no variable except TERM.
func llvmColor(out *os.File, mode string) bool {
	return mode == "always" || mode == "auto" && sgr.Enabled(mode, "", "", cmp.Or(os.Getenv("TERM"), "dumb"), isTerminal(out))
}

// Flags that other flags need or exclude.
var (
	llvmStyle = []string{"style=llvm", "filter-markup"}
	programs  = []string{"backend", "llvm", "gnu"}
	after     = []string{cli.CommandAfter}
)

// llvmOwnFlags are llvm's flags that help does not show.
var llvmOwnFlags = []string{"dwp", "filter-markup", "demangle", "d", "no-demangle", "functions", "basenames", "relativenames", "skip-line-zero",
	"inlines", "no-inlines"}

// textFlags affect the text of lines and names. They have no effect in llvm's style.
var textFlags = []string{"frames", "modules", "dedupe", "names", "path-map", "source", "hyperlink-format", "maps", "mapping", "map", "proguard", coreFlag, "dump-context",
	"on-dumpfile", "pprof", "folded", "summary=always", "json"}

// seldomFlags are flags of the filter that few people need.
var seldomFlags = []string{"on-dumpfile", "dump-context", "backend", "addresses", "process-key", "cache-max", "pprof", "folded", "debuginfod-timeout",
	"lookahead", "strip-ansi", "hyperlink-format", "linger"}

// streamRules adds the rules for the flags of a filter.
func streamRules(fs *cli.Flags) {
	fs.Needs(llvmStyle, "functions", "no-inlines", "skip-line-zero")
	fs.Needs(programs, "c")
	fs.Excludes(llvmStyle, slices.Concat(textFlags, []string{"only-stacks", "fail-unresolved", "annotate", "addresses", "process-key", "lookahead", "trust-files", "strip-ansi", "explain", "report"}, programs)...)
}

// importRules adds the rules for the flags of an input of another tool.
func importRules(fs *cli.Flags) {
	fs.Needs([]string{"write-counts"}, "in-place")
	fs.Excludes([]string{"offsets"}, "by")
}

// filterRules adds the rules for all flags of the filter command.
func filterRules(fs *cli.Flags) {
	streamRules(fs)
	fs.Needs(after, "linger")
	fs.Excludes(after, "pprof", "folded")
	fs.Excludes([]string{"quiet"}, "verbose", "summary=always")
}

// triggers runs the user's commands for dumpfile elements, in the background.
type triggers struct {
	commands map[string]string
	slots    chan struct{}
	waiting  chan struct{}
	running  sync.WaitGroup
}

// maxTriggers bounds the commands that run at the same time, and maxWaiting the dumpfiles that wait: a log can
// have any number of them.
const (
	maxTriggers = 2
	maxWaiting  = 64
)

func newTriggers() *triggers {
	return &triggers{commands: map[string]string{}, slots: make(chan struct{}, maxTriggers), waiting: make(chan struct{}, maxWaiting)}
}

// add adds a command, as TYPE=COMMAND.
func (t *triggers) add(spec string) error {
	kind, command, ok := strings.Cut(spec, "=")
	if !ok || kind == "" || command == "" {
		return errors.New("want TYPE=COMMAND")
	}
	if _, twice := t.commands[kind]; twice {
		return fmt.Errorf("%s already has a command", kind)
	}
	t.commands[kind] = command
	return nil
}

// use makes a filter start the commands. It warns about those that fail.
func (t *triggers) use(o *filter.Options) {
	if len(t.commands) > 0 {
		o.OnDumpfile = func(d filter.Dumpfile) { t.start(context.Background(), d, o.Warn) }
	}
}

// start runs the command for a dumpfile, if there is one for its type. The shell gets the command as the user wrote it; text
// from the log is passed as arguments and never expanded: $1 is the file with the context, $2 the type, $3 the name.
func (t *triggers) start(ctx context.Context, d filter.Dumpfile, warn func(message string)) {
	command, ok := t.commands[d.Type]
	if !ok {
		return
	}
	select {
	case t.waiting <- struct{}{}:
	default:
		warn(fmt.Sprintf("dumpfile %s %q: skipped: %d others are waiting", d.Type, d.Name, maxWaiting))
		return
	}
	t.running.Go(func() {
		t.slots <- struct{}{}
		defer func() { <-t.slots; <-t.waiting }()
		if err := runShell(ctx, command, d); err != nil {
			warn(fmt.Sprintf("dumpfile %s %q: %v", d.Type, d.Name, err))
		}
	})
}

// wait waits for the running commands.
func (t *triggers) wait() { t.running.Wait() }

// runShell runs a command.
func runShell(ctx context.Context, command string, d filter.Dumpfile) error {
	file, err := os.CreateTemp("", "qss-filter-context-*.json")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(append(d.Context, '\n'))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command, "qss-filter", file.Name(), d.Type, d.Name)
	// Standard output is for the log. The output of the command goes to standard error.
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %q: %w", command, err)
	}
	return nil
}
