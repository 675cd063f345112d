package command

import (
	"fmt"
	"io"
	"strings"

	"qss-filter/filter"
	"qss-filter/sgr"
)

// Advice for modules without names and for source files that are not there.
const (
	symbolsAdvice = "; pass --symbols DIR where its unstripped file is"
	sourceAdvice  = "; pass --source-root DIR or --path-map FROM=TO"
)

// writeSummary writes which modules' frames could not be resolved, and why, one module a line, and whether all source files are
// missing: nothing where all is well.
func writeSummary(w io.Writer, s filter.Summary, theme *sgr.Theme) error {
	var b strings.Builder
	const prefix = "qss-filter:"
	if s.Unresolved > 0 {
		fmt.Fprintf(&b, "%s %d of %d frames have no name:\n", theme.Alert(prefix), s.Unresolved, s.Frames)
		for _, m := range s.Modules {
			advice := ""
			if m.Unstripped {
				advice = symbolsAdvice
			}
			fmt.Fprintf(&b, "%s %6d  %s: %s%s\n", theme.Quiet(prefix), m.Frames, theme.Strong(m.Module), m.Reason, theme.Quiet(advice))
		}
		if s.Forgotten > 0 {
			fmt.Fprintf(&b, "%s %6d  of modules that came before: there were too many to list\n", theme.Quiet(prefix), s.Forgotten)
		}
	}
	if s.NoSource != "" {
		fmt.Fprintf(&b, "%s none of the source files is there, the first is %s%s\n", theme.Alert(prefix), theme.Strong(s.NoSource), theme.Quiet(sourceAdvice))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
