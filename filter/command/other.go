package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/importer"
	"qss-filter/filter/record"
	"qss-filter/symsrc/cache"
	"qss-filter/symsrc/object"
)

// importCommand is `qss-filter import INPUT`.
func importCommand(fs *cli.Flags) cli.Run {
	var o importer.Options
	s := newSymbols()
	s.NoAnswers = true
	fs.Group("Traces and samples")
	fs.Register(with(importFlags, &o))
	fs.Words("from-kind", importer.Kinds...)
	fs.Words("by", countedBy...)
	importRules(fs)
	symbolFlags(fs, s)
	return func() (int, error) {
		source, end, err := s.Source()
		if err != nil {
			return cli.Usage, err
		}
		defer end()
		o.Symbols, o.Warn, o.Trust = source, warn, howToTrust
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
		status = max(status, inputStatus(problem))
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
	fs.Register(with(cacheFlags, o))
	fs.Hide("cache-db")
	fs.Bool(&o.JSON, "json", "print JSON, of stats and path")
	return func() (int, error) {
		ctx, stop := context.Background(), func() {}
		switch {
		case o.JSON && fs.Args()[0] != "stats" && fs.Args()[0] != "path":
			return cli.Usage, &cli.Misuse{Err: errors.New("--json: only stats and path print something")}
		case fs.Args()[0] == "index":
			return writeIndex(fs.Args()[1:], o.Dir)
		case len(fs.Args()) > 1:
			return cli.Usage, &cli.Misuse{Err: fmt.Errorf("%q: want one word", fs.Args()[1:])}
		}
		if fs.Args()[0] == "serve" {
			ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			o.Brief = os.Getenv("CI") != "" // such machines wait for all processes, or count them as leaks
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

// indexLater starts a process that writes an index. No machine that runs tests for others spends time on one: it is thrown away before it
// is used.
func indexLater(self, dir string, j object.IndexJob) {
	job, err := json.Marshal(j)
	if err != nil || os.Getenv("CI") != "" {
		return
	}
	cmd, err := cache.Detach([]string{self, "cache", "index", "--cache-dir", dir, string(job)})
	if err == nil {
		go cmd.Wait() // an index that is missing makes the next run slower, and no answer wrong
	}
}

// indexDelay is how long the process waits that writes an index. Most runs of the filter are over by then and need the cores no more.
const indexDelay = 2 * time.Second

// writeIndex is `qss-filter cache index JOB`, which filters start themselves.
func writeIndex(args []string, dir string) (int, error) {
	var job object.IndexJob
	if len(args) != 1 {
		return cli.Usage, &cli.Misuse{Err: errJob}
	}
	if err := json.Unmarshal([]byte(args[0]), &job); err != nil {
		return cli.Usage, &cli.Misuse{Err: fmt.Errorf("%w: %w", errJob, err)}
	}
	cache.Background()
	time.Sleep(indexDelay)
	if err := job.Run(context.Background(), dir, cache.ProgramIdentity()); err != nil {
		return cli.Failed, err
	}
	return cli.OK, nil
}

var errJob = errors.New("want a job as JSON, as a filter passes it to the process that it starts")
