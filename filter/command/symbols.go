package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/child"
	"qss-filter/filter/command/cli"
	"qss-filter/filter/doctor"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
	"qss-filter/symsrc/chain"
	"qss-filter/symsrc/dumpsym"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/symbolize"
	"qss-filter/symsrc/symbolize/batch"
)

// symbolizeCommand is `qss-filter symbolize FILE [0xADDR…]`.
func symbolizeCommand(fs *cli.Flags) cli.Run {
	var o symbolize.Options
	s := newSymbols()
	s.NoAnswers, s.Servers.Programs = true, true
	fs.Register(with(symbolizeFlags, &o))
	symbolFlags(fs, s)
	return func() (int, error) {
		file, addresses := fileOf(s, fs.Args())
		if len(addresses) == 0 && isTerminal(os.Stdin) {
			warn("reading addresses from standard input, which is the keyboard; Ctrl-D ends it")
		}
		warnOfOthers(s, file)
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		o.NoLines = warnNoLines
		z, err := symbolize.New(context.Background(), file, source, o)
		if err == nil {
			err = z.Run(context.Background(), addresses, os.Stdin, os.Stdout)
		}
		if err != nil {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}

// fileOf returns the file, or the build ID, that is the first of the arguments of symbolize, and its addresses. It is "" for a directory, which
// is searched for symbols, and for an address that names its file.
func fileOf(s *chain.Options, args []string) (file string, addresses []string) {
	file = args[0]
	path := batch.Module(file, "").Name
	st, missing := os.Stat(path)
	switch {
	case missing == nil && st.IsDir():
		s.Files.Symbols = append(s.Files.Symbols, file)
		return "", args[1:]
	case missing != nil && strings.Contains(file, "@"):
		return "", args
	case missing == nil || !isBuildID(file):
		s.Files.Arguments = []string{asWritten(file, path)}
	}
	return file, args[1:]
}

// asWritten returns the path of a file that an argument names, as messages have it: as it was written, if the argument is a path.
func asWritten(argument, path string) string {
	if same, err := filepath.Abs(argument); err == nil && same == path {
		return argument
	}
	return path
}

// warnNoLines says why the lines of a file are unknown.
func warnNoLines(title string) {
	warn(title + " has no debug information, so that lines are unknown: --symbols DIR or DEBUGINFOD_URLS says where its debug file is")
}

// warnOfOthers leaves out warnings about a file: the error of the command says what is wrong with it.
func warnOfOthers(s *chain.Options, file string) {
	all := s.Warn
	s.Warn = func(err error) {
		if !strings.HasPrefix(err.Error(), file+": ") {
			all(err)
		}
	}
}

// isBuildID reports whether an argument that is no file is a build ID.
func isBuildID(text string) bool {
	id, ok := symsrc.ParseUUID(text)
	return ok && len(id) >= 4
}

// whereCommand is `qss-filter where BUILDID|FILE`.
func whereCommand(fs *cli.Flags) cli.Run {
	o := symbolize.WhereOptions{FileID: locate.FileID}
	s := newSymbols()
	s.Servers.Programs = true
	fs.Bool(&o.JSON, "json", "print JSON")
	symbolFlags(fs, s)
	return func() (int, error) {
		scripts := s.Scripts()
		finder, end, err := s.Finder()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		o.Finder, o.WithPrefix, o.States = scripts.Finder(finder), s.WithPrefix, s.ServerStates
		if found, err := o.Where(context.Background(), fs.Args()[0], os.Stdout); err != nil || !found {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}

// searchTime bounds how long doctor looks for files that no flag names.
const searchTime = 3 * time.Second

// doctorCommand is `qss-filter doctor LOG`, or `qss-filter doctor -- COMMAND`. Its status is cli.Failed if a frame has no name, or if there
// are no frames.
func doctorCommand(fs *cli.Flags) cli.Run {
	c := newConfig(fs)
	var asJSON bool
	symbolFlags(fs, c.symbols, with(programFlags, &c.symbols.Programs), with(javaFlags, c.symbols))
	fs.Register(with(addressFlags, &c.options), with(mapsFlags, &c.extras))
	fs.Hide(coreFlag)
	fs.Bool(&asJSON, "json", "print JSON")
	c.colorFlag(fs, "color the report `WHEN`: auto, always, never")
	fs.Needs(programs, "c")
	s := c.symbols
	return func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		if path := pathOf(os.Stdin); c.inputs[0] == "-" && path != "" && len(c.command) == 0 {
			c.inputs[0] = path
		}
		if c.inputs[0] == "-" && len(c.command) == 0 && isTerminal(os.Stdin) {
			warn("reading a log from standard input, which is the keyboard; Ctrl-D ends it")
		}
		c.followMaps(s)
		o := c.options
		o.Trust = howToTrust
		c.wholeFiles(&o)
		var finder symsrc.Finder
		s.Around = func(f symsrc.Finder) symsrc.Finder { finder = f; return f }
		var err error
		if o.Java, err = s.Java(context.Background()); err != nil {
			return cli.Usage, err
		}
		o.Scripts = s.Scripts()
		o.Board = s.Files.Board()
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		d := doctor.Options{Log: c.inputs[0], Argv: c.command, Search: searchTime, JSON: asJSON, Process: process, Finder: finder, Roots: len(s.Files.Rootfs) > 0, Servers: s.Servers.Servers(), States: s.ServerStates,
			ServersOff: s.Servers.Off, Cache: s.Cache.Check, Owner: doctor.Owner, Theme: theme(os.Stdout, c.style.color), Links: toolUses(),
			Flags: fs.Given(func(name string) bool { return name != "json" && name != "color" }), FileFlags: fs.Given(ofFiles()),
			New: func(j jsonl.Options) (*filter.Filter, func(), error) {
				o.Symbols, o.JSON = source, &j
				return c.extras.Open(o)
			}}
		if len(c.command) > 0 {
			d.Command = c.through(&o)
		}
		if c.inputs[0] == "-" && !isTerminal(os.Stdin) { // Ctrl-C ends what writes the log, and is followed by the report
			defer drain()()
		}
		healthy, err := doctor.Run(context.Background(), d, os.Stdout)
		switch {
		case err != nil:
			if _, wrong := errors.AsType[*symsrc.OptionError](err); wrong {
				return cli.Usage, err
			}
			return inputStatus(err), inputProblem(err)
		case !healthy:
			return cli.Failed, nil
		}
		return cli.OK, nil
	}
}

// through returns what runs the command and passes its output through a filter, which has the options o. The output is seen by the filter alone.
func (c *config) through(o *filter.Options) func(ctx context.Context, f *filter.Filter) error {
	ownMaps(o, c.child.Maps)
	return func(ctx context.Context, f *filter.Filter) error {
		nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer nothing.Close()
		run := c.child
		run.Argv, run.Warn, run.New = c.command, warn, f.Stream
		run.Stdin, run.Stdout, run.Stderr = os.Stdin, nothing, nothing // both are one stream
		_, err = child.Run(ctx, run)
		return err
	}
}

// ofFiles returns a function that reports whether a flag says where symbols are. Every command that looks for symbols has such flags.
func ofFiles() func(name string) bool {
	set := flag.NewFlagSet("", flag.ContinueOnError)
	chainFlags(set, newSymbols())
	return func(name string) bool { return set.Lookup(name) != nil || name == "no-config" }
}

// dumpSymCommand is `qss-filter dump-sym FILE`.
func dumpSymCommand(fs *cli.Flags) cli.Run {
	var o dumpsym.Options
	s := newSymbols()
	s.Cache.Off = true
	fs.Register(with(dumpFlags, &o))
	symbolFlags(fs, s)
	fs.Hide("no-cache", "cache-max") // it asks for no answers
	return func() (int, error) {
		m := batch.Module(fs.Args()[0], "")
		m.Name = asWritten(fs.Args()[0], m.Name)
		s.Files.Arguments = []string{m.Name}
		warnOfOthers(s, m.Name)
		finder, end, err := s.Finder()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		if err := dumpsym.Run(context.Background(), finder, m, o, os.Stdout); err != nil {
			return cli.Failed, err
		}
		return cli.OK, nil
	}
}
