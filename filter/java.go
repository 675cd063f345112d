package filter

import (
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
)

// original is what a frame or an exception of Java was.
type original struct {
	// source is that of the frame in the log.
	source []byte
	frame  *resolve.Answer
	thrown string
}

// weighed says with which maps lines are read, by their numbers: those whose trace says that they are about Java, or is evidence for a map.
type weighed map[int]resolve.Weighed

// maxWeighed bounds the lines remembered; they leave when they are read.
const maxWeighed = 1 << 12

// note notes how a line is read.
func (w *weighed) note(line int, as resolve.Weighed) {
	if *w == nil || len(*w) >= maxWeighed {
		*w = weighed{}
	}
	(*w)[line] = as
}

// java returns the maps that restore names of Java, nil if there are none.
func (f *Filter) java() *resolve.Java { return f.resolver.Java }

// readJava finds the frame of Java of a segment, or the exception, if a map has another name for it.
func (f *Filter) readJava(ctx context.Context, t *resolve.Thread, l *parse.Line) {
	j := f.java()
	if j == nil || l.JSON && len(l.Text) == 0 {
		return
	}
	p := &f.parser
	announced := p.ReadJava(l.Segment)
	if len(p.Frames) == 0 {
		return
	}
	as, said := f.weighed[f.line]
	f.original = original{}
	switch fr := &p.Frames[0]; {
	case fr.Shape == frame.Java:
		f.original.frame, f.original.source = j.Frame(ctx, t, fr, &as), fr.SymbolText
	case announced || said:
		f.original.thrown = j.Thrown(t, string(fr.HintText), &as)
	}
	if f.original.frame == nil && f.original.thrown == "" {
		p.Frames = p.Frames[:0]
	}
}

// javaAnswer returns the answer for a frame of Java, or of machine code that names a method of it. It is nil for other frames.
func (f *Filter) javaAnswer(t *resolve.Thread, fr *parse.Frame) *resolve.Answer {
	j := f.java()
	switch {
	case j == nil:
		return nil
	case fr.Shape == frame.Java:
		return f.original.frame
	case fr.Family == "android" && len(fr.HintText) > 0:
		return j.Compiled(t, fr.HintText)
	}
	return nil
}
