package print

import (
	"context"

	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Style tells what becomes of a frame's line.
type Style uint8

const (
	// Annotate writes the answer into the frame.
	Annotate Style = iota
	// Append keeps the line and adds one line per function below it.
	Append
	// Replace puts `#N addr in func file:line` in the frame's place.
	Replace
)

// Renumber tells what becomes of the numbers of frames when inlined functions take lines of their own.
type Renumber uint8

const (
	// RenumberAuto counts on over inlined functions in the `#N addr (elf+off)` family and writes `#N.1` in markup.
	RenumberAuto Renumber = iota
	// RenumberAlways counts on everywhere.
	RenumberAlways
	// RenumberNever keeps the log's numbers: inlined functions are `#N.1`, `#N.2`, … everywhere.
	RenumberNever
)

// Context tells what becomes of the lines that define modules and mappings.
type Context uint8

const (
	// ContextFold makes one line of those of a module.
	ContextFold Context = iota
	// ContextKeep keeps them as they are.
	ContextKeep
	// ContextDrop leaves them out.
	ContextDrop
)

// A printer writes what lines became. Its methods append to dst and return the extended slice.
type Printer interface {
	// Begin begins a line of that number, with its end.
	Begin(number int, line []byte)
	// By says who wrote the line, with the loggers' prefixes of body.
	By(t *resolve.Thread, p *prefix.Prefix, body []byte)
	// Listed says that the line has added a mapping to a list, BuildID that it states the build ID of a file, and Malformed
	// that it has an element that cannot be read.
	Listed(p *resolve.Process)
	BuildID(p *resolve.Process, file string, id symsrc.BuildID)
	Malformed(err error)
	// Text appends text that means nothing.
	Text(dst, text []byte) []byte
	// Items appends a text of t with its items. alone is the item whose line the text is, -1 if it is none's.
	Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []Item, alone int) []byte
	// Context appends a line on which context elements of t stand alone up to body[last:].
	Context(dst []byte, t *resolve.Thread, body, end []byte, last int, items []Item) []byte
	// Dump appends a part of a dump, of which some values point at something, and Register what one of them points at, on a
	// line of its own: after before.
	Dump(dst, text []byte, values []parse.Pair) []byte
	Register(dst, before []byte, t *resolve.Thread, v parse.Value, a *resolve.Answer, end []byte) []byte
	// Abandon takes back what was written of a line to dst since Begin, after a panic: the line leaves as it came.
	Abandon(dst []byte, number int, line []byte) []byte
	// End ends the line.
	End(dst []byte) []byte
	// Flush appends what is held back.
	Flush(dst []byte) []byte
}

// Text writes what became of lines as text.
type Text struct {
	opt  Options
	Fold Fold
	// colour is the log's own state at the place reached; followed only if Palette colors what is added.
	Color ink
	// Quoted is set inside a JSON string.
	Quoted bool
	// Code says whether source files were there.
	Code seenSources
	// Scratch memory: a number, and the text of one answer before it is kept in one piece.
	digits    []byte
	placeText []byte
	placeEnds []int
}

// Options say how text is written.
type Options struct {
	Style    Style
	Renumber Renumber
	Context  Context
	// Palette colors what is added; nil writes no colors.
	Palette *sgr.Palette
	Names   Names
	Sources Sources
	// SourceLines of source code are shown below a frame, with its own in the middle.
	SourceLines int
	Links       Links
	// Explain adds the reason behind a frame that could not be resolved.
	Explain bool
	// Observed is set if the observer says what stands below a frame.
	Observed bool
}

// outside returns a part of the text at hand as it is outside of the JSON string that it may stand in.
func (w *Text) outside(text []byte) []byte { return parse.Outside(text, w.Quoted) }

// NewText returns a printer of text.
func NewText(o Options) Text { return Text{opt: o} }

// Begin has nothing to write.
func (w *Text) Begin(int, []byte) {}

// By has nothing to write.
func (w *Text) By(*resolve.Thread, *prefix.Prefix, []byte) {}

// Listed has nothing to write.
func (w *Text) Listed(*resolve.Process) {}

// BuildID has nothing to write.
func (w *Text) BuildID(*resolve.Process, string, symsrc.BuildID) {}

// Malformed has nothing to write: the element stays as it is.
func (w *Text) Malformed(error) {}

// Text appends text as it is.
func (w *Text) Text(dst, text []byte) []byte { return append(dst, text...) }

// Abandon appends the line as it came.
func (w *Text) Abandon(dst []byte, _ int, line []byte) []byte { return append(dst, line...) }

// End has nothing to write.
func (w *Text) End(dst []byte) []byte { return dst }

// Flush appends the folded context.
func (w *Text) Flush(dst []byte) []byte { return w.Fold.Flush(dst) }
