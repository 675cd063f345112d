package filter

import (
	"qss-filter/filter/parse"
	"qss-filter/sgr"
)

// printer writes what became of lines as text.
type printer struct {
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
func (w *printer) outside(text []byte) []byte { return parse.Outside(text, w.quoted) }
