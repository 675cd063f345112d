package filter

import (
	"bytes"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// printed is what is remembered of an answer's text.
type printed struct {
	// frames are those of the answer in the words in which they are written.
	frames []symsrc.Frame
	// links begin the hyperlink of each frame, if links are written.
	links []string
	// excerpts are the source code of each frame, as far as it was asked for.
	excerpts []*symsrc.Excerpt
	// places holds the text `func file:line:col` of each frame, in color if the filter writes colors.
	places [][]byte
	place  [1][]byte // if that is one
}

// shown returns the text of an answer that names a function.
func (w *textPrinter) shown(a *resolve.Answer) *printed {
	if p, ok := a.Printed.(*printed); ok {
		return p
	}
	p := &printed{frames: w.opt.Names.inWords(a.Frames)}
	a.Printed = p
	w.link(a, p)
	// The memo is for places where the log has no color of its own.
	restore, quoted := w.colour, w.quoted
	w.colour, w.quoted = ink{}, false
	text := w.placeText[:0]
	ends := w.placeEnds[:0]
	for i := range p.frames {
		if a.Kind == symsrc.Data {
			text = w.appendVariable(text, a, i)
		} else {
			text = w.appendPlace(text, a, i)
		}
		ends = append(ends, len(text))
	}
	w.placeText, w.placeEnds = text, ends
	w.colour, w.quoted = restore, quoted
	kept := bytes.Clone(text)
	if p.places = p.place[:]; len(ends) > 1 {
		p.places = make([][]byte, len(ends))
	}
	start := 0
	for i, end := range ends {
		p.places[i] = kept[start:end:end]
		start = end
	}
	return p
}
