package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/command/cli"
	"qss-filter/filter/tree"
	"qss-filter/symsrc"
)

// treeCommand is `qss-filter tree DIR --output OUT`.
func treeCommand(fs *cli.Flags) cli.Run {
	c := newConfig(fs)
	c.timed()
	var summary, onlyStacks bool
	symbolFlags(fs, c.symbols, with(programFlags, &c.symbols.Programs), with(sourceFlags, &c.symbols.Sources), with(javaFlags, c.symbols))
	fs.Register(with(treeFlags, &c.tree), with(seedFlags, &c.tree), with(addressFlags, &c.options), func(set *flag.FlagSet) { shapeFlags(set, &c.options, &c.symbols.Sources) }, with(mapsFlags, &c.extras), func(set *flag.FlagSet) {
		action(set, "d", "demangle, as is the default", func() {})
	})
	fs.Hide(append(seedTreeFlags, "d", coreFlag, oldFollow, "source-root")...)
	fs.Repeated("path-map", "include", "exclude")
	fs.Optional("source", around)
	c.namesFlag(fs)
	c.ownFlags(fs)
	fs.Bool(&onlyStacks, "only-stacks", "write only the stacks of each log, numbered")
	fs.Bool(&summary, "json", "print the summary as JSON")
	c.plainFlags(fs)
	fs.Needs(programs, "c")
	fs.Excludes([]string{"frames=append"}, "source")
	return func() (int, error) {
		if err := errors.Join(c.inTree(onlyStacks), c.checkScope()); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		o, end, err := c.filterOptions(false)
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		if c.tree.Report == "" {
			c.tree.Report = c.tree.Output
		}
		c.completeReport()
		if summary {
			c.tree.SummaryJSON = "-"
		}
		found, err := newFound("off", c.style.findings, o.Names, os.Stderr)
		if err != nil {
			return cli.Usage, err
		}
		c.tree.Sources = c.symbols.Texts()
		c.tree.Filter, c.tree.Terminal, c.tree.Quiet = o, isTerminal(os.Stderr), c.style.quiet
		var failed atomic.Bool
		if failing := c.failing(); failing != nil {
			c.tree.Nameless = func(m symsrc.Module) {
				if failing(m) {
					failed.Store(true)
				}
			}
		}
		if c.tree.New, err = c.extras.Preloaded(); err != nil {
			return cli.Usage, err
		}
		if another := c.tree.New; found != nil {
			c.tree.New = func(o filter.Options) *filter.Filter {
				found.use(&o)
				return another(o)
			}
		}
		status, err := c.each(func(ctx context.Context) error { return tree.Run(ctx, c.tree) })
		if found != nil {
			if failed := found.close(); failed != nil && err == nil {
				status, err = max(status, cli.Failed), failed
			}
		}
		if status == cli.OK && err == nil && failed.Load() {
			status = exitUnresolved
		}
		return status, err
	}
}

// plainFlags adds the flags of the output of commands that read whole logs.
func (c *config) plainFlags(fs *cli.Flags) {
	c.colorFlag(fs, "color messages `WHEN`: auto, always, never")
	fs.Bool(&c.style.quiet, "quiet", "write no warnings")
}

// colorFlag adds the flag for colors.
func (c *config) colorFlag(fs *cli.Flags, usage string) {
	fs.String(&c.style.color, "color", "auto", usage)
	fs.Words("color", colorWords...)
	fs.Optional("color", "always")
}

// inTree completes the options of a tree of logs.
func (c *config) inTree(onlyStacks bool) error {
	if err := c.check(); err != nil {
		return err
	}
	if c.tree.Input != "" && !c.flags.Has("frames") { // in QSS's form
		c.tree.Form = tree.Append
	}
	switch args := c.flags.Args(); {
	case len(args) > 1:
		return fmt.Errorf("%s: want one directory of logs; --output DIR names where they are written with names", args[1])
	case c.tree.Input == "" && len(args) == 0:
		return errors.New("want the directory of the logs")
	case c.tree.Input == "":
		c.tree.Input, c.tree.Mirror = args[0], true
		if c.tree.Mode = tree.Rewrite; onlyStacks {
			c.tree.Mode = tree.StackOnly
		}
	case len(args) > 0:
		return errors.New("--input-dir: " + args[0] + " names the logs, too")
	}
	if c.tree.Output == "" {
		return errors.New("want --output DIR, where the logs are written with names")
	}
	return nil
}

// completeReport adds to a report the groups of stacks and the page that shows them.
func (c *config) completeReport() {
	o := &c.tree
	o.Group, o.HTML, o.Stdout, o.Own = true, filepath.Join(o.Report, "stacks.html"), os.Stdout, c.options.Names.Own
	o.Written = time.Now()
}

// each runs what reads several logs until a signal asks for the end.
func (c *config) each(run func(context.Context) error) (status int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c.tree.Stderr, c.tree.Named, c.tree.Prefix = os.Stderr, named, messages.Load().Quiet("qss-filter:")
	err = run(ctx)
	_, wrong := errors.AsType[*symsrc.OptionError](err)
	switch {
	case err == nil:
		return cli.OK, nil
	case wrong:
		return cli.Usage, err
	case errors.Is(err, context.Canceled): // reported already
		return exitInterrupted, nil
	case errors.Is(err, tree.ErrUnread):
		return cli.Failed, nil
	}
	return inputStatus(err), err
}

// modulesCommand is `qss-filter modules LOG…`.
func modulesCommand(fs *cli.Flags) cli.Run {
	c := newConfig(fs)
	c.timed()
	symbolFlags(fs, c.symbols)
	fs.Register(with(addressFlags, &c.options), func(set *flag.FlagSet) {
		set.BoolVar(&c.tree.Check, "check", false, "add the file that is found, its build ID, and MISMATCH")
		set.BoolVar(&c.tree.JSON, "json", false, "print JSON")
		set.BoolVar(&c.tree.Follow, "follow-links", false, "follow symbolic links out of directories, and to directories")
		set.BoolVar(&c.tree.Follow, oldFollow, false, "the same as --follow-links")
		set.Var((*jobs)(&c.tree.Jobs), "jobs", "read `NUMBER` logs at once; auto is one for each core")
	})
	fs.Hide(oldFollow)
	c.plainFlags(fs)
	return func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		o, end, err := c.filterOptions(false)
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		c.tree.Filter, c.tree.Stdout = o, os.Stdout
		return c.each(func(ctx context.Context) error { return tree.Modules(ctx, c.inputs, c.tree) })
	}
}

// seedForm puts the name of a command before arguments in the form of QSS, which begin with flags: --input-dir is the command tree.
func seedForm(args []string) []string {
	if len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return args
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if arg == "--input-dir" || strings.HasPrefix(arg, "--input-dir=") {
			return append([]string{"tree"}, slices.Clone(args)...)
		}
	}
	return args
}
