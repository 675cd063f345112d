package filter

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

// frameLine writes a text that is one frame of a backtrace: a line per function, innermost first, each with what stands
// before and after the element.
func (w *textPrinter) frameLine(ctx context.Context, dst []byte, s parse.Segment, items []item, alone int) []byte {
	it := &items[alone]
	e, a, n := it.el, it.answer, it.number
	if w.opt.Style == Append && w.opt.Observed {
		return w.observedBelow(dst, s, items[alone:alone+1])
	}
	colour := w.colour
	before := w.around(s, items, 0, e.Start)
	after := w.around(s, items, e.End, len(s.Text))
	w.colour = colour
	w.followColour(s.Text[:e.Start])
	if len(a.Frames) == 0 && (a.Module == nil || w.opt.Style != Annotate) {
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

// bareFrame handles the line that markup is full of, a bt element and nothing else, without the questions that other
// lines raise. ok is false for any other line.
func (f *Filter) bareFrame(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) (out []byte, ok bool) {
	start := 0
	for start < len(body) && (body[start] == ' ' || body[start] == '\t') {
		start++
	}
	if !bytes.HasPrefix(body[start:], parse.OpenBraces) || f.dump.open {
		return dst, false
	}
	e, ok := markup.Next(body, start)
	if !ok || e.Tag != markup.BT || e.Start != start || e.End != len(body) {
		return dst, false
	}
	f.parser.Elements = append(f.parser.Elements[:0], f.parser.Read(e, f.faults.left(f.line, f.objects != nil) <= 0))
	if el := &f.parser.Elements[0]; el.Keep {
		if el.Err != nil && f.malformed(body, el.Err) {
			f.out.Malformed(el.Err)
		}
		return dst, false
	}
	sep := end
	if len(sep) == 0 {
		sep = newline
	}
	text := parse.Segment{Text: body, Sep: sep}
	f.items = append(f.items[:0], f.resolveElement(ctx, p, text, &f.parser.Elements[0], true))
	dst = f.print(ctx, f.out.Flush(dst), p, text, f.items, 0)
	return f.out.Text(dst, end), true
}

// around returns what stands before or after the frame's element, with the other elements there replaced.
func (w *textPrinter) around(s parse.Segment, items []item, from, to int) []byte {
	if len(items) == 1 {
		return s.Text[from:to]
	}
	return w.inPlace(nil, s, items, from, to)
}

// bareElement writes `#N addr in func file:line`, with the address as logged.
func (w *textPrinter) bareElement(dst []byte, e *parse.Element, a *resolve.Answer, i int, n uint64) []byte {
	return w.appendBare(dst, w.elementNumber(nil, a, i, n), e.BTFields.AddrText, a, i)
}

// elementNumber writes the number of a function: `N.K` for the inlined ones unless numbers count on.
func (w *textPrinter) elementNumber(dst []byte, a *resolve.Answer, i int, n uint64) []byte {
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
func (w *textPrinter) appendBacktrace(dst []byte, e *parse.Element, a *resolve.Answer, i int, n, addr uint64) []byte {
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
		if fr := &w.shown(a).frames[i]; fr.File == "" && len(a.Frames) == 1 {
			// In this layout a name alone would be read as one that still lacks its place.
			dst = append(dst, " ??:0"...)
		}
		dst = append(dst, ' ')
	}
	dst = append(w.hush(dst), '(')
	dst = append(dst, a.Module.Shown...)
	dst = append(dst, "+0x"...)
	dst = strconv.AppendUint(dst, a.Offset, 16)
	dst = append(dst, ')')
	if len(a.Frames) == 0 {
		dst = a.Module.AppendID(dst)
	}
	dst = w.hushed(dst)
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

// appendMessage writes what an emitter put behind the fields that count, as in `{{{bt:1:0xbb57d370b0:sp 0x3f540}}}`.
func (w *textPrinter) appendMessage(dst []byte, e *parse.Element) []byte {
	if e.Tag == markup.BT && len(e.BTFields.Message) > 0 {
		dst = symsrc.AppendVisible(append(dst, ' '), string(e.BTFields.Message))
	}
	return dst
}

// unresolved writes an element of a sentence of which no name is known: where its module is known, the address and
// where it lies in the module; else the element as it is.
func (w *textPrinter) unresolved(dst, raw, behind []byte, addr uint64, a *resolve.Answer) []byte {
	if a.Module == nil || w.opt.Style != Annotate {
		return w.appendReason(append(dst, raw...), a, behind, 0)
	}
	dst = appendAddress(dst, addr)
	dst = append(dst, " ("...)
	dst = append(dst, a.Module.Shown...)
	dst = append(dst, "+0x"...)
	dst = strconv.AppendUint(dst, a.Offset, 16)
	dst = append(dst, ')')
	dst = a.Module.AppendID(dst)
	return w.appendReason(dst, a, nil, 0)
}

// appendVariable writes `name` or `name+0x10`.
func (w *textPrinter) appendVariable(dst []byte, a *resolve.Answer, i int) []byte {
	dst = w.appendFunc(dst, a, i)
	if offset := a.Frames[i].Offset; offset > 0 {
		dst = append(dst, "+0x"...)
		dst = strconv.AppendUint(dst, offset, 16)
	}
	return dst
}
