package sgr

import (
	"fmt"
	"strings"

	"github.com/fatih/color"
)

// Palette holds the colors of text that is added to a log: the sequences that begin each kind of text, and Off, which ends it. Off also
// resets the log's own colors, so the log's State has to be appended after it. Without colors all sequences are empty.
type Palette struct {
	// Func is for functions, Inlined for inlined ones, File for paths with line and column.
	Func, Inlined, File string
	// Quiet is for the less important parts of a frame: addresses, modules, frames without a name. Note is for the reason why a frame
	// has no name, and Mark for the line number of a frame in its source code.
	Quiet, Note, Mark string
	// Off is ESC[0m.
	Off string
}

// Colors of the kinds of text that are added to a log, and in messages. The most important text is bold in the terminal's own color, the
// least important is dim. The other two are of the sixteen that the theme of the terminal defines, which makes them fit its background:
// magenta and red, the two of them that are legible on black and on white with the palettes of xterm, VGA and Tango, too. No information is
// in the color alone.
var (
	strong = style(color.Bold)
	quiet  = style(color.Faint)
	place  = style(color.FgMagenta)
	alert  = style(color.FgRed)
)

// style returns a color that is always enabled, because the callers decide whether colors are used.
func style(attributes ...color.Attribute) *color.Color {
	c := color.New(attributes...)
	c.EnableColor()
	return c
}

// NewPalette returns the default colors, or a Palette without colors.
func NewPalette(on bool) *Palette {
	if !on {
		return &Palette{}
	}
	return &Palette{Func: openingSequence(strong), Inlined: openingSequence(strong), File: openingSequence(place), Quiet: openingSequence(quiet), Note: openingSequence(alert),
		Mark: openingSequence(strong), Off: "\x1b[0m"}
}

// Theme colors the program's other output: messages, summaries, reports, help. A nil Theme does not color.
type Theme struct{}

// NewTheme returns a Theme, or nil without colors.
func NewTheme(on bool) *Theme {
	if !on {
		return nil
	}
	return &Theme{}
}

// Strong returns text in the color of titles and names of modules.
func (t *Theme) Strong(text string) string { return t.paint(strong, text) }

// Quiet returns text in the color of less important text.
func (t *Theme) Quiet(text string) string { return t.paint(quiet, text) }

// Place returns text in the color of paths, flags and commands.
func (t *Theme) Place(text string) string { return t.paint(place, text) }

// Alert returns text in the color of text that needs attention.
func (t *Theme) Alert(text string) string { return t.paint(alert, text) }

// paint returns text in a color, or unchanged if t is nil.
func (t *Theme) paint(c *color.Color, text string) string {
	if t == nil || text == "" {
		return text
	}
	return c.Sprint(text)
}

// Parse changes colors according to text, which has the format of GREP_COLORS and LS_COLORS: `func=1;34:file=36:quiet=`. A name is that of
// a field of the Palette in lower case, a value is the parameters of ESC[…m, or empty for no color. If text is malformed, Parse changes
// nothing and returns an error.
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

// openingSequence returns the sequence that turns a color on. fatih/color ends its output with a reset, which would also reset the log's
// colors; so only the part before the text is used.
func openingSequence(c *color.Color) string {
	const sentinel = "."
	before, _, _ := strings.Cut(c.Sprint(sentinel), sentinel)
	return before
}

// Enabled reports whether colors are used. The modes "always" and "never" decide; any other mode means "auto". Then noColor, the value of
// NO_COLOR, disables colors unless it is empty; otherwise forceColor, the value of FORCE_COLOR or CLICOLOR_FORCE, enables them unless it is
// empty or 0; otherwise they are enabled on a terminal, unless term, the value of TERM, is dumb.
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
