// Package print writes what the filter adds to a log.
//
//	printer.go      the Printer, and the Text that is one
//	item.go         the items of a text with their outcome, and how observers see them
//	said.go         the functions of a frame, also of one that the log names
//	elements.go     elements of markup, and dumps
//	frames.go       frames of other formats
//	java.go         frames of Java, and exceptions
//	fold.go         context elements, folded into one line per module
//	render.go       functions, places and reasons, in color
//	screen.go       the short picture of frames for a terminal
//	brief.go        whole stacks for a terminal, with the line below a fault
//	goroutine.go    tracebacks of Go for a terminal
//	names.go        names of functions and files
//	link.go         hyperlinks
//	sourcelines.go  lines of source code below a frame
package print

import (
	"context"

	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Style is what becomes of a frame's line.
type Style uint8

const (
	// Annotate writes the answer into the frame.
	Annotate Style = iota
	// Append keeps the line and adds one line per function below it.
	Append
	// Replace writes `#N addr in func file:line` in place of the frame.
	Replace
)

// Renumber is what becomes of the numbers of frames when inlined functions take lines of their own.
type Renumber uint8

const (
	// RenumberAuto counts on over inlined functions in the `#N addr (elf+off)` family and writes `#N.1` in markup.
	RenumberAuto Renumber = iota
	// RenumberAlways counts on everywhere.
	RenumberAlways
	// RenumberNever keeps the log's numbers: inlined functions are `#N.1`, `#N.2`, … everywhere.
	RenumberNever
)

// Context is what becomes of the lines that define modules and mappings.
type Context uint8

const (
	// ContextFold folds the lines of a module into one.
	ContextFold Context = iota
	// ContextKeep keeps them as they are.
	ContextKeep
	// ContextDrop leaves them out.
	ContextDrop
)

// Printer writes the outcome of lines. Its methods append to dst and return the extended slice.
type Printer interface {
	// Begin begins the line of that number. line has its end.
	Begin(dst []byte, number int, line []byte) []byte
	// By notes the thread that wrote the line, and the loggers' prefixes of body.
	By(t *resolve.Thread, p *prefix.Prefix, body []byte)
	// Listed notes that the line has added a mapping to a list, BuildID that it states the build ID of a file, and Malformed
	// that it has an element that cannot be read.
	Listed(p *resolve.Process)
	BuildID(p *resolve.Process, file string, id symsrc.BuildID)
	Malformed(err error)
	// Text appends text without items.
	Text(dst, text []byte) []byte
	// Items appends a text of t with its items. alone is the index of the item whose line the text is, or -1.
	Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []Item, alone int) []byte
	// Context appends a line on which context elements of t stand alone up to body[last:].
	Context(dst []byte, t *resolve.Thread, body, end []byte, last int, items []Item) []byte
	// Register appends what a value of a dump points at, on a line that begins with before.
	Register(dst, before []byte, t *resolve.Thread, v parse.Value, a *resolve.Answer, end []byte) []byte
	// Abandon appends a line as it came. It is called after a panic, when dst has nothing of the line yet. End follows.
	Abandon(dst []byte, number int, line []byte) []byte
	// End ends the line.
	End(dst []byte) []byte
	// Flush appends what is held back.
	Flush(dst []byte) []byte
}

// Text writes the outcome of lines as text. It is a Printer.
type Text struct {
	renderer
	// Fold has the context elements that wait for others of their module.
	Fold Fold
}

// Options are how text is written.
type Options struct {
	Style    Style
	Renumber Renumber
	Context  Context
	// Palette colors what is added. nil writes no colors.
	Palette *sgr.Palette
	Names   Names
	Sources Sources
	// SourceLines is how many lines of source code are shown below a frame, with its own in the middle.
	SourceLines int
	Links       Links
	// Explain adds the reason to a frame that could not be resolved.
	Explain bool
	// Screen is set for a reader at a terminal, with the style Annotate. nil writes what programs read.
	Screen *Screen
	// Observed is set if an observer decides what stands below a frame.
	Observed bool
}

// NewText returns a printer of text.
func NewText(o Options) Text {
	if o.Style != Annotate {
		o.Screen = nil
	}
	w := Text{renderer: renderer{opt: o}}
	if o.Screen != nil && o.Context == ContextFold {
		w.Fold.note = o.Screen.Note
	}
	return w
}

// Begin does nothing.
func (w *Text) Begin(dst []byte, _ int, _ []byte) []byte { return dst }

// By does nothing.
func (w *Text) By(*resolve.Thread, *prefix.Prefix, []byte) {}

// Listed does nothing.
func (w *Text) Listed(*resolve.Process) {}

// BuildID does nothing.
func (w *Text) BuildID(*resolve.Process, string, symsrc.BuildID) {}

// Malformed does nothing: the element stays as it is.
func (w *Text) Malformed(error) {}

// Text appends text as it is.
func (w *Text) Text(dst, text []byte) []byte { return append(dst, text...) }

// Abandon appends the line as it came.
func (w *Text) Abandon(dst []byte, _ int, line []byte) []byte { return append(dst, line...) }

// End returns dst: the line is complete.
func (w *Text) End(dst []byte) []byte { return dst }

// Flush appends the folded context.
func (w *Text) Flush(dst []byte) []byte { return w.Fold.Flush(dst) }
