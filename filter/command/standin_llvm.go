package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/symbolize/batch"
	"qss-filter/symsrc/symbolize/llvm"
)

// llvmTool is this program in place of llvm-symbolizer or llvm-addr2line.
type llvmTool struct {
	name          string // as it was started
	options       llvm.Options
	symbols       *chain.Options
	markup        bool // which is another pipeline
	help, version bool
}

// runLLVM does what llvm-symbolizer or llvm-addr2line does with the arguments. It returns false if they ask for the markup filter.
func runLLVM(kind tool, args []string) (status int, done bool) {
	t := &llvmTool{name: os.Args[0], symbols: newSymbols()}
	title, environment := "llvm-symbolizer", "LLVM_SYMBOLIZER_OPTS"
	if kind == llvmAddr2line {
		title, environment = "llvm-addr2line", "LLVM_ADDR2LINE_OPTS"
		t.options.Hex, t.options.Style, t.options.NoInlines, t.options.NoDemangle, t.options.Functions = true, llvm.GNU, true, true, llvm.NoNames
	}
	args = responses(append(words(os.Getenv(environment)), args...), 0)
	if slices.Contains(args, "--filter-markup") {
		return 0, false
	}
	flags := t.flags()
	requests, err := flags.parse(args)
	if err == nil && t.options.Object != "" && t.options.BuildID != "" {
		err = errors.New("cannot specify both --build-id and --obj")
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		return cli.Failed, true
	case t.help:
		fmt.Printf("OVERVIEW: %s, by qss-filter\n\nUSAGE: %s [options] addresses...\n\nOPTIONS:\n%s\nPass @FILE as argument to read options from FILE.\n",
			title, title, flags.help())
		return cli.OK, true
	case t.version:
		fmt.Printf("%s\n  qss-filter %s, in place of LLVM version %s\n", title, version(), llvmVersion)
		return cli.OK, true
	}
	return t.run(requests), true
}

// llvmVersion is the version of LLVM whose output this program has.
const llvmVersion = "22.1.8"

// run answers the requests, or those of standard input.
func (t *llvmTool) run(requests []string) (status int) {
	t.symbols.Servers.Programs = true
	source, end, err := t.symbols.Source()
	if err != nil {
		complain("%v", named(err))
		return cli.Failed
	}
	defer end()
	t.options.Symbols, t.options.Texts = source, t.symbols.Texts()
	s, ctx := llvm.New(t.options), context.Background()
	wrong := func(err error) { fmt.Fprintf(os.Stderr, "%s: error: %v\n", t.name, err) }
	out, err := s.Check(ctx)
	if err != nil {
		if len(out) == 0 {
			wrong(err)
		}
		return max(cli.Failed, written(out))
	}
	if len(requests) > 0 {
		return written(s.List(ctx, nil, requests, wrong))
	}
	if err := batch.Run(ctx, s, batch.Options{In: os.Stdin, Out: os.Stdout, Wrong: once(wrong)}); err != nil {
		return unwritten(err)
	}
	return cli.OK
}

// maxTold bounds the errors that are kept.
const maxTold = 1 << 10

// once returns a function that passes each error about a file on only once. Errors about requests always pass.
func once(tell func(error)) func(error) {
	told := make(map[string]bool)
	return func(err error) {
		if _, ok := errors.AsType[*llvm.FileError](err); ok {
			if told[err.Error()] {
				return
			}
			if len(told) < maxTold {
				told[err.Error()] = true
			}
		}
		tell(err)
	}
}

// flags returns the flags of llvm-symbolizer.
func (t *llvmTool) flags() *toolFlags {
	o := &t.options
	on := func(to *bool, value bool) func(string) error { return func(string) error { *to = value; return nil } }
	none := func(string) error { return nil }
	number := func(name string, set func(uint64) error) func(string) error {
		return func(value string) error {
			v, ok := llvm.Integer(value)
			if !ok {
				return fmt.Errorf("--%s=: expected a non-negative integer, but got '%s'", name, value)
			}
			return set(v)
		}
	}
	own := flag.NewFlagSet("", flag.ContinueOnError)
	chainFlags(own, t.symbols)
	return newToolFlags([]toolFlag{
		{"a addresses print-address", "", "Show address before line information", on(&o.Addresses, true)},
		{"adjust-vma", "offset", "Add specified offset to object file addresses", number("adjust-vma", func(v uint64) error { o.Adjust = v; return nil })},
		{"s basenames", "", "Strip directory names from paths", func(string) error { o.Basenames, o.RelativeNames = true, false; return nil }},
		{"build-id", "value", "Build ID used to look up the object file", t.setBuildID},
		{"cache-size", "value", "No effect: see --memory of qss-filter", number("cache-size", func(uint64) error { return nil })},
		{"color", "?value", "No effect without --filter-markup", none},
		{"demangle C", "", "Demangle function names", on(&o.NoDemangle, false)},
		{"no-demangle", "", "Don't demangle function names", on(&o.NoDemangle, true)},
		{"debug-file-directory", "dir", "Path to directory where to look for debug files", t.debugDirectory},
		{"debuginfod", "", "Use debuginfod to find debug binaries", on(&t.symbols.Servers.Off, false)},
		{"no-debuginfod", "", "Don't use debuginfod to find debug binaries", on(&t.symbols.Servers.Off, true)},
		{"default-arch", "value", "Architecture of Mach-O files of several", func(v string) error { o.DefaultArch = v; return nil }},
		{"dia", "", "No effect", none},
		{"dsym-hint", "dir", "Path to a dSYM to look in", t.dsymHint},
		{"dwp", "file", "Path to DWP file to be use for any split CUs", func(v string) error { t.symbols.Package = v; return nil }},
		{"obj e exe", "file", "Path to object file to be symbolized", func(v string) error { o.Object = v; return nil }},
		{"fallback-debug-path", "dir", "Fallback path for debug binaries", t.debugDirectory},
		{"filter-markup", "", "Filter symbolizer markup from stdin", on(&t.markup, true)},
		{"functions f", "?value", "Print function name for a given address: linkage, short, none",
			choose(&o.Functions, map[string]llvm.Functions{"none": llvm.NoNames, "short": llvm.ShortNames})},
		{"disable-gsym", "", "No effect", none},
		{"gsym-file-directory", "dir", "No effect: see --symbols of qss-filter", none},
		{"h help", "", "Display this help", on(&t.help, true)},
		{"inlines i inlining", "", "Print all inlined frames for a given address", on(&o.NoInlines, false)},
		{"no-inlines no-inlining", "", "Do not print inlined frames", on(&o.NoInlines, true)},
		{"output-style", "style", "Specify print style. Supported styles: LLVM, GNU, JSON",
			choose(&o.Style, map[string]llvm.Style{"GNU": llvm.GNU, "JSON": llvm.JSON})},
		{"p pretty-print", "", "Make the output more human friendly", on(&o.Pretty, true)},
		{"print-source-context-lines", "value", "Print N lines of source file context", number("print-source-context-lines", t.contextLines)},
		{"relative-address", "", "No effect: ELF files have no image base", none},
		{"relativenames", "", "Strip the compilation directory from paths", func(string) error { o.Basenames, o.RelativeNames = false, true; return nil }},
		{"skip-line-zero", "", "Use the line of the code before where there is none", on(&o.SkipLineZero, true)},
		{"untag-addresses", "", "No effect: tags are always removed", none},
		{"no-untag-addresses", "", "No effect: tags are always removed", none},
		{"use-symbol-table", "", "Prefer names of the symbol table", on(&o.NoSymbolTable, false)},
		{"no-use-symbol-table", "", "Use the names of the debug information only", on(&o.NoSymbolTable, true)},
		{"verbose", "", "Print verbose line info", on(&o.Verbose, true)},
		{"v version", "", "Display the version", on(&t.version, true)},
	}, own)
}

func (t *llvmTool) setBuildID(value string) error {
	id, ok := symsrc.ParseBuildID(value)
	if !ok {
		return fmt.Errorf("--build-id=: expected a build ID, but got '%s'", value)
	}
	t.options.BuildID = id
	return nil
}

// dsymHint adds a dSYM, which counts for programs of its UUID. One that does not exist is no error, as in llvm.
func (t *llvmTool) dsymHint(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		t.symbols.Files.Symbols = append(t.symbols.Files.Symbols, dir)
	}
	return nil
}

// debugDirectory adds a directory of debug files. One that does not exist is no error, as in llvm.
func (t *llvmTool) debugDirectory(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		t.symbols.Files.BuildIDDirs = append(t.symbols.Files.BuildIDDirs, dir)
		t.symbols.Files.DebugRoots = append(t.symbols.Files.DebugRoots, dir)
	}
	return nil
}

// choose returns a function that sets to to the value of a word, or to the zero value for any other word, as llvm does.
func choose[T any](to *T, of map[string]T) func(string) error {
	return func(word string) error { *to = of[word]; return nil }
}

func (t *llvmTool) contextLines(n uint64) error {
	if n > llvm.MaxInteger {
		return fmt.Errorf("--print-source-context-lines=: expected a non-negative integer, but got '%d'", n)
	}
	t.options.ContextLines = int(n)
	return nil
}
