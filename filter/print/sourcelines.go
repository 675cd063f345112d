package print

import (
	"context"
	"strconv"
	"sync"
	"unicode/utf8"

	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Sources reads source files. Excerpt returns the text around a place, with as many lines before as after it. Several
// goroutines may call it at once.
type Sources interface {
	Excerpt(ctx context.Context, p symsrc.Place, around int) symsrc.Excerpt
}

// excerpt returns the source of one function of an answer. It asks for the sources of all functions at once, since they may
// come from a server.
func (w *renderer) excerpt(ctx context.Context, a *resolve.Answer, i int) *symsrc.Excerpt {
	p := w.shown(a)
	if p.excerpts == nil {
		p.excerpts = make([]*symsrc.Excerpt, len(a.Frames))
		var asked sync.WaitGroup
		for k := range a.Frames {
			asked.Go(func() { p.excerpts[k] = w.askSource(ctx, a, k) })
		}
		asked.Wait()
	} else if x := p.excerpts[i]; x.Retry != nil && x.Retry() {
		p.excerpts[i] = w.askSource(ctx, a, i)
	}
	return p.excerpts[i]
}

// askSource asks for the source of one function. It runs in a goroutine of its own, in which a panic would end the program.
func (w *renderer) askSource(ctx context.Context, a *resolve.Answer, i int) (x *symsrc.Excerpt) {
	defer func() {
		if cause := recover(); cause != nil {
			x = &symsrc.Excerpt{Note: "internal error" + guard.Fault(cause)}
		}
	}()
	fr := &a.Frames[i]
	if fr.File == "" || fr.Line == 0 || a.Module == nil {
		return &symsrc.Excerpt{}
	}
	got := w.opt.Sources.Excerpt(ctx, symsrc.Place{Module: a.Module.Module, Files: a.Files(), Made: a.Made, Path: fr.File,
		Local: w.opt.Names.local(fr.File), MD5: fr.MD5, Line: fr.Line}, w.opt.SourceLines/2)
	return &got
}

// Awaited reports whether the source of one of the answer's functions may still come.
func Awaited(a *resolve.Answer) bool {
	p, _ := a.Printed.(*printed)
	if p == nil {
		return false
	}
	for _, x := range p.excerpts {
		if x.Retry != nil {
			return true
		}
	}
	return false
}

// source writes the lines of source code of one function below its line. Each begins with before, the text before the frame,
// and ends with the escape sequences of after, the text after it.
func (w *renderer) source(ctx context.Context, dst []byte, s parse.Segment, a *resolve.Answer, i int, before, after []byte) []byte {
	if w.opt.Sources == nil || w.opt.SourceLines == 0 {
		return dst
	}
	screen := w.screen(s)
	if screen != nil && (!w.own(a, i) || screen.FirstSource && w.sourced) {
		return dst
	}
	w.sourced = true
	x := w.excerpt(ctx, a, i)
	line := func(write func([]byte) []byte) {
		dst = append(append(dst, s.Sep...), before...)
		dst = appendEscapes(w.added(dst, s, write), after)
	}
	w.Code.add(x, a.Frames[i].File)
	for k, text := range x.Lines {
		line(func(b []byte) []byte { return w.appendSource(b, x.First+k, text, x.First+k == a.Frames[i].Line) })
	}
	if x.Note != "" && (!x.Absent || w.opt.Explain) && (len(x.Lines) > 0 || screen == nil || !screen.FirstSource) {
		line(func(b []byte) []byte { return w.appendNote(b, x.Note) })
	}
	return dst
}

// seenSources is what became of source files: whether any was there, and the path of the first that was missing, or "".
type seenSources struct {
	Any     bool
	Missing string
}

// add notes the source of one function, in the file at path.
func (s *seenSources) add(x *symsrc.Excerpt, path string) {
	if !x.Absent {
		s.Any = s.Any || len(x.Lines) > 0 || x.Note != ""
	} else if s.Missing == "" {
		s.Missing = path
	}
}

// sourceIndent is the indent of lines of source code.
const sourceIndent = "    "

// appendSource writes a line of source code:
//
//	     7 | int inner_func(int *p) {
//	>    8 |   return *p;
//
// The gutter has the same width for every frame.
func (w *renderer) appendSource(dst []byte, number int, text string, marked bool) []byte {
	colored := w.palette() != nil && w.Color.Plain()
	dst = append(dst, sourceIndent...)
	var digits [20]byte
	n := strconv.AppendInt(digits[:0], int64(number), 10)
	switch {
	case !marked:
		dst = append(w.hush(dst), ' ')
	case colored:
		dst = append(append(dst, w.palette().Mark...), '>')
	default:
		dst = append(dst, '>')
	}
	for k := len(n); k < 5; k++ {
		dst = append(dst, ' ')
	}
	dst = append(append(dst, n...), " |"...)
	if marked && colored && w.palette().Mark != "" {
		dst = append(dst, w.palette().Off...)
	}
	if text != "" {
		dst = w.appendCode(append(dst, ' '), text)
	}
	if !marked {
		dst = w.hushed(dst)
	}
	return dst
}

// appendNote writes a warning about the lines.
func (w *renderer) appendNote(dst []byte, note string) []byte {
	dst = append(dst, sourceIndent+"       "...)
	note = "(" + symsrc.Visible(note) + ")"
	if p := w.palette(); p != nil {
		return w.paint(dst, p.Note, note)
	}
	return append(dst, note...)
}

// codeColumns is how many columns of a line of source code are written in a pipe, codeTab the width of a tab, and gutter that of what stands
// before the code.
const (
	codeColumns = 200
	codeTab     = 4
	gutter      = len(sourceIndent) + len(">    8 | ")
)

// appendCode writes the text of a line of source code. Tabs become spaces, control characters are made visible, and a long line
// is cut. What looks like an element of markup is escaped, since it would be one when the log is filtered again.
func (w *renderer) appendCode(dst []byte, text string) []byte {
	text = symsrc.Inert(text)
	columns, ellipsis := codeColumns, "…"
	if w.opt.Screen != nil && !w.Quoted {
		if ellipsis = w.opt.Screen.ellipsis(); w.opt.Screen.Columns > 2*gutter {
			columns = w.opt.Screen.Columns - gutter - len(ellipsis)
		}
	}
	column := 0
	for len(text) > 0 {
		if column >= columns {
			return append(dst, ellipsis...)
		}
		_, n := utf8.DecodeRuneInString(text)
		before := len(dst)
		if text[0] == '\t' {
			for dst = append(dst, ' '); (column+len(dst)-before)%codeTab != 0; {
				dst = append(dst, ' ')
			}
		} else {
			dst = symsrc.AppendVisible(dst, text[:n])
		}
		if w.opt.Screen != nil && !w.Quoted {
			column += sgr.Width(dst[before:])
		} else {
			column += max(1, utf8.RuneCount(dst[before:]))
		}
		text = text[n:]
	}
	return dst
}
