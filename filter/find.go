package filter

import (
	"bytes"
	"fmt"
	"slices"

	"qss-filter/filter/frame"
	"qss-filter/sgr"
)

// sighting is a frame of the text at hand. Its spans are those of the text as it stands; the words that are asked with have
// no escape sequences in them.
type sighting struct {
	frame.Frame
	module, buildID, member, symbol, hint []byte
}

// find fills f.frames with the frames of a text. Escapes, those of a terminal and those of a JSON string, are out of the
// finders' sight.
func (f *Filter) find(s segment, renumbering bool) {
	f.frames = f.frames[:0]
	if !frame.Candidate(s.text, renumbering, f.absolutes()) {
		return
	}
	plain, moved := f.plain(s)
	f.search.Reset(plain[:f.plainEnd(s, plain, moved)])
	for fr := f.search.Next(0); fr != nil; fr = f.search.Next(fr.Whole.End) {
		found := sighting{*fr, fr.Module.Of(plain), fr.BuildID.Of(plain), fr.Member.Of(plain), fr.Symbol.Of(plain),
			hintOf(fr).Of(plain)}
		if moved {
			for _, span := range []*frame.Span{&found.Whole, &found.Num, &found.Addr, &found.Gap, &found.Module, &found.Off,
				&found.BuildID, &found.Member, &found.Symbol, &found.Func, &found.Source} {
				*span = f.unstrip(s, *span)
			}
			if found.Gap.Start > found.Whole.End { // an answer at the frame's end takes the frame's colour
				found.Gap = frame.Span{Start: found.Whole.End, End: found.Whole.End}
			}
		}
		f.frames = append(f.frames, found)
	}
	if f.search.Spent() {
		f.warn("search", fmt.Sprintf("line %d: too much of it is almost a frame: the rest of such a line passes as it came", f.line))
	}
}

// plainEnd returns where the words of the text end in its plain form.
func (f *Filter) plainEnd(s segment, plain []byte, moved bool) int {
	switch {
	case s.end == 0:
		return len(plain)
	case !moved:
		return s.end
	}
	n, _ := slices.BinarySearch(f.stripPos[:len(plain)], int32(s.end))
	return n
}

// plain returns a text without escapes, until the next call; moved is set where it had any, and f.stripPos then holds, for each
// byte, where it stands in the text.
func (f *Filter) plain(s segment) (plain []byte, moved bool) {
	plain = s.text
	if s.json && bytes.IndexByte(plain, '\\') >= 0 {
		f.unquoted, f.unquotedPos = unescapeJSON(f.unquoted[:0], f.unquotedPos[:0], plain)
		plain, moved = f.unquoted, true
	}
	if bytes.IndexByte(plain, 0x1b) < 0 {
		if moved {
			f.strip, f.stripPos = append(f.strip[:0], plain...), append(f.stripPos[:0], f.unquotedPos...)
			plain = f.strip
		}
		return plain, moved
	}
	f.strip, f.stripPos = sgr.Strip(f.strip[:0], f.stripPos[:0], plain)
	if moved {
		for i, at := range f.stripPos {
			f.stripPos[i] = f.unquotedPos[at]
		}
	}
	return f.strip, true
}

// unstrip maps a span of the plain text back. An empty one goes behind the escape sequences at its place, so that what is
// put there does not take their colour.
func (f *Filter) unstrip(s segment, span frame.Span) frame.Span {
	if span == (frame.Span{}) {
		return span
	}
	start := int(f.stripPos[span.Start])
	if span.Empty() {
		return frame.Span{Start: start, End: start}
	}
	end := int(f.stripPos[span.End-1])
	if s.json {
		return frame.Span{Start: start, End: end + escapeLen(s.text[end:])}
	}
	return frame.Span{Start: start, End: end + 1}
}
