package sgr

import (
	"strings"

	"github.com/fatih/color"
)

// Palette holds our own colours: the sequences that begin a piece of text, and Off, which ends every one. Off resets the
// log's own colours too; whoever writes it appends the log's State behind it. Without colour all are empty.
type Palette struct {
	// Func, File (with line and column) and Note (why a frame has no name) are opening sequences.
	Func, File, Note string
	// Off is ESC[0m.
	Off string
}

// NewPalette returns the colours, or a Palette without any. They are legible on dark and on light terminals: no white,
// black, or plain yellow, and nothing is told by colour alone.
func NewPalette(on bool) *Palette {
	if !on {
		return &Palette{}
	}
	return &Palette{
		Func: opening(color.Bold, color.FgHiBlue),
		File: opening(color.FgCyan),
		Note: opening(color.FgMagenta),
		Off:  "\x1b[0m",
	}
}

// opening gives the sequence that turns attributes on. fatih/color ends what it prints with a reset of its own, which
// would take the log's colours away; so only what comes before the text is used.
func opening(attributes ...color.Attribute) string {
	c := color.New(attributes...)
	c.EnableColor() // whatever NO_COLOR says: the caller has decided
	const sentinel = "."
	before, _, _ := strings.Cut(c.Sprint(sentinel), sentinel)
	return before
}

// Enabled decides on colour. mode is that of --color: "always" and "never" win over everything. Otherwise noColor, the
// value of NO_COLOR, turns it off unless it is empty; then forceColor, the value of FORCE_COLOR or CLICOLOR_FORCE, turns it
// on unless it is empty or 0, in place of the test for a terminal: one that is not dumb by its TERM.
func Enabled(mode string, noColor, forceColor, term string, isTerminal bool) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	if noColor != "" {
		return false
	}
	if forceColor != "" && forceColor != "0" {
		return true
	}
	return isTerminal && term != "dumb"
}
