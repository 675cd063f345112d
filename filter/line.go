package filter

import (
	"bytes"
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/mappings"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
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
	if f.opt.StripSGR && bytes.IndexByte(line, 0x1b) >= 0 {
		f.stripped = sgr.Uncolored(f.stripped[:0], line)
		line = f.stripped
	}
	return f.out.End(f.readable(ctx, f.out.Begin(dst, f.line, line), line))
}

// readable finds what a line holds, and prints it.
func (f *Filter) readable(ctx context.Context, dst, line []byte) (out []byte) {
	f.mark()
	defer f.rescue(&out, dst, line)
	body, end := scan.CutEnd(line)
	if !f.parser.Long {
		if out, ok := f.bareFrame(ctx, dst, f.resolver.Processes.Unnamed, body, end); ok {
			f.resolver.Processes.Handled(f.resolver.Processes.Unnamed)
			return out
		}
	}
	t, pre := f.of(nil, nil, body)
	f.resolver.Expect(t)
	f.out.By(t, pre, body)
	if f.window == 0 && !f.dump.open && numbered(body[pre.Start:pre.End]) && !parse.HasMarkup(body) {
		dst = f.ordinary(ctx, f.out.Flush(dst), t, body, end)
		f.noteLead(t, pre, body)
		f.resolver.Processes.Handled(t)
		f.text.FollowColor(line)
		return dst
	}
	if strings, ok := parse.Strings(body[pre.Start:pre.End]); ok && !f.dump.open {
		dst = f.object(ctx, f.out.Flush(dst), body, pre.Start, pre.End, strings)
		dst = f.out.Text(dst, end)
	} else {
		f.readContext(t, body[pre.Start:pre.End])
		dst = f.ownWords(ctx, dst, t, body, end)
		f.noteLead(t, pre, body)
	}
	f.resolver.Processes.Handled(t)
	f.text.FollowColor(line)
	return dst
}

// noteLead notes what precedes a line with a frame.
func (f *Filter) noteLead(t *resolve.Thread, pre *prefix.Prefix, body []byte) {
	if pre.Start > 0 && !pre.Partial && t.Stack.Line == f.line {
		t.Lead = append(t.Lead[:0], body[:pre.Start]...)
	}
}

// numbered reports whether a line begins like a frame, `#0`, and is neither a headline nor context: what most lines with a frame are.
func numbered(text []byte) bool {
	for i, c := range text {
		if c != ' ' && c != '\t' {
			return c == '#' && i+1 < len(text) && text[i+1]-'0' <= 9
		}
	}
	return false
}

// ownWords handles a line that a program wrote, with its loggers' prefixes.
func (f *Filter) ownWords(ctx context.Context, dst []byte, t *resolve.Thread, body, end []byte) []byte {
	t.Emitter.Note(body)
	defer t.Emitter.Over(body)
	if f.dump.open && f.dump.of == t.Process {
		var ok bool
		if dst, ok = f.dumpLine(ctx, dst, t, body, end); ok {
			return dst
		}
	}
	switch {
	case parse.HasMarkup(body):
		before := t.Space.Generation()
		dst = f.markup(ctx, dst, t, body, end)
		if p := &f.parser.Prefix; p.Start > 0 && !p.Partial && t.Space.Generation() != before {
			t.Sample = append(t.Sample[:0], body[:p.Start]...)
		}
		return f.dumps(ctx, dst, t, body, end)
	case frame.Candidate(body, f.numbers(), f.absolutes()):
		return f.ordinary(ctx, f.out.Flush(dst), t, body, end)
	}
	t.Interrupted(body)
	return f.out.Text(f.out.Text(f.out.Flush(dst), body), end)
}

// object handles a line that is a JSON object, as container runtimes and journald's JSON output write them, string by
// string. The fields of the object tell whose words they are.
func (f *Filter) object(ctx context.Context, dst, body []byte, start, end int, strings []frame.Span) []byte {
	whose := prefix.JSONKey(body[start:end])
	pos := 0
	f.parser.Quoted = true
	defer func() { f.parser.Quoted = false }()
	for _, s := range strings {
		s.Start, s.End = s.Start+start, s.End+start
		dst = f.out.Text(dst, body[pos:s.Start])
		pos = s.End
		text := s.Of(body)
		t, _ := f.of(&whose, body[start:end], text)
		f.readContext(t, text)
		t.Emitter.Note(text)
		dst = f.segment(ctx, dst, t, parse.Segment{Text: text, Sep: parse.Newline, JSON: true, Start: f.parser.Prefix.Start, End: f.parser.Prefix.End})
		t.Emitter.Over(text)
		f.resolver.Processes.Handled(t)
	}
	return f.out.Text(dst, body[pos:])
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
	for _, fr := range f.frames(parse.Segment{Text: begin}, false) {
		if len(fr.BuildIDText) == 0 {
			return false
		}
	}
	return true
}

// of reads the loggers' prefixes of a text and returns the thread that it is from. outer is the JSON object that the text is a string
// of, with the fields that say whose; both are nil for a line of its own.
func (f *Filter) of(outer *prefix.Prefix, outerLine, text []byte) (*resolve.Thread, *prefix.Prefix) {
	p := f.parser.ReadPrefix(text)
	return f.resolver.Processes.Thread(p, outer, outerLine, text), p
}

// ordinary handles a line that may hold frames.
func (f *Filter) ordinary(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	sep := end
	if len(sep) == 0 {
		sep = newline
	}
	return f.out.Text(f.segment(ctx, dst, p, parse.Segment{Text: body, Sep: sep, Start: f.parser.Prefix.Start, End: f.parser.Prefix.End}), end)
}

// segment handles one piece of text: it finds what the text says, and writes it.
func (f *Filter) segment(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment) []byte {
	items, alone := f.resolve(ctx, t, s)
	if len(items) == 0 {
		t.Interrupted(s.Text)
		return f.out.Text(dst, s.Text)
	}
	return f.out.Items(ctx, dst, t, s, items, alone)
}

// readContext takes what a line of a process's own words says of its address space.
func (f *Filter) readContext(t *resolve.Thread, text []byte) {
	if f.window > 0 {
		f.window--
	}
	window := mappings.Announces(text)
	mapping, file, id := f.resolver.ApplyListed(t, text, f.line)
	if file != "" {
		f.out.BuildID(t.Process, file, id)
	}
	if mapping {
		f.out.Listed(t.Process)
		window = mappings.Window
	}
	f.window = max(f.window, window)
}

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	defer f.rescan()
	return f.resolver.Preload(list)
}

// watching reports whether every line must be looked at, whatever it holds.
func (f *Filter) watching() bool { return f.dump.open || f.window > 0 || f.ahead.holding() }
