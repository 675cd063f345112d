package filter

import (
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
)

// several writes a text with more frames than one, or with a pair in a sentence: every frame keeps its place, and a
// chain of functions stands on one line.
func (w *textPrinter) several(dst []byte, s parse.Segment, items []item) []byte {
	pos := 0
	for i := range items {
		it := &items[i]
		dst = append(dst, s.Text[pos:it.fr.Whole.Start]...)
		w.followColour(s.Text[pos:it.fr.Whole.Start])
		dst = w.oneFrame(dst, s, it.fr, it.answer, it.number)
		pos = it.fr.Whole.End
	}
	return append(dst, s.Text[pos:]...)
}

// oneFrame writes a frame that keeps to its place on the line.
func (w *textPrinter) oneFrame(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, n uint64) []byte {
	known := a != nil && len(a.Frames) > 0 && fr.Shape != frame.Fields
	if known && w.opt.Style == Replace {
		return w.added(dst, s, func(b []byte) []byte {
			if fr.Shape == frame.Numbered && !fr.Num.Empty() {
				b = append(appendNumber(append(b, '#'), fr.Num.Of(s.Text), n), ' ')
				b = append(append(b, fr.Addr.Of(s.Text)...), " in "...)
			}
			return w.appendSentence(b, a)
		})
	}
	pos := fr.Whole.Start
	if !fr.Num.Empty() {
		dst = append(dst, s.Text[pos:fr.Num.Start]...)
		dst = appendNumber(dst, fr.Num.Of(s.Text), n)
		pos = fr.Num.End
	}
	if known {
		dst = append(dst, s.Text[pos:fr.Gap.Start]...)
		dst = w.added(dst, s, func(b []byte) []byte {
			if fr.Shape == frame.Pair {
				return append(w.appendSentence(b, a), ' ')
			}
			return w.appendSentence(append(b, " in "...), a)
		})
		dst = appendEscapes(dst, fr.Gap.Of(s.Text))
		pos = fr.Gap.End
	}
	if a != nil && !known && fr.Shape != frame.Fields {
		dst = w.quiet(dst, s.Text[pos:fr.Whole.End])
	} else {
		dst = append(dst, s.Text[pos:fr.Whole.End]...)
	}
	if a != nil {
		dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, fr.Whole.End) })
	}
	return dst
}

// framesBelow writes a text as it is, with the lines of its frames below it.
func (w *textPrinter) framesBelow(ctx context.Context, dst []byte, s parse.Segment, items []item) []byte {
	if w.opt.Observed {
		return w.observedBelow(dst, s, items)
	}
	dst = append(dst, s.Text...)
	for i := range items {
		dst = w.chainBelow(ctx, dst, s, &items[i])
	}
	return dst
}

// chainBelow adds the lines of one frame below its text.
func (w *textPrinter) chainBelow(ctx context.Context, dst []byte, s parse.Segment, it *item) []byte {
	fr, a := it.fr, it.answer
	if a == nil || len(a.Frames) == 0 {
		return dst
	}
	if fr.Num.Empty() {
		return w.below(dst, s, func(b []byte) []byte { return w.appendSentence(b, a) })
	}
	for i := range a.Frames {
		number := w.functionNumber(s.Text, fr, len(a.Frames), i, it.number)
		dst = w.below(dst, s, func(b []byte) []byte { return w.appendBare(b, number, fr.Addr.Of(s.Text), a, i) })
		dst = w.source(ctx, dst, s, a, i, nil, nil)
	}
	return dst
}

// below adds a line of the filter's own below a text that stays as it is.
func (w *textPrinter) below(dst []byte, s parse.Segment, write func([]byte) []byte) []byte {
	dst = append(append(dst, s.Sep...), "  -> "...)
	return w.added(dst, s, write)
}
