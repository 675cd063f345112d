package print

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/symsrc"
)

// orMark stands before all originals of a frame but the first, as retrace of R8 writes it.
const orMark = "<OR> "

// nativeMethod is in the place of the file and line of a method that has none, in the cases of ART and of the JDK.
var nativeMethod = []byte("Native Method")

// Leaves reports whether a line leaves a text of that style: its only frame is one that a compiler has made.
func Leaves(s parse.Segment, style Style, items []Item) bool {
	a := items[0].Answer
	return len(items) == 1 && a != nil && a.Java != nil && a.Java.Dropped && !s.Quoted() && style != Append
}

// java writes a text with a frame of Java, or with the name of an exception. Every function has a line of its own, with what stands
// around the frame.
func (w *Text) java(ctx context.Context, dst []byte, s parse.Segment, it *Item) []byte {
	fr, a := it.Frame, it.Answer
	w.FollowColor(s.Text[:fr.Whole.Start])
	before, after := s.Text[:fr.Whole.Start], s.Text[fr.Whole.End:]
	switch {
	case a != nil && a.Java != nil && a.Java.InPlace:
		return w.compiled(dst, s, it)
	case fr.Shape == frame.Thrown && w.opt.Style == Append:
		dst = append(dst, s.Text...)
		if w.opt.Observed {
			return dst
		}
		return w.below(dst, s, func(b []byte) []byte { return w.appendName(b, symsrc.Visible(it.Name), false) })
	case fr.Shape == frame.Thrown:
		dst = w.added(append(dst, before...), s, func(b []byte) []byte { return w.appendName(b, symsrc.Visible(it.Name), false) })
		return append(dst, after...)
	case w.opt.Style == Append:
		return w.javaBelow(ctx, dst, s, it)
	case Leaves(s, w.opt.Style, []Item{*it}):
		return dst
	case a == nil || len(a.Java.Candidates) == 0:
		dst = append(dst, s.Text[:fr.Whole.End]...)
		if a != nil {
			dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, fr.Whole.End) })
		}
		return append(dst, after...)
	}
	first := true
	for c, i := range inDepth(a.Java.Candidates) {
		if !first {
			dst = append(dst, s.Sep...)
		}
		if c > 0 {
			dst = append(append(append(dst, s.Text[:fr.Gap.Start]...), orMark...), s.Text[fr.Gap.Start:fr.Whole.Start]...)
		} else {
			dst = append(dst, before...)
		}
		dst = w.added(dst, s, func(b []byte) []byte { return w.appendJava(b, s.Text, fr, a.Java.Candidates[c], i) })
		if first || len(a.Frames) > 0 {
			dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, fr.Whole.End) })
		}
		dst = append(dst, after...)
		if len(a.Frames) > 0 {
			dst = w.source(ctx, dst, s, a, i, s.Text[:fr.Gap.Start], after)
		}
		first = false
	}
	return dst
}

// inDepth yields the functions of chains in the order in which retrace of R8 writes them: those at one depth together, each of them once. It
// yields the number of the chain and the place of the function in it.
func inDepth(chains [][]symsrc.Frame) iter.Seq2[int, int] {
	return func(yield func(chain, i int) bool) {
		for i, more := 0, true; more; i++ {
			more = false
			for c := range chains {
				if i >= len(chains[c]) {
					continue
				}
				more = true
				if !slices.ContainsFunc(chains[:c], func(other []symsrc.Frame) bool { return i < len(other) && other[i] == chains[c][i] }) && !yield(c, i) {
					return
				}
			}
		}
	}
}

// javaBelow writes a text as it is, and what its frame was below it.
func (w *Text) javaBelow(ctx context.Context, dst []byte, s parse.Segment, it *Item) []byte {
	if w.opt.Observed {
		return w.observedBelow(dst, s, []Item{*it})
	}
	dst = append(dst, s.Text...)
	if it.Answer == nil {
		return dst
	}
	chains := it.Answer.Java.Candidates
	for c, i := range inDepth(chains) {
		dst = w.below(dst, s, func(b []byte) []byte {
			if c > 0 {
				b = append(b, orMark...)
			}
			return w.appendJava(b, s.Text, it.Frame, chains[c], i)
		})
		if len(it.Answer.Frames) > 0 {
			dst = w.source(ctx, dst, s, it.Answer, i, nil, nil)
		}
	}
	return dst
}

// appendJava writes `com.example.Class.method(File.java:12)`, in the color of functions and files, and with a link to the file. Spaces before
// the parenthesis stay.
func (w *renderer) appendJava(dst, text []byte, fr *parse.Frame, chain []symsrc.Frame, i int) []byte {
	of := &chain[i]
	dst = w.appendName(dst, symsrc.Visible(of.Func), i < len(chain)-1)
	for at := fr.Func.End; at < len(text) && text[at] == ' '; at++ {
		dst = append(dst, ' ')
	}
	dst = append(dst, '(')
	if bytes.EqualFold(fr.SymbolText, nativeMethod) {
		return append(append(dst, fr.SymbolText...), ')')
	}
	place := symsrc.Visible(of.File[strings.LastIndexByte(of.File, '/')+1:])
	if of.Line > 0 {
		place += ":" + strconv.Itoa(of.Line)
	}
	p := w.palette()
	if p == nil {
		return append(append(dst, place...), ')')
	}
	if link := w.opt.Links.Begin(w.opt.Names.local(of.File), of.Line, 0); link != "" && !bool(w.Color.link) {
		place = link + place + linkEnd
	}
	return append(w.paint(dst, p.File, place), ')')
}

// compiled writes a frame of machine code that names a method of Java: its number as others have it, and the method's own name.
func (w *Text) compiled(dst []byte, s parse.Segment, it *Item) []byte {
	fr, a := it.Frame, it.Answer
	name := bytes.LastIndexByte(fr.Hint.Of(s.Text), '+')
	if name < 0 {
		name = len(fr.Hint.Of(s.Text))
	}
	dst = appendNumber(append(dst, s.Text[:fr.Num.Start]...), fr.Num.Of(s.Text), it.Number)
	below := w.opt.Style == Append
	if len(a.Frames) == 0 || below {
		dst = append(dst, s.Text[fr.Num.End:fr.Whole.End]...)
		dst = w.added(dst, s, func(b []byte) []byte { return w.appendReason(b, a, s.Text, fr.Whole.End) })
		dst = append(dst, s.Text[fr.Whole.End:]...)
		if len(a.Frames) > 0 && !w.opt.Observed {
			dst = w.below(dst, s, func(b []byte) []byte { return w.appendName(b, symsrc.Visible(a.Frames[0].Func), false) })
		}
		return dst
	}
	dst = append(dst, s.Text[fr.Num.End:fr.Hint.Start]...)
	dst = w.added(dst, s, func(b []byte) []byte { return w.appendName(b, symsrc.Visible(a.Frames[0].Func), false) })
	return append(dst, s.Text[fr.Hint.Start+name:]...)
}
