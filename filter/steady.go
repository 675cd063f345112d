package filter

import (
	"io"
	"time"
)

// Steady returns a reader whose input does not pause: Run then waits for the rest of each line, however long that takes. It is
// for files, and what is unpacked of them.
func Steady(in io.Reader) io.Reader { return steady{in} }

type steady struct{ io.Reader }

func (steady) ready(time.Duration) bool { return true }
func (steady) stop()                    {}

// pauses returns the pauser over a reader.
func pauses(in io.Reader) pauser {
	if p, ok := in.(pauser); ok {
		return p
	}
	return newPauser(in)
}
