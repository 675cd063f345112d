package print

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/markup"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Items appends a text whose items are resolved.
func (w *Text) Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []Item, alone int) []byte {
	restore := w.Color
	w.Quoted, w.inXML = s.Quoted(), s.XML != parse.OutsideXML
	before := len(dst)
	switch frames := items[0].Frame != nil; {
	case frames && (items[0].Frame.OfJava() || items[0].Answer != nil && items[0].Answer.Java != nil):
		dst = w.java(ctx, dst, s, &items[0])
	case frames && w.opt.Style == Append && items[0].Frame.Shape != frame.Member:
		dst = w.framesBelow(ctx, dst, s, items)
	case frames && alone >= 0:
		if !w.marked {
			w.only = listedByRuntime(t, s, &items[0]) + 1
		}
		dst = w.single(ctx, dst, s, &items[0])
	case frames:
		dst = w.several(dst, s, items)
	case alone >= 0:
		dst = w.frameLine(ctx, dst, s, items, alone)
	default:
		dst = w.elements(dst, s, items)
	}
	w.Color, w.Quoted, w.inXML = restore, false, false
	if items[0].Element != nil && parse.HasMarkup(dst[before:]) && !kept(dst[before:], s, items) {
		return append(dst[:before], s.Text...)
	}
	return dst
}

// kept reports whether all elements of an output are elements of the text that stayed as they are. What an element becomes can make an
// element of the text around it: such a text stays as it is, since it would say something else when it is filtered again. Unknown elements
// mean nothing: source code below a frame may look like one.
func kept(out []byte, s parse.Segment, items []Item) bool {
	for at := 0; ; {
		e, ok := markup.Next(out, at)
		if !ok {
			return true
		}
		at = e.End
		if e.Tag != markup.Unknown && e.Tag != markup.Hexdict && !slices.ContainsFunc(items, func(it Item) bool {
			return bytes.Equal(s.Text[it.Element.Start:it.Element.End], out[e.Start:e.End])
		}) {
			return false
		}
	}
}

// single writes a text with one frame: a function takes a line, with what stands around the frame on each.
func (w *Text) single(ctx context.Context, dst []byte, s parse.Segment, it *Item) []byte {
	fr, a, n := it.Frame, it.Answer, it.Number
	if a == nil || len(a.Frames) == 0 {
		w.mark(dst, a, 0)
		dst = append(dst, s.Text[:fr.Whole.Start]...)
		w.FollowColor(s.Text[:fr.Whole.Start])
		dst = w.oneFrame(dst, s, fr, a, n)
		return append(dst, s.Text[fr.Whole.End:]...)
	}
	w.FollowColor(s.Text[:fr.Gap.Start])
	for i := range a.Frames {
		if w.only > 0 && i != w.only-1 {
			continue
		}
		if i > 0 && w.only == 0 {
			dst = append(dst, s.Sep...)
		}
		w.mark(dst, a, i)
		dst = w.function(dst, s, fr, a, i, n)
		if fr.Headline && fr.Space == symsrc.InScript { // it has no function, and the emitter shows a line of the script below it
			break
		}
		dst = w.source(ctx, dst, s, a, i, s.Text[:fr.Whole.Start], s.Text[fr.Whole.Start:])
	}
	return dst
}

// listedByRuntime returns the index of the function that a frame of Rust or gfortran is about: where the runtime has debug information, it
// lists all functions at an address, each with a number and a name, and its place on the next line. It is negative for a frame that has all of
// them, as where only symbols are left.
func listedByRuntime(t *resolve.Thread, s parse.Segment, it *Item) int {
	fr, a := it.Frame, it.Answer
	if !fr.Lists {
		return -1
	}
	i, n := -1, 0
	if a != nil && len(a.Frames) > 1 {
		i = listedAt(a.Frames, hint(fr.HintText), t.Stack.Listed(fr.Offset, fr.Number, t.Stack.Line))
		n = (i + 1) % len(a.Frames)
	}
	t.Stack.List(fr.Offset, fr.Number, t.Stack.Line, n)
	return i
}

// listedAt returns the index of the next function at an address of which so many are listed in frames above. It is negative if the log does
// not list them: then the first one that it names there is another. Only the first one is compared, since a compiler may give the last one,
// which has code of its own, another name in its symbol: gfortran's program is MAIN__ there, and an inner function f is f.1.
func listedAt(all []symsrc.Frame, hint []byte, listed int) int {
	at := listed % max(len(all), 1)
	if len(all) < 2 || len(hint) == 0 || at == 0 && triage.Name(string(hint)) != triage.Name(all[0].Func) {
		return -1
	}
	return at
}

// counts reports whether the lines of inlined functions take numbers of their own, and the numbers
// after them count on.
func (w *renderer) counts(fr *parse.Frame) bool {
	return fr.Counts && w.opt.Renumber != RenumberNever
}

// function writes the line of one function of a frame.
func (w *Text) function(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, i int, n uint64) []byte {
	depth, at := len(a.Frames), i
	if w.only > 0 {
		depth, at = 1, 0
	}
	number := w.functionNumber(s.Text, fr, depth, at, n)
	if w.opt.Style == Replace {
		dst = append(dst, s.Text[:fr.Whole.Start]...)
		dst = w.added(dst, s, func(b []byte) []byte { return w.appendBare(b, number, fr.Addr.Of(s.Text), a, i) })
		return append(dst, s.Text[fr.Whole.End:]...)
	}
	before := min(fr.Whole.Start, fr.Num.Start)
	dst = append(dst, s.Text[:before]...)
	if w.dims(s, s.Text[:fr.Whole.End], a, i) {
		dst, w.dim = w.hush(dst), true
	}
	dst = append(dst, s.Text[before:fr.Num.Start]...)
	dst = append(dst, number...)
	if fr.Shape == frame.Fields {
		return w.undim(w.fields(dst, s, fr, a, i, frame.Span{Start: fr.Num.End, End: len(s.Text)}))
	}
	dst = w.part(dst, s, fr, a, fr.Num.End, fr.Gap.Start)
	if gap := fr.Gap.Of(s.Text); len(a.Frames) == 1 && w.names(gap, a) {
		dst = append(dst, gap...)
	} else {
		dst = append(dst, " in "...)
		if w.screen(s) != nil {
			dst = w.appendRow(dst, a, i)
		} else {
			dst = w.added(dst, s, func(b []byte) []byte { return append(b, w.place(a, i)...) })
		}
		if i < len(a.Frames)-1 && fr.Num.Empty() {
			dst = w.quiet(dst, inlinedMark)
		}
		dst = appendEscapes(dst, gap)
	}
	dst = w.undim(w.part(dst, s, fr, a, fr.Gap.End, fr.Whole.End))
	dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, fr.Whole.End) })
	return append(dst, s.Text[fr.Whole.End:]...)
}

// inlinedMark follows the place of an inlined function in formats without numbers, which show that it is one.
var inlinedMark = []byte(" (inlined)")

// names reports whether the log names the function of an answer as the filter does, in colors: it was filtered before.
func (w *Text) names(gap []byte, a *resolve.Answer) bool {
	if w.palette() == nil || bytes.IndexByte(gap, 0x1b) < 0 {
		return false
	}
	is, found := bytes.CutPrefix(sgr.Uncolored(nil, gap), []byte(" in "))
	return found && bytes.Equal(is, sgr.Uncolored(nil, w.place(a, 0)))
}

// functionNumber returns the number of one function's line as text, valid until the next call. It is counted on, or `N.K`
// for an inlined function. It is empty in formats without numbers.
func (w *renderer) functionNumber(text []byte, fr *parse.Frame, depth, i int, n uint64) []byte {
	if fr.Num.Empty() {
		return nil
	}
	if w.counts(fr) {
		w.digits = appendNumber(w.digits[:0], fr.Num.Of(text), n+uint64(i))
		return w.digits
	}
	w.digits = appendNumber(w.digits[:0], fr.Num.Of(text), n)
	if i < depth-1 {
		w.digits = append(w.digits, '.')
		w.digits = strconv.AppendInt(w.digits, int64(i+1), 10)
	}
	return w.digits
}

// fields writes a part of a text, with function and source put into the values of a `name=value` frame.
func (w *Text) fields(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, i int, part frame.Span) []byte {
	pos := part.Start
	put := func(at frame.Span, write func([]byte) []byte) {
		if at.Empty() || at.Start < pos {
			return
		}
		dst = append(dst, s.Text[pos:at.Start]...)
		dst = w.added(dst, s, write)
		pos = at.End
	}
	if w.shown(a).nameOnly {
		// Nothing better is known than what the log has.
		put(fr.Func, func(b []byte) []byte { return w.appendFunc(b, a, i) })
		return append(dst, s.Text[pos:part.End]...)
	}
	function := func(b []byte) []byte { return w.appendFunc(b, a, i) }
	source := func(b []byte) []byte {
		b = w.appendFile(b, a, i, true)
		if f := &w.frames(a)[i]; fr.Space == symsrc.InScript {
			b = append(b, f.Mark()...)
			b = append(b, closingQuote(s.Text, fr.Source)...)
		} else if f.Unverified {
			b = append(b, symsrc.UnverifiedMark...)
		}
		return b
	}
	if fr.Source.Start < fr.Func.Start {
		put(fr.Source, source)
		put(fr.Func, function)
	} else {
		put(fr.Func, function)
		put(fr.Source, source)
	}
	return append(dst, s.Text[pos:part.End]...)
}

// closingQuote returns the quote that closes within a part of a text which begins after it: `'FILE', line: 1, column: 2`. It is empty for other parts.
func closingQuote(text []byte, at frame.Span) []byte {
	if at.Start == 0 || text[at.Start-1] != '\'' && text[at.Start-1] != '"' {
		return nil
	}
	quote := text[at.Start-1 : at.Start]
	if !bytes.Contains(at.Of(text), quote) {
		return nil
	}
	return quote
}

// appendNumber writes n as wide as the log writes its numbers: with leading zeros if was has any.
func appendNumber(dst, was []byte, n uint64) []byte {
	if len(was) == 0 {
		return dst
	}
	if len(was) > 1 && was[0] == '0' {
		for limit, k := uint64(10), 1; k < len(was); k++ {
			if n < limit {
				dst = append(dst, '0')
			}
			limit *= 10
		}
	}
	return strconv.AppendUint(dst, n, 10)
}

// appendEscapes writes the escape sequences of a text that is being replaced: they color what follows, too.
func appendEscapes(dst, text []byte) []byte {
	dst = sgr.Escapes(dst, text)
	for {
		i := bytes.Index(text, parse.EscapeText)
		if i < 0 {
			return dst
		}
		text = text[i:]
		n := len(text)
		if k := bytes.IndexByte(text, 'm'); k >= 0 {
			n = k + 1
		}
		dst = append(dst, text[:n]...)
		text = text[n:]
	}
}

// appendJSON escapes text for the inside of a JSON string. Bytes that are not UTF-8 become U+FFFD, since JSON has no others.
func appendJSON(dst, text []byte) []byte {
	dst, _ = record.AppendEscaped(dst, text)
	return dst
}

// several writes a text with more than one frame, or with a pair in a sentence. Every frame keeps its place, and a chain of
// functions stands on one line.
func (w *Text) several(dst []byte, s parse.Segment, items []Item) []byte {
	pos := s.Left
	for i := range items {
		it := &items[i]
		if start := it.Frame.Whole.Start; start > pos {
			dst = append(dst, s.Text[pos:start]...)
			w.FollowColor(s.Text[pos:start])
		}
		dst = w.oneFrame(dst, s, it.Frame, it.Answer, it.Number)
		pos = max(s.Left, it.Frame.Whole.End)
	}
	return append(dst, s.Text[pos:]...)
}

// oneFrame writes a frame that keeps to its place on the line.
func (w *Text) oneFrame(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer, n uint64) []byte {
	begun := fr.Whole.Start < s.Left
	if fr.Shape == frame.Member {
		return w.member(dst, s, fr, a)
	}
	if fr.Space == symsrc.InScript && a != nil && len(a.Frames) > 0 && !begun { // the place is that of the innermost function
		return w.fields(dst, s, fr, a, 0, fr.Whole)
	}
	known := a != nil && len(a.Frames) > 0 && (begun || fr.Shape != frame.Fields)
	if known && w.opt.Style == Replace && !begun {
		return w.added(dst, s, func(b []byte) []byte {
			if fr.Shape == frame.Numbered && !fr.Num.Empty() {
				b = append(appendNumber(append(b, '#'), fr.Num.Of(s.Text), n), ' ')
				b = append(append(b, fr.Addr.Of(s.Text)...), " in "...)
			}
			return w.appendModule(w.appendSentence(b, a), a)
		})
	}
	pos, end := max(s.Left, fr.Whole.Start), max(s.Left, fr.Whole.End)
	if !fr.Num.Empty() && !begun {
		dst = append(dst, s.Text[pos:fr.Num.Start]...)
		dst = appendNumber(dst, fr.Num.Of(s.Text), n)
		pos = fr.Num.End
	}
	if known {
		dst = append(dst, s.Text[pos:fr.Gap.Start]...)
		dst = w.added(dst, s, func(b []byte) []byte {
			if fr.Shape == frame.Pair && fr.Gap.End < end {
				return append(w.appendSentence(b, a), ' ')
			}
			return w.appendSentence(append(b, " in "...), a)
		})
		dst = appendEscapes(dst, fr.Gap.Of(s.Text))
		pos = fr.Gap.End
	}
	switch {
	case a != nil && !known && fr.Shape != frame.Fields && !begun:
		dst = w.addressQuiet(dst, s.Text, fr, pos)
	case known && w.screen(s) != nil && !begun:
		dst = w.short(dst, s, fr, a, pos, fr.Whole.End)
	default:
		dst = append(dst, s.Text[pos:end]...)
	}
	return w.added(dst, s, func(b []byte) []byte { return w.appendMissing(b, fr, a, s.Text, end) })
}

// member writes an object with the answer as a member of its own.
func (w *Text) member(dst []byte, s parse.Segment, fr *parse.Frame, a *resolve.Answer) []byte {
	pos, end := max(s.Left, fr.Whole.Start), max(s.Left, fr.Whole.End)
	if fr.Gap.Start >= s.Left && a != nil {
		dst = append(dst, s.Text[pos:fr.Gap.Start]...)
		pos = fr.Gap.End
		var value []byte
		if len(a.Frames) > 0 {
			value = w.appendSentence(nil, a)
		}
		value = bytes.TrimLeft(w.appendMissing(value, fr, a, s.Text, fr.Whole.End), " ")
		if len(value) > 0 {
			dst = w.added(dst, s, func(b []byte) []byte {
				b = append(append(b, `,"`+frame.AnswerKey+`":"`...), appendJSON(nil, value)...)
				return append(b, '"')
			})
		}
	}
	return append(dst, s.Text[pos:end]...)
}

// framesBelow writes a text as it is, with the lines of its frames below it.
func (w *Text) framesBelow(ctx context.Context, dst []byte, s parse.Segment, items []Item) []byte {
	if w.opt.Observed {
		return w.observedBelow(dst, s, items)
	}
	dst = append(dst, s.Own()...)
	for i := range items {
		dst = w.chainBelow(ctx, dst, s, &items[i])
	}
	return dst
}

// chainBelow adds the lines of one frame below its text.
func (w *Text) chainBelow(ctx context.Context, dst []byte, s parse.Segment, it *Item) []byte {
	fr, a := it.Frame, it.Answer
	if a == nil || len(a.Frames) == 0 {
		return dst
	}
	if fr.Num.Empty() {
		return w.below(dst, s, func(b []byte) []byte { return w.appendSentence(b, a) })
	}
	for i := range a.Frames {
		number := w.functionNumber(s.Text, fr, len(a.Frames), i, it.Number)
		dst = w.below(dst, s, func(b []byte) []byte { return w.appendBare(b, number, fr.Addr.Of(s.Text), a, i) })
		dst = w.source(ctx, dst, s, a, i, nil, nil)
	}
	return dst
}

// below adds a line of the filter's own below a text that stays as it is.
func (w *renderer) below(dst []byte, s parse.Segment, write func([]byte) []byte) []byte {
	dst = append(append(dst, s.Sep...), "  -> "...)
	return w.added(dst, s, write)
}
