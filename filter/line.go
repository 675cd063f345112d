package filter

import (
	"bytes"
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/prefix"
	"qss-filter/sgr"
)

// Line appends the annotated form of one line to dst. The line comes with its end ("\n", "\r\n", or none for the last
// one) and the annotated form has its own: a frame with inlined functions becomes several lines, and a context element
// alone on its line none at all, since it is folded with those that follow and comes out before the next other line,
// or with Flush.
func (f *Filter) Line(ctx context.Context, dst, line []byte) (out []byte) {
	f.line++
	f.mark()
	defer f.rescue(&out, dst, line)
	if f.ahead != nil {
		return f.lookingAhead(ctx, dst, line)
	}
	return f.finished(ctx, dst, line)
}

// finished is Line for a line that nothing more is waited for.
func (f *Filter) finished(ctx context.Context, dst, line []byte) (out []byte) {
	f.mark()
	defer f.rescue(&out, dst, line)
	if f.dedupe != nil {
		return f.deduped(ctx, dst, line)
	}
	return f.annotated(ctx, dst, line)
}

// annotated is Line in the filter's own style.
func (f *Filter) annotated(ctx context.Context, dst, line []byte) []byte {
	if f.opt.StripSGR && bytes.IndexByte(line, 0x1b) >= 0 {
		f.stripped = sgr.Uncolored(f.stripped[:0], line)
		line = f.stripped
	}
	if f.recorder != nil {
		return f.recorded(ctx, dst, line)
	}
	return f.readable(ctx, dst, line)
}

// readable is Line for a line that is as it should leave but for its frames.
func (f *Filter) readable(ctx context.Context, dst, line []byte) (out []byte) {
	f.mark()
	defer f.rescue(&out, dst, line)
	body, end := cutEnd(line)
	if !f.origins.long {
		if out, ok := f.bareFrame(ctx, dst, f.origins.nobody, body, end); ok {
			f.origins.handled(f.origins.nobody)
			return out
		}
	}
	t, pre := f.origins.of(nil, nil, body)
	f.scout.of = t
	f.recorder.writer(t, pre, body)
	if f.window == 0 && !f.dump.open && numbered(body[pre.Start:pre.End]) && !hasMarkup(body) {
		dst = f.text(ctx, f.fold.flush(dst), t, body, end)
		f.led(t, pre, body)
		f.origins.handled(t)
		f.followColour(line)
		return dst
	}
	if strings, ok := jsonStrings(body[pre.Start:pre.End]); ok && !f.dump.open {
		dst = f.object(ctx, f.fold.flush(dst), body, pre.Start, pre.End, strings)
		dst = append(dst, end...)
	} else {
		f.readContext(t, body[pre.Start:pre.End])
		dst = f.ownWords(ctx, dst, t, body, end)
		f.led(t, pre, body)
	}
	f.origins.handled(t)
	f.followColour(line)
	return dst
}

// led notes what stands before a line with a frame.
func (f *Filter) led(t *thread, pre *prefix.Prefix, body []byte) {
	if pre.Start > 0 && !pre.Partial && t.stack.line == f.line {
		t.lead = append(t.lead[:0], body[:pre.Start]...)
	}
}

// numbered tells a line that begins like a frame, `#0`, and is neither a headline nor context: what most lines with a frame are.
func numbered(text []byte) bool {
	for i, c := range text {
		if c != ' ' && c != '\t' {
			return c == '#' && i+1 < len(text) && text[i+1]-'0' <= 9
		}
	}
	return false
}

// ownWords handles a line that a program wrote, with its loggers' prefixes.
func (f *Filter) ownWords(ctx context.Context, dst []byte, t *thread, body, end []byte) []byte {
	t.emitter.note(body)
	defer t.emitter.over(body)
	if f.dump.open && f.dump.of == t.process {
		var ok bool
		if dst, ok = f.dumpLine(ctx, dst, t, body, end); ok {
			return dst
		}
	}
	switch {
	case hasMarkup(body):
		before := t.space.Generation()
		dst = f.markup(ctx, dst, t, body, end)
		if p := &f.origins.prefix; p.Start > 0 && !p.Partial && t.space.Generation() != before {
			t.sample = append(t.sample[:0], body[:p.Start]...)
		}
		return f.dumps(ctx, dst, t, body, end)
	case frame.Candidate(body, f.numbers(), f.absolutes()):
		return f.text(ctx, f.fold.flush(dst), t, body, end)
	}
	t.interrupted(body)
	return append(append(f.fold.flush(dst), body...), end...)
}

// object handles a line that is a JSON object, as container runtimes and journald's JSON output write them, string by
// string. The fields of the object tell whose words they are.
func (f *Filter) object(ctx context.Context, dst, body []byte, start, end int, strings []frame.Span) []byte {
	whose := prefix.JSONKey(body[start:end])
	pos := 0
	f.quoted = true
	defer func() { f.quoted = false }()
	for _, s := range strings {
		s.Start, s.End = s.Start+start, s.End+start
		dst = append(dst, body[pos:s.Start]...)
		pos = s.End
		text := s.Of(body)
		t, _ := f.origins.of(&whose, body[start:end], text)
		f.readContext(t, text)
		t.emitter.note(text)
		dst = f.segment(ctx, dst, t, segment{text: text, sep: jsonNewline, json: true, start: f.origins.prefix.Start, end: f.origins.prefix.End})
		t.emitter.over(text)
		f.origins.handled(t)
	}
	return append(dst, body[pos:]...)
}

// settled reports whether the beginning of a line means the same whatever follows it.
func (f *Filter) settled(begin []byte) (ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			f.broken(guard.Fault(cause))
			ok = false
		}
	}()
	for _, mark := range [][2]string{{"{{{", "}}}"}, {"<<<", ">>>"}} {
		open := bytes.LastIndex(begin, []byte(mark[0]))
		if open >= 0 && !bytes.Contains(begin[open:], []byte(mark[1])) {
			return false
		}
	}
	f.find(segment{text: begin}, false)
	for i := range f.frames {
		if len(f.frames[i].buildID) == 0 {
			return false
		}
	}
	return true
}

// followColour keeps the log's SGR state where our own text is coloured.
func (f *Filter) followColour(b []byte) {
	if f.opt.Palette != nil && bytes.IndexByte(b, 0x1b) >= 0 {
		f.colour.Feed(b)
		f.colour.link.Feed(b)
	}
}

// ink is what the log's own escape sequences have set up for the text behind them.
type ink struct {
	sgr.State
	link sgr.Link
}

// cutEnd splits a line into its text and its end.
func cutEnd(line []byte) (body, end []byte) {
	n := len(line)
	if n > 0 && line[n-1] == '\n' {
		n--
		if n > 0 && line[n-1] == '\r' {
			n--
		}
	}
	return line[:n], line[n:]
}
