package filter

import (
	"bytes"
	"context"
	"fmt"

	"qss-filter/filter/frame"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Line appends the annotated form of one line to dst. The line comes with its end ("\n", "\r\n", or none for the last
// one) and the annotated form has its own: a frame with inlined functions becomes several lines, and a context element
// alone on its line none at all, since it is folded with those that follow and comes out before the next other line,
// or with Flush.
func (f *Filter) Line(ctx context.Context, dst, line []byte) (out []byte) {
	f.line++
	f.text.Fold.Mark()
	defer f.rescue(&out, dst, line)
	if f.opt.Read != nil {
		f.opt.Read(f.line, line)
	}
	line = f.uncolored(line)
	f.resolver.Processes.Pass(line)
	l := f.readLine(line, f.line)
	t := f.thread(l)
	f.resolver.Prefetch.Expect(t)
	f.resolver.Begin(l.Text[:f.parser.Prefix.Start])
	dst = f.out.Begin(dst, f.line, line)
	f.idle, f.lasting, f.by = true, true, t
	f.resolver.Counts.Begin()
	by := &f.parser.Prefix
	if l.Left > 0 { // it is that of the text with what has left
		by = &l.Owner
	}
	f.out.By(t, by, l.Body)
	for first := true; f.parser.Next(l); first = false {
		if l.Inside {
			t = f.thread(l)
		}
		if first && f.readImages(t, l) {
			defer forgetImages(t.Process)
		}
		f.readObjects(t, l)
		f.readList(t, l)
		dst = f.segment(ctx, dst, t, l, line)
		f.idle = f.idle && f.idles(l)
		f.lasting = f.lasting && t == f.by && f.lasts(l)
		f.over(t, l)
	}
	f.text.FollowColor(line)
	f.joints.forget(f.line)
	return f.out.End(dst)
}

// segment appends what becomes of a segment of a line.
func (f *Filter) segment(ctx context.Context, dst []byte, t *resolve.Thread, l *parse.Line, line []byte) []byte {
	f.recalled = nil
	look := func(dst []byte) []byte {
		if f.recalled == nil {
			f.read(ctx, t, l)
		}
		return f.print(ctx, dst, t, l)
	}
	k := &f.liner.known
	if known, ok := k.frameOf(l, line); ok {
		return k.segment(dst, t, l, &known, look)
	}
	return look(dst)
}

// readLine begins to read a line of that number, which may be one part of several.
func (f *Filter) readLine(line []byte, number int) *parse.Line {
	l := f.parser.LineAt(line, number)
	if j := f.joints[number]; j != nil {
		f.parser.Join(l, j)
	} else if l.InPieces() {
		f.narrow(l)
	}
	return l
}

// narrow leaves out the strings of a line that mean nothing now. Where names of Java are known, any text may be an exception.
func (f *Filter) narrow(l *parse.Line) {
	f.liner.rescan() // lines that were held back come one after the other
	if search := f.liner.Scan(); search != nil && f.liner.state&(match.Seeking|match.Retracing) == 0 {
		f.parser.Narrow(l, search)
	}
}

// uncolored returns a line without colors, if it is to have none.
func (f *Filter) uncolored(line []byte) []byte {
	if !f.opt.StripSGR || bytes.IndexByte(line, 0x1b) < 0 {
		return line
	}
	f.stripped = sgr.Uncolored(f.stripped[:0], line)
	return f.stripped
}

// thread returns the thread that a segment is from. Before the first segment that is the thread that the line is from.
func (f *Filter) thread(l *parse.Line) *resolve.Thread {
	o, p := f.resolver.Processes, &f.parser.Prefix
	if l.Bare {
		return o.Unnamed
	}
	var words match.Words // none of a frame names a process
	if !numbered(l.Text[p.Start:p.End]) {
		words = l.Words()
	}
	if l.Inside || l.Left > 0 {
		return o.Thread(p, &l.Owner, l.Object, l.Text, words)
	}
	return o.Thread(p, nil, nil, l.Text, words)
}

// writer is thread for a segment whose time has not come.
func (f *Filter) writer(l *parse.Line) *resolve.Thread {
	if l.Inside {
		return f.resolver.Processes.Writer(&f.parser.Prefix, &l.Owner, l.Object, l.Text)
	}
	return f.resolver.Processes.Writer(&f.parser.Prefix, nil, nil, l.Text)
}

// readList takes what a segment says of the address space of its process, and of the program that prints the frames.
func (f *Filter) readList(t *resolve.Thread, l *parse.Line) {
	words := l.Text[l.Start:l.End]
	if l.Bare || f.window == 0 && numbered(words) && !l.HasMarkup() {
		return
	}
	if f.window > 0 {
		f.window--
	}
	if !l.Begins() {
		t.Note(l.Text, l.Words())
		return
	}
	window := mappings.Announces(words, l.Words())
	mapping, file, id := f.resolver.ApplyListed(t, words, l.Words(), f.line)
	if file != "" {
		f.out.BuildID(t.Process, file, id)
	}
	if mapping {
		f.out.Listed(t.Process)
		window = mappings.Window
	}
	f.window = max(f.window, window)
	if l.Words().Any(profileWords) && mappings.OpensProfile(words) {
		f.liner.openProfile(words)
	}
	f.tracing = f.tracing || l.Words().Any(tracingWords) && frame.Tracing(words)
	t.Note(l.Text, l.Words())
}

// tracingWords are in lines of bpftrace that say that its stacks may follow.
var tracingWords = match.Subscribe(frame.TracingWord)

// readObjects takes the modules that objects of JSON state, of the whole line or inside a string: they may follow the frames.
func (f *Filter) readObjects(t *resolve.Thread, l *parse.Line) {
	if l.Inside && f.objectsOf != f.line {
		f.objectsOf = f.line
		f.resolver.ApplyObjects(t, l.Object, f.line)
	}
	if (l.JSON || !l.Inside) && mappings.HoldsObjects(l.Text) {
		f.resolver.ApplyObjects(t, parse.Outside(l.Text, l.JSON), f.line)
	}
}

// readImages takes the images of a report that is a JSON object on one line, frames and all. They count for that line.
func (f *Filter) readImages(t *resolve.Thread, l *parse.Line) bool {
	if l.Object == nil {
		return false
	}
	if p, ok := mappings.WholeProfile(l.Object); ok {
		t.SetProfile(p)
		return true
	}
	if !f.resolver.LacksMappings(t) {
		return false
	}
	list, ok := mappings.WholeImages(l.Object)
	if !ok {
		return false
	}
	t.SetImages(list.Images)
	resolve.AddImages(t.Space, list.Mapped, f.line)
	return true
}

// forgetImages forgets them.
func forgetImages(p *resolve.Process) {
	p.Space.DropList()
	p.SetImages(nil)
	p.SetProfile(nil)
}

// numbered reports whether words begin like a frame, `#0`, and are neither a headline nor context: what most lines with a frame are.
func numbered(words []byte) bool {
	for i, c := range words {
		if c != ' ' && c != '\t' {
			return c == '#' && i+1 < len(words) && words[i+1]-'0' <= 9
		}
	}
	return false
}

// read finds the elements of a segment, or its frames if it has no elements.
func (f *Filter) read(ctx context.Context, t *resolve.Thread, l *parse.Line) {
	p := &f.parser
	p.Frames = p.Frames[:0]
	e, dump := f.dump.next(t.Process, l)
	switch {
	case l.Bare:
		return
	case dump:
		p.Elements = append(p.Elements[:0], e)
	case l.HasMarkup():
		f.readElements(l.Segment)
	default:
		p.Elements = p.Elements[:0]
	}
	if len(p.Elements) == 0 {
		f.readFrames(l.Segment, t.Stack.Shift > 0 || f.observed())
		f.assemble(t)
		if fr, ok := f.excerptAt(l); ok {
			p.Frames = append(p.Frames[:0], fr)
		}
		if len(p.Frames) == 0 {
			f.readJava(ctx, t, l)
		}
	}
}

// assemble leaves out the frames of a segment that are parts of one whose rest is not there, and makes the last part the frame.
func (f *Filter) assemble(t *resolve.Thread) {
	whole := f.parser.Frames[:0]
	for i := range f.parser.Frames {
		fr := &f.parser.Frames[i]
		if fr.Part != frame.NoPart {
			f.idle, f.lasting = false, false // the lines below depend on it, and it on those above
		}
		if f.resolver.Processes.Whole(t, f.line, fr) {
			whole = append(whole, *fr)
		}
	}
	f.parser.Frames = whole
}

// readElements reads the elements of a text, and says which are malformed.
func (f *Filter) readElements(s parse.Segment) {
	f.parser.ReadElements(s.Text, s.Settled, f.left(f.line))
	for i := range f.parser.Elements {
		if err := f.parser.Elements[i].Err; err != nil && f.malformed(f.line, s.Text, err) {
			f.out.Malformed(err)
		}
	}
}

// readFrames finds the frames of a segment.
func (f *Filter) readFrames(s parse.Segment, renumbering bool) []parse.Frame {
	f.parser.Stacked = f.resolver.Processes.Stacked(f.line - 1)
	if !f.parser.ReadFrames(s, renumbering, f.absolutes()) {
		f.warn("search", fmt.Sprintf("line %d: too much of it is almost a frame: the rest of such a line passes as it came", f.line))
	}
	return f.parser.Frames
}

// print resolves what was found in a segment, in the order of the text, since a mapping counts for the frames after it, and prints it.
func (f *Filter) print(ctx context.Context, dst []byte, t *resolve.Thread, l *parse.Line) []byte {
	if len(l.After) > 0 && !l.Quoted() && !l.Bare && !l.Split() && f.opt.Style != print.Append {
		if end, ok := f.parser.ContextLine(l.Text); ok {
			return f.out.Context(dst, t, l.Text, l.After, end, f.resolve(ctx, t, l, -1))
		}
	}
	dst = f.dump.footnotes(ctx, f.out, f.out.Text(f.out.Flush(dst), l.Before), t, l, l.Sep)
	alone := f.alone(l)
	meant, items := f.meant(t, l), []print.Item(nil)
	if items = f.resolve(ctx, t, l, alone); len(items) > 0 && meant {
		dst = f.out.Items(ctx, dst, t, l.Segment, items, alone)
		if f.objects == nil && print.Leaves(l.Segment, f.opt.Style, items) {
			return dst
		}
	} else {
		if t.Interrupted(f.line, l.Text) {
			f.idle, f.lasting = false, false // it counts which line that is
		}
		if f.brief != nil && len(items) > 0 && alone >= 0 {
			f.brief.Note(dst, t, l.Segment, &items[alone])
		}
		if f.only != nil {
			_, opens := frame.OpensHostFrame(l.Text)
			f.only.holds = f.only.holds || opens
		}
		before, token, after := f.filled(t, l)
		dst = f.out.Text(f.out.Text(f.out.Text(dst, before), token), after)
	}
	dst = f.out.Text(dst, l.After)
	f.dump.follow(t.Process, l, f.parser.Elements)
	return f.dump.footnotes(ctx, f.out, dst, t, l, l.After)
}

// meant reports whether the frames of a segment mean anything to the output. Others are only counted.
func (f *Filter) meant(t *resolve.Thread, l *parse.Line) bool {
	return f.recalled != nil || f.objects != nil || !f.observed() || len(f.parser.Frames) == 0 || f.parser.Frames[0].OfJava() || f.parser.Frames[0].Space == symsrc.InScript || frame.Candidate(l.Text, t.Stack.Shift > 0, f.shown())
}

// alone returns the index of the element or frame whose line the segment is, -1 if it is none's.
func (f *Filter) alone(l *parse.Line) int {
	switch p := &f.parser; {
	case l.Split(), l.Left > 0:
	case l.Bare, len(p.Frames) == 1 && p.Frames[0].Shape != frame.Pair && p.Frames[0].Shape != frame.Member:
		return 0
	case len(p.Elements) > 0:
		return parse.FrameElement(l.Segment, p.Elements)
	}
	return -1
}

// over notes what a segment leaves behind: the end of a report, and the prefixes of the line.
func (f *Filter) over(t *resolve.Thread, l *parse.Line) {
	t.Emitter.End(l.Text)
	if p := &f.parser.Prefix; p.Start > 0 && !p.Partial && !l.Inside && l.Left == 0 {
		t.Wrote(l.Text[:p.Start], f.line)
	}
	f.resolver.Processes.Handled(t)
}

// Preload takes a list of mappings for the processes of the log that state none themselves.
func (f *Filter) Preload(list []byte) error {
	defer f.liner.rescan()
	return f.resolver.Preload(list)
}
