package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/mattn/go-isatty"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/resolve"
	"qss-filter/filter/tree"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// messages has the colors of messages on standard error.
var messages atomic.Pointer[sgr.Theme]

// theme returns the colors of the program's own messages on out: none if out is not a terminal. mode is the value of --color.
func theme(out *os.File, mode string) *sgr.Theme {
	return sgr.NewTheme(isTerminal(out) && colored(out, mode))
}

// colored reports whether colors are written to out, by the value of --color and the environment.
func colored(out *os.File, mode string) bool {
	force := cmp.Or(os.Getenv("FORCE_COLOR"), os.Getenv("CLICOLOR_FORCE"))
	no := os.Getenv("NO_COLOR")
	if no == "" && force == "" && os.Getenv("CLICOLOR") == "0" {
		no = "CLICOLOR"
	}
	return sgr.Enabled(mode, no, force, os.Getenv("TERM"), isTerminal(out))
}

// colorWords are the values of --color.
var colorWords = []string{"auto", "always", "never"}

// colorOf returns the value of --color in a command line that is not parsed yet, and may be wrong.
func colorOf(args []string) (mode string) {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--color="); ok {
			mode = value
		} else if arg == "--color" && i+1 < len(args) && slices.Contains(colorWords, args[i+1]) {
			mode = args[i+1]
		}
	}
	return mode
}

// complain writes a diagnostic, without control characters. It ignores a failure to write.
func complain(format string, args ...any) {
	tell(messages.Load().Alert("qss-filter:"), format, args...)
}

// inform writes a diagnostic that is no error.
func inform(format string, args ...any) { tell(messages.Load().Quiet("qss-filter:"), format, args...) }

// tell writes a diagnostic after the program's name, whose color says whether it is an error.
func tell(name, format string, args ...any) {
	text := name + " " + symsrc.VisibleLines(fmt.Sprintf(format, args...)) + "\n"
	if bar := shown.Load(); bar != nil {
		if _, err := io.WriteString(bar, text); err == nil {
			return
		}
	}
	_, _ = io.WriteString(os.Stderr, text)
}

// shown is the progress bar on standard error; diagnostics are written above it.
var shown atomic.Pointer[tree.Bar]

// progressOf shows how much of an input was read on a progress bar, from the first call of set until end is called. set is nil, and
// there is no bar, unless standard error is a terminal and standard output is not. If quiet is set, no lines are written, so standard
// output may be a terminal.
func progressOf(input string, quiet bool) (set func(done, total int64), end func()) {
	if !isTerminal(os.Stderr) || isTerminal(os.Stdout) && !quiet {
		return nil, func() {}
	}
	set = func(done, total int64) {
		if shown.Load() == nil {
			shown.Store(tree.NewBar(os.Stderr, symsrc.VisibleLines(filepath.Base(input))))
		}
		shown.Load().Set(done, total)
	}
	end = func() {
		if bar := shown.Swap(nil); bar != nil {
			bar.End()
		}
	}
	return set, end
}

// quiet is set if no warnings are written.
var quiet atomic.Bool

// warn writes a warning, unless --quiet is given.
func warn(message string) {
	if !quiet.Load() {
		inform("%s", message)
	}
}

// optionFlags are the flags of the options that errors name.
var optionFlags = map[string]string{
	"filter.Maps": "maps", "javamap.Files": "mapping", "filter.DumpContext": "dump-context",
	"importer.Kind": "from-kind", "importer.Offsets": "offsets", "importer.Pprof": "pprof", "importer.Folded": "folded",
	"worker.Key": "key", "worker.Out": "out", "worker.Partitions": "partitions", "worker.Stream": "stream", "worker.Durable": "durable",
	"worker.OutStream": "out-stream", "worker.Filters": "filters", "worker.Replicas": "replicas", "worker.Parallel": "workers-per-host",
	"worker.Idle": "idle", "worker.Subject": "subject", "worker.URLs": "nats", "worker.Certificate": "nats-cert", "worker.Connection.Key": "nats-key",
	"tree.Output": "output", "tree.Report": "report", "tree.HTML": "report", "tree.SummaryJSON": "json",
	"tree.Include": "include", "tree.Exclude": "exclude",
	"chain.Package":  "dwp",
	"locate.Symbols": "symbols", "locate.IDsTxt": "symbols", "locate.BreakpadDirs": "symbols", "locate.BuildIDDirs": "debug-file-directory", "locate.DebugRoots": "debug-root",
	"locate.Rootfs": "rootfs", "locate.Objects": "obj",
	"addr2line.GNU": "backend", "addr2line.LLVM": "backend", "addr2line.Path": "backend",
}

// optionAdvice says which flags avoid errors.
var optionAdvice = map[string]string{
	"tree.Follow":     "--follow-links reads it",
	"tree.Verbose":    "--verbose lists them, --include=GLOB reads them",
	"importer.Kind":   "--from-kind names the kind",
	"worker.Durable":  "--durable sets another one",
	"cache.Dir":       "choose another with --cache-dir, or none with --no-cache",
	"debuginfod.Wait": "--debuginfod-timeout",
	"addr2line.Path":  "--backend=PROGRAM names another",
}

// named returns an error with the name of the flag instead of the option, as `--flag VALUE: reason`, and with advice about other
// flags.
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
	if wrong, ok := errors.AsType[*symsrc.OptionError](err); ok && wrong.Option == "tree.Input" { // an argument
		text = strings.Replace(text, wrong.Error(), wrong.Err.Error(), 1)
	} else if ok && optionFlags[wrong.Option] != "" {
		flag := "--" + optionFlags[wrong.Option]
		if wrong.Value != "" {
			flag += " " + wrong.Value
		}
		text = strings.Replace(text, wrong.Error(), flag+": "+wrong.Err.Error(), 1)
	}
	if missing, ok := errors.AsType[*fs.PathError](err); ok && missing.Op == "stat" { // how it was noticed is no matter
		text = strings.Replace(text, missing.Error(), (&fs.PathError{Op: "open", Path: missing.Path, Err: missing.Err}).Error(), 1)
	}
	if failed, ok := errors.AsType[*fs.PathError](err); ok && failed.Path == os.Stdout.Name() { // whatever that is
		text = "write standard output: " + failed.Err.Error()
	}
	if missing, ok := errors.AsType[*fs.PathError](err); ok && strings.HasPrefix(missing.Path, "~") {
		text += " (the shell expands ~ only at the start of a word: write a space in place of =)"
	}
	if avoidable, ok := errors.AsType[*symsrc.AvoidableError](err); ok && optionAdvice[avoidable.Option] != "" {
		text += " (" + optionAdvice[avoidable.Option] + ")"
	}
	if text == err.Error() {
		return err
	}
	return &namedError{text, err}
}

// inputStatus returns the status of an input that failed: cli.Usage if it cannot be opened, as for anything that the command line names
// and that cannot be used, and otherwise cli.Failed.
func inputStatus(err error) (status int) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || isDirectory(err) {
		return cli.Usage
	}
	return cli.Failed
}

// joined returns the errors of errors.Join, nil for any other error.
func joined(err error) []error {
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return nil
	}
	all := slices.Clone(several.Unwrap())
	if errors.Join(all...).Error() != err.Error() {
		return nil // it has its own text
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

// Advice for modules without names and for missing source files.
const (
	symbolsAdvice = "; pass --symbols DIR where its unstripped file is"
	sourceAdvice  = "; pass --path-map DIR or FROM=TO"
)

// frames returns a number of frames in words.
func frames(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}

// lacking begins a sentence about so many of all frames.
func lacking(n, all int) string {
	if n == 1 {
		return "1 of " + frames(all) + " has"
	}
	return fmt.Sprintf("%d of %s have", n, frames(all))
}

// writeSummary writes which modules' frames could not be resolved, and why, one module per line, and whether all source files are
// missing, or that all frames have names.
func writeSummary(w io.Writer, s resolve.Summary, a *advice, theme *sgr.Theme) error {
	var b strings.Builder
	const prefix = "qss-filter:"
	switch unnamed := s.Unnamed(); {
	case s.Frames == 0:
		fmt.Fprintf(&b, "%s no frames\n", theme.Quiet(prefix))
	case unnamed == 0 && len(s.Modules) == 0:
		fmt.Fprintf(&b, "%s all frames have names: %d\n", theme.Quiet(prefix), s.Frames)
	default:
		if unnamed == 0 {
			fmt.Fprintf(&b, "%s all frames have names: %d; some have no source line:\n", theme.Quiet(prefix), s.Frames)
		} else {
			fmt.Fprintf(&b, "%s %s no name:\n", theme.Quiet(prefix), lacking(unnamed, s.Frames))
		}
		for _, m := range s.Modules {
			of, advice := "", ""
			if m.Module != "" {
				of = theme.Strong(m.Module) + ": "
			}
			if m.Unstripped {
				advice = symbolsAdvice
			}
			fmt.Fprintf(&b, "%s %6d  %s%s%s\n", theme.Quiet(prefix), m.Frames, of, m.Reason, theme.Quiet(advice))
		}
		if s.Forgotten > 0 {
			fmt.Fprintf(&b, "%s %6d  of modules that came before: there were too many to list\n", theme.Quiet(prefix), s.Forgotten)
		}
		a.writeFound(&b, theme)
	}
	if s.NoSource != "" {
		fmt.Fprintf(&b, "%s none of the source files is there, the first is %s%s\n", theme.Quiet(prefix), theme.Strong(s.NoSource), theme.Quiet(sourceAdvice))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
