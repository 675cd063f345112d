package command

import (
	"qss-filter/filter/command/cli"
	"qss-filter/filter/print"
)

// screen returns how frames are written for the reader of a terminal. It is nil if standard output is no terminal, or if --frames asks
// for another form.
func (c *config) screen() *print.Screen {
	if !isTerminal(c.out) || c.style.llvm || c.flags.Has("frames") && !c.flags.Is("frames", "auto") {
		return nil
	}
	return &print.Screen{Columns: cli.Columns(c.out), Note: "; --modules=show shows them"}
}
