package command

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/mattn/go-isatty"

	"qss-filter/filter/batch"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// messages colors what goes to standard error.
var messages atomic.Pointer[sgr.Theme]

// theme returns the colors of the program's own messages on out: none where that is no terminal. mode is the value of --color.
func theme(out *os.File, mode string) *sgr.Theme {
	return sgr.NewTheme(isTerminal(out) && colored(out, mode))
}

// colored reports whether colors are written to out, by the value of --color and the environment.
func colored(out *os.File, mode string) bool {
	force := cmp.Or(os.Getenv("FORCE_COLOR"), os.Getenv("CLICOLOR_FORCE"))
	return sgr.Enabled(mode, os.Getenv("NO_COLOR"), force, os.Getenv("TERM"), isTerminal(out))
}

// colorOf returns the value of --color in a command line that is not read yet, and may be wrong.
func colorOf(args []string) (mode string) {
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if value, ok := strings.CutPrefix(arg, "--color="); ok {
			mode = value
		}
	}
	return mode
}

// complain writes a diagnostic, whose names a terminal must not obey. Where that fails, nothing can be said.
func complain(format string, args ...any) {
	text := messages.Load().Alert("qss-filter:") + " " + symsrc.VisibleLines(fmt.Sprintf(format, args...)) + "\n"
	if bar := shown.Load(); bar != nil {
		if _, err := io.WriteString(bar, text); err == nil {
			return
		}
	}
	_, _ = io.WriteString(os.Stderr, text)
}

// shown is the bar that standard error shows, above which diagnostics go.
var shown atomic.Pointer[batch.Bar]

// progressOf shows how much of an input was read on a bar, from the first call of set to that of end: where standard error is
// a terminal, and the lines that are written meanwhile do not go to one, too. Otherwise set is nil. A quiet input has no such
// lines.
func progressOf(input string, quiet bool) (set func(done, total int64), end func()) {
	if !isTerminal(os.Stderr) || isTerminal(os.Stdout) && !quiet {
		return nil, func() {}
	}
	set = func(done, total int64) {
		if shown.Load() == nil {
			shown.Store(batch.NewBar(os.Stderr, symsrc.VisibleLines(filepath.Base(input))))
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

func warn(message string) { complain("%s", message) }
