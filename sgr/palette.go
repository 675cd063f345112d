package sgr

import (
	"fmt"
	"strings"

	"github.com/fatih/color"
)

// Palette holds our own colors: the sequences that begin a piece of text, and Off, which ends every one. Off resets the
// log's own colors too; the log's State is appended after it. Without color all are empty.
type Palette struct {
	// Func is for functions, Inlined for those that are inlined into another one, File for paths with line and column.
	Func, Inlined, File string
	// Quiet is for what of a frame is not read first: addresses, modules, frames without a name. Note is for why a frame has
	// no name, and Mark for the number of the line of source code that a frame stands at.
	Quiet, Note, Mark string
	// Off is ESC[0m.
	Off string
}

// What kinds of text look like, in what the program adds to a log and in its own messages. What counts most is bold in the
// terminal's own color, what counts least is dim. The two colors beside that are of the fixed 256, since no color of the sixteen that
// themes define is legible on every dark and every light one: a blue and an orange of medium lightness, which the color-blind tell
// apart, too. Nothing is told by color alone.
var (
	strong = style(color.Bold)
	quiet  = style(color.Faint)
	place  = style(fixed, fixed256, blue)
	alert  = style(fixed, fixed256, orange)
)

// style returns a color that is always on: the caller decides whether it is used.
func style(attributes ...color.Attribute) *color.Color {
	c := color.New(attributes...)
	c.EnableColor()
	return c
}

// NewPalette returns the colors, or a Palette without any.
func NewPalette(on bool) *Palette {
	if !on {
		return &Palette{}
	}
	return &Palette{Func: opening(strong), Inlined: opening(strong), File: opening(place), Quiet: opening(quiet), Note: opening(alert),
		Mark: opening(strong), Off: "\x1b[0m"}
}

// ESC[38;5;n m is color n of xterm's 256.
const (
	fixed    color.Attribute = 38
	fixed256 color.Attribute = 5
	blue     color.Attribute = 32  // #0087d7
	orange   color.Attribute = 166 // #d75f00
)

// Theme colors what the program writes beside the log: messages, summaries, reports, help. A nil Theme colors nothing.
type Theme struct{}

// NewTheme returns a Theme, nil for one without colors.
func NewTheme(on bool) *Theme {
	if !on {
		return nil
	}
	return &Theme{}
}

// Strong returns text as titles and names of modules are written.
func (t *Theme) Strong(text string) string { return t.paint(strong, text) }

// Quiet returns text as what counts least is written.
func (t *Theme) Quiet(text string) string { return t.paint(quiet, text) }

// Place returns text as paths, flags and commands are written.
func (t *Theme) Place(text string) string { return t.paint(place, text) }

// Alert returns text as what needs attention is written.
func (t *Theme) Alert(text string) string { return t.paint(alert, text) }

func (t *Theme) paint(c *color.Color, text string) string {
	if t == nil || text == "" {
		return text
	}
	return c.Sprint(text)
}

// Parse changes the colors that text names, as GREP_COLORS and LS_COLORS do: `func=1;34:file=36:quiet=`. A name stands for a
// field of the Palette in small letters, a value for the parameters of ESC[…m; an empty one is no color. Where anything of
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

// opening returns the sequence that turns a color on. fatih/color ends what it prints with a reset of its own, which would take the
// log's colors away; so only what comes before the text is used.
func opening(c *color.Color) string {
	const sentinel = "."
	before, _, _ := strings.Cut(c.Sprint(sentinel), sentinel)
	return before
}

// Enabled decides on color. mode is "always" or "never", which win over everything, or another word for neither. Otherwise noColor, the
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
