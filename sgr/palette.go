package sgr

import (
	"fmt"
	"strings"

	"github.com/fatih/color"
)

// Palette holds our own colours: the sequences that begin a piece of text, and Off, which ends every one. Off resets the
// log's own colours too; whoever writes it appends the log's State behind it. Without colour all are empty.
type Palette struct {
	// Func is for functions, Inlined for those that are inlined into another one, File for paths with line and column.
	Func, Inlined, File string
	// Quiet is for what of a frame nobody reads first: addresses, modules, frames without a name. Note is for why a frame has
	// no name, and Mark for the number of the line of source code that a frame stands at.
	Quiet, Note, Mark string
	// Off is ESC[0m.
	Off string
}

// NewPalette returns the colours, or a Palette without any. What counts most is bold in the terminal's own colour, what counts
// least is dim. The two colours beside that are of the fixed 256, since no colour of the sixteen that themes define is legible on
// every dark and every light one: a blue and an orange of medium lightness, which the colour-blind tell apart, too. Nothing is told
// by colour alone.
func NewPalette(on bool) *Palette {
	if !on {
		return &Palette{}
	}
	return &Palette{
		Func:    opening(color.Bold),
		Inlined: opening(color.Bold),
		File:    opening(fixed, fixed256, blue),
		Quiet:   opening(color.Faint),
		Note:    opening(fixed, fixed256, orange),
		Mark:    opening(color.Bold),
		Off:     "\x1b[0m",
	}
}

// ESC[38;5;n m is colour n of xterm's 256.
const (
	fixed    color.Attribute = 38
	fixed256 color.Attribute = 5
	blue     color.Attribute = 32  // #0087d7
	orange   color.Attribute = 166 // #d75f00
)

// Parse changes the colours that text names, as GREP_COLORS and LS_COLORS do: `func=1;34:file=36:quiet=`. A name stands for a
// field of the Palette in small letters, a value for the parameters of ESC[…m; an empty one is no colour. Where anything of
// text is wrong nothing is changed.
func (p *Palette) Parse(text string) error {
	changed := *p
	fields := map[string]*string{"func": &changed.Func, "inlined": &changed.Inlined, "file": &changed.File, "quiet": &changed.Quiet,
		"note": &changed.Note, "mark": &changed.Mark}
	for item := range strings.SplitSeq(text, ":") {
		if item == "" {
			continue
		}
		name, value, ok := strings.Cut(item, "=")
		field := fields[name]
		switch {
		case !ok || field == nil:
			return fmt.Errorf("%q: want func=, inlined=, file=, quiet=, note= or mark=", item)
		case strings.Trim(value, "0123456789;") != "":
			return fmt.Errorf("%q: want numbers as in 1;34", item)
		case value == "":
			*field = ""
			continue
		}
		*field = "\x1b[" + value + "m"
	}
	*p = changed
	return nil
}

// opening returns the sequence that turns attributes on. fatih/color ends what it prints with a reset of its own, which
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
