// Package guard describes panics of this program that it recovers from. A panic must not cost a line of a log: the line at hand
// leaves as it came, after the text that was held back before it, and the log goes on.
package guard

import (
	"fmt"
	"runtime"
	"strings"
)

// Fault describes a panic that is being recovered from, with the place in this program's code that it came from.
func Fault(cause any) string { return fmt.Sprintf("%s: %v", place(), cause) }

// place returns the place in this program's code that the panic came from, or "" if it is not known.
func place() string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		if panicked && strings.HasPrefix(frame.Function, modulePrefix) {
			return fmt.Sprintf(" in %s (%s:%d)", strings.TrimPrefix(frame.Function, modulePrefix), frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic" || frame.Function == "runtime.sigpanic"
		if !more {
			return ""
		}
	}
}

// modulePrefix begins the names of this program's functions.
const modulePrefix = "qss-filter/"

// Message returns the message about a fault on a line. It is printed once.
func Message(line int, fault string) string {
	return fmt.Sprintf("line %d: internal error%s; the line is left as it came, and so is each one after it "+
		"that leads there; please report it with the line", line, fault)
}
