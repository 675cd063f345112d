package filter

import (
	"context"

	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// A printer writes what lines became. Its methods append to dst and return the extended slice.
type printer interface {
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
	Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []item, alone int) []byte
	// Context appends a line on which context elements of t stand alone up to body[last:].
	Context(dst []byte, t *resolve.Thread, body, end []byte, last int, items []item) []byte
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

// textPrinter writes what became of lines as text.
type textPrinter struct {
	opt  printerOptions
	fold fold
	// colour is the log's own state at the place reached; followed only if Palette colors what is added.
	colour ink
	// quoted is set inside a JSON string.
	quoted bool
	// code says whether source files were there.
	code seenSources
	// Scratch memory: a number, and the text of one answer before it is kept in one piece.
	digits    []byte
	placeText []byte
	placeEnds []int
}

// printerOptions say how text is written.
type printerOptions struct {
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
func (w *textPrinter) outside(text []byte) []byte { return parse.Outside(text, w.quoted) }

// Begin has nothing to write.
func (w *textPrinter) Begin(int, []byte) {}

// By has nothing to write.
func (w *textPrinter) By(*resolve.Thread, *prefix.Prefix, []byte) {}

// Listed has nothing to write.
func (w *textPrinter) Listed(*resolve.Process) {}

// BuildID has nothing to write.
func (w *textPrinter) BuildID(*resolve.Process, string, symsrc.BuildID) {}

// Malformed has nothing to write: the element stays as it is.
func (w *textPrinter) Malformed(error) {}

// Text appends text as it is.
func (w *textPrinter) Text(dst, text []byte) []byte { return append(dst, text...) }

// Abandon appends the line as it came.
func (w *textPrinter) Abandon(dst []byte, _ int, line []byte) []byte { return append(dst, line...) }

// End has nothing to write.
func (w *textPrinter) End(dst []byte) []byte { return dst }

// Flush appends the folded context.
func (w *textPrinter) Flush(dst []byte) []byte { return w.fold.flush(dst) }
