package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/symbolize/atos"
	"qss-filter/symsrc/symbolize/batch"
)

// atosTool is this program in place of atos of macOS.
type atosTool struct {
	options atos.Options
	symbols *chain.Options
	name    string // as it was started
	file    string // with addresses
	help    bool
}

// errProcess is the error of a flag of atos for running processes.
var errProcess = errors.New("a running process is not looked at: name its file with -o, and where it is loaded with -l")

// errTextExec is the error of a flag of atos for kernels, where code may be moved more than the image.
var errTextExec = errors.New("where __TEXT_EXEC is loaded does not say where the image is: say that with -l, or with -s how far it is moved")

// runAtos does what atos does with the arguments.
func runAtos(args []string) (status int) {
	t := &atosTool{symbols: newSymbols(), name: os.Args[0], options: atos.Options{Delimiter: "\n"}}
	flags := t.flags()
	addresses, err := flags.parse(args)
	usage := "Usage: " + t.name + " -o FILE [-arch ARCH] [-l LOADADDRESS] [ADDRESS ...]\n" +
		"  Names addresses of a Mach-O file. Without an ADDRESS they are read from standard input.\n" + flags.help()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", t.name, err, usage)
		return cli.Failed
	case t.help:
		fmt.Print(usage)
		return cli.OK
	case t.options.File == "":
		fmt.Fprintf(os.Stderr, "%s: no file: -o names it\n%s", t.name, usage)
		return cli.Failed
	}
	return t.run(addresses)
}

// run answers the addresses, or those of a file or of standard input.
func (t *atosTool) run(addresses []string) (status int) {
	fail := func(err error) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", t.name, err)
		return cli.Failed
	}
	t.symbols.Servers.Programs = true
	source, end, err := t.symbols.Source()
	if err != nil {
		return fail(named(err))
	}
	defer end()
	t.options.Symbols = source
	s, err := atos.New(context.Background(), t.options)
	if err != nil {
		return fail(err)
	}
	var in io.Reader = os.Stdin
	switch {
	case t.file != "":
		f, err := os.Open(t.file)
		if err != nil {
			return fail(err)
		}
		defer f.Close()
		in = f
	case len(addresses) > 0:
		in = strings.NewReader(strings.Join(addresses, "\n"))
	}
	status = cli.OK
	wrong := func(err error) { status = fail(err) }
	if err := batch.Run(context.Background(), s, batch.Options{In: in, Out: os.Stdout, Wrong: wrong}); err != nil {
		return unwritten(err)
	}
	return status
}

// flags returns the flags of atos.
func (t *atosTool) flags() *toolFlags {
	o := &t.options
	load := func(place atos.Place) func(string) error {
		return func(value string) (err error) {
			o.Place = place
			if o.Load, err = strconv.ParseUint(strings.TrimPrefix(strings.ToLower(value), "0x"), 16, 64); err != nil {
				return fmt.Errorf("not an address: %s", value)
			}
			return nil
		}
	}
	own := flag.NewFlagSet("", flag.ContinueOnError)
	chainFlags(own, t.symbols)
	return newToolFlags([]toolFlag{
		{"o", "file", "The program, the library, or the dSYM", func(v string) error { o.File = v; return nil }},
		{"arch", "architecture", "The architecture, of a file of several", func(v string) error { o.Arch = v; return nil }},
		{"l loadAddress", "address", "Where the image is loaded", load(atos.Loaded)},
		{"textExecAddress", "address", "Not possible here", func(string) error { return errTextExec }},
		{"s slide", "slide", "What is added to the addresses of the file", load(atos.Slid)},
		{"offset", "", "Addresses count from where the image begins", func(string) error { o.Place = atos.Offsets; return nil }},
		{"f file", "file", "A file with addresses", func(v string) error { t.file = v; return nil }},
		{"i inlineFrames", "", "Inlined functions, too", func(string) error { o.Inlines = true; return nil }},
		{"fullPath", "", "Whole paths of source files", func(string) error { o.FullPath = true; return nil }},
		{"d delimiter", "text", "What is between inlined functions; otherwise they have lines of their own", func(v string) error { o.Delimiter = v; return nil }},
		{"p", "process", "Not possible here", func(string) error { return errProcess }},
		{"v D printHeader", "", "No effect", func(string) error { return nil }},
		{"h help", "", "Display this help", func(string) error { t.help = true; return nil }},
	}, own)
}
