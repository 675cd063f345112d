package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/mattn/go-isatty"

	"qss-filter/filter/batch"
	"qss-filter/symsrc"
)

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// complain writes a diagnostic, whose names a terminal must not obey. There is nobody left to tell when that fails.
func complain(format string, args ...any) {
	text := "qss-filter: " + symsrc.VisibleLines(fmt.Sprintf(format, args...)) + "\n"
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
