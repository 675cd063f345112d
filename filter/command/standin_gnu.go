package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/symbolize"
	"qss-filter/symsrc/symbolize/batch"
	"qss-filter/symsrc/symbolize/gnu"
)

// gnuTool is this program in place of addr2line.
type gnuTool struct {
	options       gnu.Options
	symbols       *chain.Options
	name          string // as it was started
	symbolize     bool   // not as addr2line, but as symbolize with its flags
	target        string
	help, version bool
	status        int
}

// gnuVersion is the version of binutils whose output this program has.
const gnuVersion = "2.40"

// defaultFile is the file of addresses if none is given.
const defaultFile = "a.out"

// serverWait is how long addr2line waits for servers in all. perf waits 5 s for an answer, and then asks no more about the file.
const serverWait = 4 * time.Second

// runGNU does what addr2line does with the arguments. Those of symbolize may also be what that command reads.
func runGNU(args []string, symbolize bool) (status int) {
	t := &gnuTool{symbols: newSymbols(), symbolize: symbolize, name: os.Args[0]}
	if symbolize {
		t.name = "qss-filter"
	} else {
		t.symbols.Servers.Wait = serverWait
	}
	flags := t.flags()
	rest, err := flags.parse(responses(args, 0))
	usage := "Usage: " + t.name + " [option(s)] [addr(s)]\n Convert addresses into line number/file name pairs.\n" +
		" If no addresses are specified on the command line, they will be read from stdin\n The options are:\n" +
		"  @<file>                                  Read options from <file>\n" + flags.help()
	if wrong, ok := errors.AsType[*flagError](err); ok {
		fmt.Fprintf(os.Stderr, "%s: %s\n%s", t.name, gnuWords(wrong), usage)
		return cli.Failed
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.name, err)
		return cli.Failed
	case t.help:
		fmt.Print(usage)
		return cli.OK
	case t.version:
		fmt.Printf("GNU addr2line (in its place: qss-filter %s) %s\n", version(), gnuVersion)
		return cli.OK
	}
	return t.run(rest)
}

// gnuWords returns what is wrong with an argument in the words of getopt_long.
func gnuWords(e *flagError) string {
	word := strings.HasPrefix(e.arg, "--")
	switch {
	case e.missing && word:
		return "option '" + e.arg + "' requires an argument"
	case e.missing:
		return "option requires an argument -- '" + e.arg[len(e.arg)-1:] + "'"
	case word:
		return "unrecognized option '" + e.arg + "'"
	}
	return "invalid option -- '" + string(rune(e.letter)) + "'"
}

// run answers the addresses, or those of standard input.
func (t *gnuTool) run(addresses []string) (status int) {
	file := t.options.File
	fail := func(format string, args ...any) int {
		fmt.Fprintf(os.Stderr, t.name+": "+format+"\n", args...)
		return cli.Failed
	}
	if t.symbolize {
		file, addresses = t.operands(addresses)
	} else {
		file = cmp.Or(file, defaultFile)
	}
	if t.target != "" && !isTarget(t.target) {
		return fail("%s: invalid bfd target", file)
	}
	t.symbols.Servers.Programs = true
	source, end, err := t.symbols.Source()
	if err != nil {
		return fail("%v", named(err))
	}
	defer end()
	ctx := context.Background()
	t.options.Symbols, t.options.File = source, file
	if t.symbolize {
		if t.options.Queries, err = symbolize.New(ctx, file, source, symbolize.Options{NoLines: warnNoLines}); err != nil {
			complain("%v", err)
			return cli.Failed
		}
	}
	s, err := gnu.New(ctx, t.options)
	switch {
	case errors.Is(err, gnu.ErrNotFound):
		return fail("'%s': No such file", file)
	case errors.Is(err, gnu.ErrDirectory), errors.Is(err, gnu.ErrSpecial):
		return fail("Warning: '%s' %v", file, err)
	case err != nil:
		return fail("%s: %v", file, err)
	}
	if err := t.answer(ctx, s, addresses); err != nil {
		return unwritten(err)
	}
	return t.status
}

// operands returns the file and the addresses of symbolize. The file is that of -e, or the first argument if it can be one, or a.out.
func (t *gnuTool) operands(args []string) (file string, addresses []string) {
	if t.options.File != "" {
		file, _ = fileOf(t.symbols, []string{t.options.File})
		return file, args
	}
	const longest = 16 // digits of an address
	if len(args) > 0 {
		first := args[0]
		if _, missing := os.Stat(first); missing == nil || strings.Contains(first, "@") || len(first) > longest && isBuildID(first) {
			return fileOf(t.symbols, args)
		}
	}
	return defaultFile, args
}

// answer writes the answers to the addresses, or to those of standard input.
func (t *gnuTool) answer(ctx context.Context, s *gnu.Symbolizer, addresses []string) error {
	wrong := func(err error) {
		complain("%v", err)
		t.status = cli.Failed
	}
	if len(addresses) == 0 {
		return batch.Run(ctx, s, batch.Options{In: os.Stdin, Out: os.Stdout, Wrong: wrong})
	}
	var out []byte
	for _, a := range addresses {
		var err error
		if out, err = s.Answer(ctx, out, []byte(a)); err != nil {
			wrong(err)
		}
	}
	_, err := os.Stdout.Write(out)
	return err
}

// isTarget reports whether addr2line knows a format of object files. Which one it is has no effect: a file says that itself.
func isTarget(name string) bool {
	return strings.HasPrefix(name, "elf") || strings.HasPrefix(name, "pe") || slices.Contains([]string{"default", "binary", "ihex", "srec",
		"symbolsrec", "verilog", "tekhex", "plugin", "pdb"}, name)
}

// demanglingStyles are the values of --demangle.
var demanglingStyles = []string{"", "none", "auto", "gnu-v3", "java", "gnat", "dlang", "rust"}

// flags returns the flags of addr2line.
func (t *gnuTool) flags() *toolFlags {
	o := &t.options
	on := func(to *bool) func(string) error { return func(string) error { *to = true; return nil } }
	none := func(string) error { return nil }
	own := flag.NewFlagSet("", flag.ContinueOnError)
	chainFlags(own, t.symbols)
	f := newToolFlags([]toolFlag{
		{"a addresses", "", "Show addresses", on(&o.Addresses)},
		{"b target", "bfdname", "Set the binary file format", func(v string) error { t.target = v; return nil }},
		{"e exe", "executable", "Set the input file name (default is a.out)", func(v string) error { o.File = v; return nil }},
		{"i inlines", "", "Unwind inlined functions", on(&o.Inlines)},
		{"j section", "name", "Read section-relative offsets instead of addresses", func(v string) error { o.Section = v; return nil }},
		{"p pretty-print", "", "Make the output easier to read for humans", on(&o.Pretty)},
		{"s basenames", "", "Strip directory names", on(&o.Basenames)},
		{"f functions", "", "Show function names", on(&o.Functions)},
		{"C demangle", "?style", "Demangle function names", func(style string) error {
			if !slices.Contains(demanglingStyles, style) {
				return fmt.Errorf("unknown demangling style `%s'", style)
			}
			o.Demangle = style != "none"
			return nil
		}},
		{"R recurse-limit recursion-limit", "", "No effect: names have a limit", none},
		{"r no-recurse-limit no-recursion-limit", "", "No effect: names have a limit", none},
		{"h H help", "", "Display this information", on(&t.help)},
		{"v V version", "", "Display the program's version", on(&t.version)},
	}, own)
	f.shortened = true
	return f
}
