package filter

import (
	"cmp"
	"errors"
	"fmt"

	"qss-filter/filter/guard"
	"qss-filter/markup"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// messages are what a filter has to say besides its output: each cause once. They are bounded where they cost much more than the
// element that they are about: those of malformed elements, a thousand times as much, and long mangled names, whose time grows with
// the square of their length.
type messages struct {
	tell func(message string) // may be nil
	// insisting is Options.Insisting.
	insisting string
	said      map[string]bool
	// recorded is set if the output has them, too: then each line has its own.
	recorded bool
	// rescued counts the lines that left as they came, since the program is at fault.
	rescued int
	// all counts the malformed elements that were explained, and ofLine those of a line.
	all, line, ofLine int
	// mangled counts the bytes of the long names of a line.
	mangledLine, mangled int
}

const (
	maxCauses       = 1000
	maxFaults       = 10_000 // of a stream, unless they are recorded
	maxFaultsOfLine = 16
	longMangled     = 512
	maxMangled      = 32 << 10 // of the long names of a line
)

// warn warns of one cause, once.
func (m *messages) warn(cause, message string) {
	if m.hasSaid(cause) {
		return
	}
	m.said[cause] = true
	m.tell(message)
}

// hasSaid reports whether nothing more is said of a cause.
func (m *messages) hasSaid(cause string) bool {
	return m.tell == nil || m.said[cause] || len(m.said) >= maxCauses
}

// refuted says that the log is not of the build that the user has pointed at, once for each file.
func (m *messages) refuted(files *symsrc.Files, why string) {
	path := usedPath(files)
	message := symsrc.Visible(path) + ": the log is of another build: " + why + "; its frames stay as they are"
	if m.insisting != "" {
		message += " (" + m.insisting + ")"
	}
	m.warn(refutedCause(files), message)
}

// usedPath returns the path of the file whose code is looked at.
func usedPath(files *symsrc.Files) string {
	if s := files.ElfStatus; files.Elf == "" || s != symsrc.OK && s != symsrc.Incomplete {
		return files.Debug
	}
	return files.Elf
}

// refutedCause is the cause of the message that the log refutes a file, whose answers have another status by then.
func refutedCause(files *symsrc.Files) string { return "refuted " + cmp.Or(files.Elf, files.Debug) }

// broken says that this program is at fault, once.
func (m *messages) broken(line int, fault string) {
	m.rescued++
	m.warn("internal error", guard.Message(line, fault))
}

// malformed warns of a bad element of a line, with line, column, and a caret under it: once per cause, since a log repeats itself.
// explained is false for one of too many.
func (m *messages) malformed(line int, text []byte, err error) (explained bool) {
	if errors.Is(err, markup.ErrMalformed) || m.left(line) <= 0 {
		return false
	}
	if m.line != line {
		m.line, m.ofLine = line, 0
	}
	m.all++
	m.ofLine++
	cause := err.Error()
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		cause = fe.Msg
	}
	m.warn(cause, markup.Explain(line, text, err))
	return true
}

// left returns how many more malformed elements of a line are explained.
func (m *messages) left(line int) int {
	n := maxFaultsOfLine
	if m.line == line {
		n -= m.ofLine
	}
	if !m.recorded {
		n = min(n, maxFaults-m.all)
	}
	return n
}

// demangled returns the readable form of a mangled name of a line, or the name itself beyond the limit of the line.
func (m *messages) demangled(line int, mangled string) string {
	if n := len(mangled); n > longMangled {
		if m.mangledLine != line {
			m.mangledLine, m.mangled = line, 0
		}
		if m.mangled += n; m.mangled > maxMangled {
			m.warn("mangled", fmt.Sprintf("line %d: too many long names in one line: the rest of such a line's stay mangled", line))
			return mangled
		}
	}
	return demangle.Symbol(mangled)
}
