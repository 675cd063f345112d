package command

import (
	"errors"
	"slices"
	"strings"

	"qss-filter/filter/command/cli"
	"qss-filter/symsrc"
)

// optionFlags are the flags that set the options which errors speak of.
var optionFlags = map[string]string{
	"filter.Maps": "maps", "filter.DumpContext": "dump-context",
	"importer.Kind": "from-kind", "importer.Offsets": "offsets", "importer.Pprof": "pprof", "importer.Folded": "folded",
	"worker.Key": "key", "worker.Out": "out", "worker.Partitions": "partitions", "worker.Stream": "stream", "worker.Durable": "durable",
	"worker.OutStream": "out-stream", "worker.Filters": "filters", "worker.Replicas": "replicas", "worker.Parallel": "workers-per-host",
	"worker.Idle": "idle", "worker.Subject": "subject", "worker.URLs": "nats", "worker.Certificate": "nats-cert", "worker.Connection.Key": "nats-key",
	"batch.Input": "input-dir", "batch.Output": "output-dir", "batch.Report": "report", "batch.HTML": "html", "batch.SummaryJSON": "summary-json",
	"chain.Package":  "dwp",
	"locate.Symbols": "symbols", "locate.BuildIDDirs": "build-id-dir", "locate.DebugRoots": "debug-root", "locate.BreakpadDirs": "breakpad-dir",
	"locate.Rootfs": "rootfs", "locate.IDsTxt": "ids-txt", "locate.Objects": "obj",
	"addr2line.GNU": "gnu", "addr2line.LLVM": "llvm", "addr2line.Path": "addr2line",
}

// optionAdvice is what flags do about errors that other options avoid.
var optionAdvice = map[string]string{
	"batch.Follow":    "--follow reads it",
	"importer.Kind":   "--from-kind names the kind",
	"worker.Durable":  "--durable gives another one",
	"cache.Dir":       "--cache-dir takes another directory, --no-cache none",
	"debuginfod.Wait": "--debuginfod-timeout",
	"addr2line.Path":  "--addr2line PROGRAM names another",
}

// named returns an error with the flag's name in the place of the option's, as `--flag VALUE: reason`, and what other flags do about
// it.
func named(err error) error {
	if wrong, ok := err.(*cli.Misuse); ok {
		return &cli.Misuse{Err: named(wrong.Err)}
	}
	if all := joined(err); all != nil {
		for i, one := range all {
			all[i] = named(one)
		}
		return errors.Join(all...)
	}
	text := err.Error()
	if wrong, ok := errors.AsType[*symsrc.OptionError](err); ok && optionFlags[wrong.Option] != "" {
		flag := "--" + optionFlags[wrong.Option]
		if wrong.Value != "" {
			flag += " " + wrong.Value
		}
		text = strings.Replace(text, wrong.Error(), flag+": "+wrong.Err.Error(), 1)
	}
	if avoidable, ok := errors.AsType[*symsrc.AvoidableError](err); ok && optionAdvice[avoidable.Option] != "" {
		text += " (" + optionAdvice[avoidable.Option] + ")"
	}
	if text == err.Error() {
		return err
	}
	return &namedError{text, err}
}

// joined returns the errors of errors.Join, nil for any other error.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	all := slices.Clone(several.Unwrap())
	if errors.Join(all...).Error() != err.Error() {
		return nil // which has words of its own
	}
	return all
}

// namedError is an error whose text names a flag.
type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }
func (e *namedError) Unwrap() error { return e.err }
