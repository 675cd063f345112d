// Package command has the program's commands, with their flags.
//
//	command.go    the table of commands
//	stream.go     the filter itself: what its flags mean, which of them go together, and the user's commands for dumpfile elements
//	flags.go      the flags of each package
//	findings.go   annotations of a CI's pages, and files of findings
//	tree.go       a tree of logs, and the modules of logs
//	values.go     kinds of flags
//	texts.go      the text of help and of the manual page, and the order of flags in it
//	llvmargs.go   command lines of llvm-symbolizer --filter-markup
//	standin.go    in place of other tools, by the program's name, and their flags; standin_llvm.go: llvm-symbolizer and
//	              llvm-addr2line; standin_gnu.go: addr2line of binutils
//	run.go        a log, a tree of logs, a program's output or a foreign input through a filter; what signals do
//	symbols.go    commands about files of symbols
//	fleet.go      worker and publish
//	other.go      import, schema, cache
//	messages.go   diagnostics: their colors, the names of flags in them, the summary
//	hints.go      what to do about frames without a name
//	limits_*.go   limits of the shell with which the program cannot work
package command

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"qss-filter/filter/command/cli"
	"qss-filter/sgr"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/object"
)

// Program is the table of commands.
var Program = cli.Program{
	Name: "qss-filter", Version: version, About: about, Description: description, Uses: []string{"[flags] -- COMMAND [ARGUMENT ...]"},
	Exit: exits, Environment: environment, Files: files, SeeAlso: seeAlso, Date: date, Stdout: os.Stdout, Warn: warn, Named: named,
	Letters: letters, Layout: layout, Habits: habits, Words: commandWords, Topics: topics, Starts: []string{"backend", "llvm", "gnu", "c", "on-dumpfile"},
	Theme: func(color string) *sgr.Theme { return theme(os.Stdout, color) },
	Commands: []*cli.Command{
		{Args: "[FILE ...]", Note: "reads standard input without FILE, or for -", Common: common, Examples: examples, Setup: filterCommand,
			Rewrite: rewrite, Config: configured},
		{Name: "doctor", Args: "[LOG | -- COMMAND [ARGUMENT ...]]", Note: "reads standard input without LOG; a COMMAND is run, and its output is the log", Most: 1, Runs: true, Common: doctorCommon, Rewrite: longForms,
			About: "explains why frames of a log have no names, and what to try", Setup: doctorCommand},
		{Name: "tree", Args: "DIR", Most: 2, Common: treeCommon, Examples: treeExamples, Rewrite: longForms, Habits: treeHabits,
			About: "reads all logs below a directory at once, and reports on their stacks", Setup: treeCommand},
		{Name: "modules", Args: "LOG ...", Least: 1, About: "lists the modules that logs name, with their build IDs", Setup: modulesCommand},
		{Name: "symbolize", Args: "FILE|BUILDID|DIR [[FILE@]0xADDRESS|FUNCTION+0xOFFSET ...]", Least: 1,
			Note: "reads addresses from standard input where none is given; with -e FILE and -a -C -f -i -p -s it answers as addr2line, " +
				"with --output-style=LLVM|GNU|JSON as llvm-symbolizer",
			About: "names addresses of a program or library", Setup: symbolizeCommand},
		{Name: "where", Args: "BUILDID|FILE", Least: 1, Most: 1, About: "shows how the files of one module are found", Setup: whereCommand},
		{Name: "import", Args: "INPUT", Least: 1, Most: 1, About: "prints a trace of Scaler, PerFlow or ChopStiX as markup and frames", Setup: importCommand},
		{Name: "dump-sym", Args: "FILE", Least: 1, Most: 1, About: "writes the symbols of a program or library as a Breakpad .sym file", Setup: dumpSymCommand},
		{Name: "serve", Args: "DIR ...", Least: 1, About: "serves symbols as a debuginfod server, from all places that --symbols takes", Setup: serveCommand},
		{Name: "worker", About: "annotates the logs of a fleet, from and to NATS JetStream", Common: workerCommon, Setup: workerCommand},
		{Name: "publish", Args: "[LOG]", Most: 1, Note: "reads standard input without LOG", About: "sends a log to NATS JetStream, for workers", Setup: publishCommand},
		{Name: "schema", About: "prints the JSON Schema of what --json writes", Setup: schemaCommand},
		{Name: "cache", Args: "stats|clear|path", Least: 1, Most: 2, About: "shows, clears or locates the cache", Setup: cacheCommand,
			Config: func(fs *cli.Flags) bool { return !slices.Contains(fs.Args(), "serve") }}, // filters start it, with all its flags
	},
}

// Main does what the arguments ask for, without the program's name, and returns the exit status.
func Main(args []string) (status int) {
	delayCollection()
	messages.Store(theme(os.Stderr, colorOf(args)))
	if err := checkLimits(); err != nil {
		complain("%v", err)
		return cli.Usage
	}
	if status, done := runTool(args); done {
		return status
	}
	status, err := Program.Run(seedForm(args))
	if err != nil {
		complain("%v", err)
	}
	return status
}

// delayCollection lets the heap grow to 16 MiB before the first garbage collection, in place of 4. Most runs are over before, and the others
// skip the collections that free least. Peak memory does not rise, since longer runs need more.
func delayCollection() {
	const usual, first = 100, 400
	if set := debug.SetGCPercent(first); set != usual { // $GOGC
		debug.SetGCPercent(set)
		return
	}
	garbage := new(struct{ _ *byte })
	runtime.AddCleanup(garbage, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// newSymbols returns the default options of symbols for all commands.
func newSymbols() *chain.Options {
	o := &chain.Options{Warn: func(err error) { complain("%v", named(err)) }}
	if self, err := os.Executable(); err == nil {
		o.Cache.Program = func(dir string, max int64) []string { return append([]string{self}, cacheServer(dir, max)...) }
		o.Index = func(j object.IndexJob) { indexLater(self, o.Files.CacheDir, j) }
	}
	if isTerminal(os.Stderr) {
		o.Progress = os.Stderr
	}
	o.Files.Nearby = nearby()
	return o
}

// nearby returns the directories in which builds leave unstripped files without being asked: that of an Android product, and that of a
// Gradle project in the working directory.
func nearby() (dirs []string) {
	add := func(dir string) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			dirs = append(dirs, dir)
		}
	}
	if product := os.Getenv("ANDROID_PRODUCT_OUT"); product != "" {
		add(filepath.Join(product, "symbols"))
	}
	add(filepath.Join("app", "build", "intermediates"))
	return dirs
}

// symbolFlags adds the flags of symbols.
func symbolFlags(fs *cli.Flags, s *chain.Options, more ...func(*flag.FlagSet)) {
	fs.Register(append(more, with(chainFlags, s))...)
	fs.Repeated("obj", "symbols", "mapping", "map", "proguard", "debug-file-directory", "debug-root", "rootfs", "debuginfod", "source-root")
	fs.Hide(append(mappingNames, otherSymbolFlags...)...)
}

// namedLLVM reports whether the program was started as llvm-symbolizer.
func namedLLVM() bool { return strings.HasPrefix(filepath.Base(os.Args[0]), "llvm-symbolizer") }

// rewrite converts arguments of llvm-symbolizer and other short forms to flags of this program.
func rewrite(args []string) []string {
	if namedLLVM() {
		args = responses(append(words(os.Getenv("LLVM_SYMBOLIZER_OPTS")), args...), 0)
	}
	if namedLLVM() || asLLVM(args) {
		args = llvmArgs(args)
	}
	return longForms(args)
}
