package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/symbolize/batch"
	"qss-filter/symsrc/symbolize/gnu"
)

// gnuTool is this program in place of addr2line.
type gnuTool struct {
	options       gnu.Options
	symbols       *chain.Options
	target        string
	help, version bool
}

// gnuVersion is the version of binutils whose output this program has.
const gnuVersion = "2.40"

// runGNU does what addr2line does with the arguments.
func runGNU(args []string) (status int) {
	t := &gnuTool{symbols: newSymbols(), options: gnu.Options{File: "a.out"}}
	flags := t.flags()
	rest, err := flags.parse(responses(args, 0))
	usage := "Usage: addr2line [option(s)] [addr(s)]\n Convert addresses into line number/file name pairs.\n" +
		" If no addresses are specified on the command line, they will be read from stdin\n The options are:\n" +
		"  @<file>                                  Read options from <file>\n" + flags.help()
	if unknown, ok := errors.AsType[errUnknownFlag](err); ok {
		fmt.Fprintf(os.Stderr, "%s: unrecognized option '%s'\n%s", os.Args[0], string(unknown), usage)
		return cli.Failed
	}
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
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

// run answers the addresses, or those of standard input.
func (t *gnuTool) run(addresses []string) (status int) {
	fail := func(format string, args ...any) int {
		fmt.Fprintf(os.Stderr, os.Args[0]+": "+format+"\n", args...)
		return cli.Failed
	}
	if t.target != "" && !isTarget(t.target) {
		return fail("%s: invalid bfd target", t.options.File)
	}
	source, end, err := t.symbols.Source()
	if err != nil {
		return fail("%v", named(err))
	}
	defer end()
	t.options.Symbols = source
	ctx := context.Background()
	s, err := gnu.New(ctx, t.options)
	switch {
	case errors.Is(err, gnu.ErrNotFound):
		return fail("'%s': No such file", t.options.File)
	case errors.Is(err, gnu.ErrDirectory), errors.Is(err, gnu.ErrSpecial):
		return fail("Warning: '%s' %v", t.options.File, err)
	case err != nil:
		return fail("%s: %v", t.options.File, err)
	}
	if len(addresses) > 0 {
		var out []byte
		for _, a := range addresses {
			out, _ = s.Answer(ctx, out, []byte(a)) // which has no error
		}
		return written(out)
	}
	if err := batch.Run(ctx, s, batch.Options{In: os.Stdin, Out: os.Stdout}); err != nil {
		return unwritten(err)
	}
	return cli.OK
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
		{"R recurse-limit", "", "No effect: names have a limit", none},
		{"r no-recurse-limit", "", "No effect: names have a limit", none},
		{"h H help", "", "Display this information", on(&t.help)},
		{"v V version", "", "Display the program's version", on(&t.version)},
	}, own)
	f.shortened = true
	return f
}
