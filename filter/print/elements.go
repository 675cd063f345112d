package print

import (
	"bytes"
	"context"
	"strconv"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// elements writes a text with its elements in readable form.
func (w *Text) elements(dst []byte, s parse.Segment, items []Item) []byte {
	dst = w.inPlace(dst, s, items, s.Left, len(s.Text))
	if w.opt.Style == Append {
		for i := range items {
			if e := items[i].Element; !e.Keep && !e.Contextual() && e.Tag != markup.Dumpfile {
				dst = w.elementBelow(dst, s, &items[i])
			}
		}
	}
	return dst
}

// inPlace writes text[from:to] with every element replaced in its place.
func (w *Text) inPlace(dst []byte, s parse.Segment, items []Item, from, to int) []byte {
	pos := from
	for i := range items {
		it := &items[i]
		e := it.Element
		if e.Start < s.Left && from == s.Left {
			dst = w.begunElement(append(dst, s.Text[pos:e.End]...), s, it)
			pos = e.End
			continue
		}
		if e.Start < from || e.End > to {
			continue
		}
		dst = append(dst, s.Text[pos:e.Start]...)
		w.FollowColor(s.Text[pos:e.Start])
		pos = e.End
		raw := s.Text[e.Start:e.End]
		switch {
		case e.Tag == markup.Hexdict:
			dst = w.dump(dst, raw, it.Values)
		case e.Keep || w.opt.Style == Append || e.Contextual() && w.opt.Context == ContextKeep:
			dst = append(dst, raw...)
		case !s.Quoted():
			dst = w.replaced(dst, s.Text, it)
		default:
			text := w.replaced(nil, s.Text, it)
			if rest, same := bytes.CutPrefix(text, w.outside(raw)); same { // it stays as it is
				dst, text = append(dst, raw...), rest
			}
			dst = appendQuoted(dst, s, text)
		}
	}
	return append(dst, s.Text[pos:to]...)
}

// begunElement adds what an element stands for after it, since it began in an earlier part of its line, which has left.
func (w *Text) begunElement(dst []byte, s parse.Segment, it *Item) []byte {
	e := it.Element
	if e.Keep || e.Contextual() || e.Tag == markup.Hexdict || e.Tag == markup.Dumpfile || bytes.HasPrefix(s.Text[e.End:], arrow) {
		return dst
	}
	text := w.replaced(nil, s.Text, it)
	if len(text) == 0 || bytes.HasPrefix(text, w.outside(s.Text[e.Start:e.End])) {
		return dst
	}
	return w.added(dst, s, func(b []byte) []byte { return append(append(b, arrow...), text...) })
}

// arrow stands between what the log has and what is added after it.
var arrow = []byte(" -> ")

// elementBelow adds what an element stands for below the text that it stays in.
func (w *Text) elementBelow(dst []byte, s parse.Segment, it *Item) []byte {
	raw := w.outside(s.Text[it.Element.Start:it.Element.End])
	text := w.replaced(nil, s.Text, it)
	if bytes.HasPrefix(text, raw) || len(text) == 0 {
		return dst
	}
	return w.below(dst, s, func(b []byte) []byte { return append(b, text...) })
}

// replaced writes the readable form of one element, or the element itself if nothing is known.
func (w *Text) replaced(dst, text []byte, it *Item) []byte {
	e, a := it.Element, it.Answer
	raw := w.outside(text[e.Start:e.End])
	switch e.Tag {
	case markup.Symbol:
		if it.Name == "" {
			return dst
		}
		return w.appendName(dst, w.opt.Names.function(it.Name, ""), false)
	case markup.Reset, markup.Module, markup.MMap:
		return w.contextInPlace(dst, raw, it)
	case markup.Dumpfile:
		return w.dumpfile(dst, &e.Element)
	}
	switch {
	case len(a.Frames) == 0:
		return w.unresolved(dst, raw, text[e.End:], e.Addr-a.Back, a)
	case e.Tag == markup.Data:
		return w.appendVariable(dst, a, 0)
	case e.Tag == markup.PC:
		dst = append(w.appendFunc(dst, a, 0), '[')
		return append(w.appendFile(dst, a, 0, false), ']')
	}
	return w.appendMessage(w.appendReason(w.appendSentence(dst, a), a, text, e.End), e)
}

// frameLine writes a text that is one frame of a backtrace: a line per function, innermost first, each with what stands
// before and after the element.
func (w *Text) frameLine(ctx context.Context, dst []byte, s parse.Segment, items []Item, alone int) []byte {
	it := &items[alone]
	e, a, n := it.Element, it.Answer, it.Number
	if w.opt.Style == Append && w.opt.Observed {
		return w.observedBelow(dst, s, items[alone:alone+1])
	}
	color := w.Color
	before := w.around(s, items, 0, e.Start)
	after := w.around(s, items, e.End, len(s.Text))
	w.Color = color
	w.FollowColor(s.Text[:e.Start])
	if len(a.Frames) == 0 && (a.Module == nil || w.opt.Style != Annotate) {
		w.mark(dst, a, 0)
		dst = append(append(dst, before...), s.Text[e.Start:e.End]...)
		dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, e.End) })
		return append(dst, after...)
	}
	if w.opt.Style == Append {
		dst = append(dst, s.Text...)
	}
	for i := range max(1, len(a.Frames)) {
		if w.opt.Style == Append {
			dst = w.below(dst, s, func(b []byte) []byte { return w.bareElement(b, e, a, i, n) })
			dst = w.source(ctx, dst, s, a, i, nil, nil)
			continue
		}
		if i > 0 {
			dst = append(dst, s.Sep...)
		}
		w.mark(dst, a, i)
		dst = append(dst, before...)
		dst = w.added(dst, s, func(b []byte) []byte {
			if w.opt.Style == Replace {
				return w.bareElement(b, e, a, i, n)
			}
			return w.appendBacktrace(b, e, a, i, n, e.Addr-a.Back)
		})
		dst = append(dst, after...)
		if i < len(a.Frames) {
			dst = w.source(ctx, dst, s, a, i, before, after)
		}
	}
	return dst
}

// around returns what stands before or after the frame's element, with the other elements there replaced.
func (w *Text) around(s parse.Segment, items []Item, from, to int) []byte {
	if len(items) == 1 {
		return s.Text[from:to]
	}
	return w.inPlace(nil, s, items, from, to)
}

// bareElement writes `#N addr in func file:line`, with the address as logged.
func (w *renderer) bareElement(dst []byte, e *parse.Element, a *resolve.Answer, i int, n uint64) []byte {
	return w.appendBare(dst, w.elementNumber(nil, a, i, n), e.BTFields.AddrText, a, i)
}

// elementNumber writes the number of a function: `N.K` for an inlined one unless numbers count on.
func (w *renderer) elementNumber(dst []byte, a *resolve.Answer, i int, n uint64) []byte {
	if w.opt.Renumber == RenumberAlways {
		return strconv.AppendUint(dst, n+uint64(i), 10)
	}
	dst = strconv.AppendUint(dst, n, 10)
	if i < len(a.Frames)-1 {
		dst = append(dst, '.')
		dst = strconv.AppendInt(dst, int64(i+1), 10)
	}
	return dst
}

// appendBacktrace writes one function in llvm-symbolizer's layout, `#N` right-aligned to six columns and `.K` left-
// aligned to three:
//
//	#0.1  0x0000000000011150 step_inner /src/tiny_inl.h:5:13 (libtiny.so+0x1150)
//	#0    0x0000000000011150 tiny_work /src/tiny.c:12:11 (libtiny.so+0x1150)
//
// A frame without an answer is `#N addr (name+0xrel) (BuildId: id)`: a later run with more symbols can resolve that.
func (w *renderer) appendBacktrace(dst []byte, e *parse.Element, a *resolve.Answer, i int, n, addr uint64) []byte {
	if w.opt.Screen != nil && !w.Quoted && len(a.Frames) > 0 {
		return w.screenBacktrace(dst, e, a, i, n, addr)
	}
	var digits [24]byte
	number := w.elementNumber(digits[:0], a, i, n)
	whole := bytes.IndexByte(number, '.')
	if whole < 0 {
		whole = len(number)
	}
	for k := whole + 1; k < 6; k++ {
		dst = append(dst, ' ')
	}
	dst = append(dst, '#')
	dst = append(dst, number...)
	for k := len(number) - whole; k < 3; k++ {
		dst = append(dst, ' ')
	}
	dst = append(dst, ' ')
	dst = w.hushed(appendAddress(w.hush(dst), addr))
	dst = append(dst, ' ')
	if len(a.Frames) > 0 {
		dst = append(dst, w.place(a, i)...)
		if w.shown(a).nameOnly {
			// In this layout a name alone would be read as one that still lacks its place.
			dst = append(dst, " ??:0"...)
		}
		dst = append(dst, ' ')
		dst = w.hushed(appendModuleOffset(w.hush(dst), a))
	} else {
		dst = a.Module.AppendID(appendModuleOffset(dst, a))
	}
	dst = w.appendReason(dst, a, nil, 0)
	if i == max(1, len(a.Frames))-1 {
		dst = w.appendMessage(dst, e)
	}
	return dst
}

// appendAddress writes an address as 0x and 16 digits.
func appendAddress(dst []byte, addr uint64) []byte {
	return scan.AppendHex16(append(dst, '0', 'x'), addr)
}

// appendMessage writes what an emitter put after the fields that count, as in `{{{bt:1:0xbb57d370b0:sp 0x3f540}}}`.
func (w *renderer) appendMessage(dst []byte, e *parse.Element) []byte {
	if e.Tag == markup.BT && len(e.BTFields.Message) > 0 {
		dst = symsrc.AppendVisible(append(dst, ' '), string(e.BTFields.Message))
	}
	return dst
}

// unresolved writes an element of a sentence that has no name: the address and its place in the module if the module is
// known, otherwise the element as it is.
func (w *renderer) unresolved(dst, raw, after []byte, addr uint64, a *resolve.Answer) []byte {
	if a.Module == nil || w.opt.Style != Annotate {
		return w.appendReason(append(dst, raw...), a, after, 0)
	}
	dst = append(w.hushed(appendAddress(w.hush(dst), addr)), ' ')
	return w.appendReason(a.Module.AppendID(appendModuleOffset(dst, a)), a, nil, 0)
}

// appendModuleOffset writes `(name+0xoffset)`.
func appendModuleOffset(dst []byte, a *resolve.Answer) []byte {
	dst = append(append(append(dst, '('), a.Module.Shown...), "+0x"...)
	return append(strconv.AppendUint(dst, a.Offset, 16), ')')
}

// dump writes a part of a dump, with the values that a footnote explains in color.
func (w *renderer) dump(dst, text []byte, values []parse.Pair) []byte {
	pos := 0
	restore := w.Color
	for _, v := range values {
		dst = append(dst, text[pos:v.Start]...)
		w.FollowColor(text[pos:v.Start])
		dst = w.paint(dst, w.opt.Palette.Func, string(text[v.Start:v.End]))
		pos = v.End
	}
	w.Color = restore
	return append(dst, text[pos:]...)
}

// Register writes what a value of a dump points at, as `  [RIP] func file:line`.
func (w *Text) Register(dst, before []byte, _ *resolve.Thread, v parse.Value, a *resolve.Answer, end []byte) []byte {
	dst = append(append(append(append(dst, before...), "  ["...), v.Key...), "] "...)
	if a.Kind == symsrc.Data {
		dst = w.appendVariable(dst, a, 0)
	} else {
		dst = w.appendSentence(dst, a)
	}
	return append(dst, end...)
}

// dumpfile writes `[[[dumpfile sancov "sancov.8675"]]]` as the readable form of a dumpfile element.
func (w *renderer) dumpfile(dst []byte, e *markup.Element) []byte {
	kind, name, _ := e.Dumpfile()
	dst = symsrc.AppendVisible(append(dst, "[[[dumpfile "...), string(kind))
	dst = symsrc.AppendVisible(append(dst, ` "`...), string(name))
	return append(dst, `"]]]`...)
}
