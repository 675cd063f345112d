package command

import (
	"fmt"
	"io"
	"strings"

	"qss-filter/filter"
)

// Advice for modules without names and for source files that are not there.
const (
	symbolsAdvice = "; pass --symbols DIR where its unstripped file is"
	sourceAdvice  = "; pass --source-root DIR or --path-map FROM=TO"
)

// writeSummary writes which modules' frames could not be resolved, and why, one module a line, and whether all source files are
// missing: nothing where all is well.
func writeSummary(w io.Writer, s filter.Summary) error {
	var b strings.Builder
	if s.Unresolved > 0 {
		fmt.Fprintf(&b, "qss-filter: %d of %d frames have no name:\n", s.Unresolved, s.Frames)
		for _, m := range s.Modules {
			advice := ""
			if m.Unstripped {
				advice = symbolsAdvice
			}
			fmt.Fprintf(&b, "qss-filter: %6d  %s: %s%s\n", m.Frames, m.Module, m.Reason, advice)
		}
		if s.Forgotten > 0 {
			fmt.Fprintf(&b, "qss-filter: %6d  of modules that came before: there were too many to list\n", s.Forgotten)
		}
	}
	if s.NoSource != "" {
		fmt.Fprintf(&b, "qss-filter: none of the source files is there, the first is %s%s\n", s.NoSource, sourceAdvice)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
