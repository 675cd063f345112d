package command

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"syscall"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/importer"
	"qss-filter/filter/record"
	"qss-filter/symsrc/cache"
)

// importCommand is `qss-filter import INPUT`.
func importCommand(fs *cli.Flags) cli.Run {
	var o importer.Options
	s := newSymbols()
	s.Cache.Off = true
	fs.Group("Traces and samples")
	fs.Register(with(importFlags, &o), func(fs *flag.FlagSet) {
		fs.Var(byFlag{by: &o.By}, "by", "`WHAT` samples are counted by: function, address, line, module")
	})
	fs.Words("from-kind", importer.Kinds...)
	fs.Words("by", "function", "address", "line", "module")
	fs.Excludes([]string{"offsets"}, samplesBy...)
	symbolFlags(fs, s)
	return func() (int, error) {
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		o.Symbols, o.Warn, o.Trust = source, warn, trustFiles
		if err := o.Creatable(); err != nil {
			return cli.Usage, err
		}
		return untilSignal(func(ctx context.Context) int { return importInput(ctx, fs.Args()[0], o) }), nil
	}
}

// importInput prints the lines of an input.
func importInput(ctx context.Context, path string, o importer.Options) (status int) {
	set, end := progressOf(path, o.By != importer.ByNothing)
	defer end()
	o.Progress = set
	in, err := importer.Detect(path, o)
	if err == nil {
		err = in.Lines(ctx, os.Stdout)
	}
	if ctx.Err() != nil {
		return cli.Failed // which is said by the status alone
	}
	end()
	return complainAll(err)
}

// complainAll reports each problem of an import.
func complainAll(err error) (status int) {
	for _, problem := range importer.Problems(err) {
		complain("%v", named(problem))
		status = cli.Failed
	}
	return status
}

// schemaCommand is `qss-filter schema`.
func schemaCommand(*cli.Flags) cli.Run {
	return func() (int, error) {
		if _, err := io.WriteString(os.Stdout, record.Schema); err != nil {
			return unwritten(err), nil
		}
		return cli.OK, nil
	}
}

// cacheCommand is `qss-filter cache stats|clear|path|serve`.
func cacheCommand(fs *cli.Flags) cli.Run {
	o := &newSymbols().Cache
	fs.Group("Cache")
	fs.Register(with(cacheFlags, o))
	return func() (int, error) {
		ctx, stop := context.Background(), func() {}
		if fs.Args()[0] == "serve" {
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
		}
		defer stop()
		err := o.Command(ctx, fs.Args()[0], os.Stdout)
		served, ok := errors.AsType[*cache.ServeError](err)
		switch {
		case err == nil:
			return cli.OK, nil
		case errors.Is(err, cache.ErrCommand):
			return cli.Usage, &cli.Misuse{Err: err}
		case ok: // the filter that has started this process reads the status
			return served.Status, err
		}
		return cli.Failed, err
	}
}
