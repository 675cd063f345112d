package command

import (
	"cmp"
	"os"
	"runtime"
	"slices"
	"strings"

	"qss-filter/filter/command/cli"
	"qss-filter/filter/print"
)

// screen returns how frames are written for the reader of a terminal. It is nil if standard output is no terminal, or if --frames asks
// for another form.
func (c *config) screen() *print.Screen {
	if !isTerminal(c.out) || c.style.llvm || c.flags.Has("frames") && !c.flags.Is("frames", "auto") {
		return nil
	}
	s := &print.Screen{Columns: cli.Columns(c.out), Note: "; --modules=show shows them", ASCII: !showsUnicode(), LongNames: c.flags.Has("names")}
	if work, err := os.Getwd(); err == nil && sourceRoot() != "" {
		s.Roots = slices.Compact([]string{work, sourceRoot()})
	}
	return s
}

// showsUnicode reports whether the terminal shows more than ASCII, by the variables that POSIX has for that.
func showsUnicode() bool {
	locale := strings.ToUpper(cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG")))
	return strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8") || runtime.GOOS == "windows"
}
