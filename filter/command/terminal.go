package command

import (
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"

	"qss-filter/symsrc"
)

func isTerminal(f *os.File) bool { return isatty.IsTerminal(f.Fd()) }

// complain writes a diagnostic, whose names a terminal must not obey. There is nobody left to tell when that fails.
func complain(format string, args ...any) {
	_, _ = io.WriteString(os.Stderr, "qss-filter: "+symsrc.VisibleLines(fmt.Sprintf(format, args...))+"\n")
}

func warn(message string) { complain("%s", message) }
