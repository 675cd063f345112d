package command

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"syscall"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/worker"
	"qss-filter/symsrc"
)

// workerCommand is `qss-filter worker`.
func workerCommand(fs *cli.Flags) cli.Run {
	c := newConfig(fs)
	o := worker.Options{Connection: worker.Connection{Stderr: os.Stderr}}
	fs.Group("Fleet")
	fs.Register(with(workerFlags, &o))
	symbolFlags(fs, c.symbols, with(programFlags, &c.symbols.Programs), with(sourceFlags, &c.symbols.Sources), with(javaFlags, c.symbols))
	fs.Register(func(set *flag.FlagSet) { filterFlags(set, &c.options, &c.symbols.Sources) }, c.format.register)
	c.styleFlags(fs)
	streamRules(fs)
	return logged(&o.Connection, func() (int, error) {
		if err := c.check(); err != nil {
			return cli.Usage, &cli.Misuse{Err: err}
		}
		c.hurryServers() // lines must be acknowledged in time; what is on this machine is waited for, since no one runs the worker again for a frame
		filters, end, err := c.filterOptions(false)
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		filters.Palette = c.palette()
		o.Filter = filters
		return fleet(func(ctx context.Context) error { return worker.Run(ctx, o) }, os.Interrupt, syscall.SIGTERM)
	})
}

// publishCommand is `qss-filter publish`.
func publishCommand(fs *cli.Flags) cli.Run {
	o := worker.PublishOptions{Stdin: os.Stdin, Connection: worker.Connection{Stderr: os.Stderr}}
	fs.Register(with(publishFlags, &o))
	return logged(&o.Connection, func() (int, error) {
		if names := fs.Args(); len(names) > 0 && names[0] != "-" {
			log, err := os.Open(names[0])
			if err != nil {
				return cli.Usage, err
			}
			defer log.Close()
			o.Stdin = log
			return fleet(func(ctx context.Context) error { return worker.Publish(ctx, o) }, os.Interrupt, syscall.SIGTERM)
		}
		if isTerminal(os.Stdin) {
			return fleet(func(ctx context.Context) error { return worker.Publish(ctx, o) }, os.Interrupt, syscall.SIGTERM)
		}
		asked, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		defer drain()()
		o.Asked = asked.Done()
		return fleet(func(ctx context.Context) error { return worker.Publish(ctx, o) }, syscall.SIGTERM)
	})
}

// logged writes the error that ends a command to its log, if that is JSON.
func logged(c *worker.Connection, run cli.Run) cli.Run {
	return func() (status int, err error) {
		status, err = run()
		if err != nil && c.LogJSON {
			c.Tell(named(err))
			err = nil
		}
		return status, err
	}
}

// fleet runs a worker or publisher until a signal asks for its end; a second signal ends the program immediately.
func fleet(run func(context.Context) error, signals ...os.Signal) (status int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	context.AfterFunc(ctx, stop)
	err = run(ctx)
	if _, wrong := errors.AsType[*symsrc.OptionError](err); wrong {
		return cli.Usage, &cli.Misuse{Err: err}
	} else if err != nil {
		return cli.Failed, err
	}
	return cli.OK, nil
}
