package filter

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"qss-filter/ctxstate"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// JSONOptions are those of the output as JSON, an object for each line.
type JSONOptions struct {
	// FramesOnly leaves lines out that hold nothing.
	FramesOnly bool
	// Each, if not nil, takes what each line holds in the place of the output. It holds until the call returns.
	Each func(*record.Line)
}

// markupFormat is the format of frames that are elements.
const markupFormat = "markup"

// recorder gathers what a line holds, while the line goes through the filter as any other; its text is then dropped. A nil
// recorder gathers nothing.
type recorder struct {
	opt JSONOptions
	// names has the directories of this machine; the rest of it is for people.
	names Names
	line  record.Line
	text  []byte // what becomes of the line, which nobody wants
	// said is set once it is known whose words the line is.
	said bool
	// open is set while the line goes through the filter.
	open bool
	// torn is set for the beginning of a line whose rest has not arrived.
	torn bool
	// part is the number of the last part of the line that is leaving in parts, and carry the beginning of a character that
	// its end has cut.
	part  int
	carry []byte
}

// recorded is annotated where lines become objects.
func (f *Filter) recorded(ctx context.Context, dst, line []byte) []byte {
	r := f.recorder
	l := &r.line
	clear(l.Frames) // which hold on to answers
	*l = record.Line{Number: f.line, Context: l.Context[:0], Frames: l.Frames[:0]}
	r.said = false
	l.Text, l.End = parse.CutEnd(line)
	r.open = true
	r.text = f.readable(ctx, r.text[:0], line)
	r.open = false
	if r.torn {
		r.torn, r.part = false, 1
		l.Part, l.More = r.part, true
	}
	if r.opt.Each != nil {
		r.opt.Each(l)
		return dst
	}
	if r.opt.FramesOnly && !l.Holds() {
		return dst
	}
	if !l.Holds() && l.Part == 0 {
		return record.AppendText(dst, l.Number, l.Text, l.End)
	}
	return l.Append(dst)
}

// forget leaves nothing of a line but its text.
func (r *recorder) forget() {
	l := &r.line
	*l = record.Line{Number: l.Number, Text: l.Text, End: l.End, Context: l.Context[:0], Frames: l.Frames[:0]}
}

// texts writes lines that were not looked at, from the next number on.
func (f *Filter) texts(dst, lines []byte) []byte {
	if f.recorder.opt.FramesOnly {
		return dst
	}
	if each := f.recorder.opt.Each; each != nil {
		n := f.line
		for line := range bytes.Lines(lines) {
			n++
			l := record.Line{Number: n}
			l.Text, l.End = parse.CutEnd(line)
			each(&l)
		}
		return dst
	}
	return record.AppendTexts(dst, lines, f.line+1)
}

// part writes a part of a line that leaves as it came; last is set for its end.
func (f *Filter) part(dst, text []byte, last bool) []byte {
	r := f.recorder
	if r.opt.FramesOnly {
		return dst
	}
	text = append(r.carry, text...)
	cut := len(text)
	if !last {
		cut -= partialRune(text)
	}
	r.part++
	l := record.Line{Number: f.line, Part: r.part, More: !last, Text: text[:cut]}
	if last {
		l.Text, l.End = parse.CutEnd(text)
		r.part = 0
	}
	if r.opt.Each != nil {
		r.opt.Each(&l)
	} else {
		dst = l.Append(dst)
	}
	r.carry = append(r.carry[:0], text[cut:]...)
	return dst
}

// writer notes whose words the line is, and what loggers wrote around them.
func (r *recorder) writer(t *resolve.Thread, p *prefix.Prefix, body []byte) {
	if r == nil {
		return
	}
	r.line.Prefix = record.Prefix{Text: body[:p.Start], Suffix: body[p.End:], Logger: p.Kind.String(), PID: p.PID.Of(body),
		TID: p.TID.Of(body), Host: p.Host.Of(body), Tag: p.Tag.Of(body)}
	if !r.said {
		r.line.Process = t.Key
	}
}

// of notes the process of something that the line holds: the first one is the line's.
func (r *recorder) of(p *resolve.Process) {
	if !r.said {
		r.said, r.line.Process = true, p.Key
	}
}

// context notes a context element that has taken effect.
func (r *recorder) context(p *resolve.Process, effect markup.Tag, m *ctxstate.Module, at *ctxstate.Mapping) {
	if r == nil {
		return
	}
	c := record.Context{Type: record.Reset}
	switch effect {
	case markup.Module:
		c = record.Context{Type: record.Module, ID: m.ID, Name: m.Name, BuildID: symsrc.BuildID(m.BuildID)}
	case markup.MMap:
		c = mappingRecord(at)
	}
	r.of(p)
	r.line.Context = append(r.line.Context, c)
}

func mappingRecord(at *ctxstate.Mapping) record.Context {
	return record.Context{Type: record.Mapping, Name: at.Module.Name, BuildID: symsrc.BuildID(at.Module.BuildID),
		Start: at.Start, Last: at.Last, At: at.Rel, Space: at.Space, Mode: at.Mode}
}

// listed notes a line of a list of mappings.
func (r *recorder) listed(p *resolve.Process) {
	if r == nil {
		return
	}
	if at := p.Space.LastListed(); at != nil {
		r.of(p)
		r.line.Context = append(r.line.Context, mappingRecord(at))
	}
}

// note notes something else that the line says.
func (r *recorder) note(p *resolve.Process, c record.Context) {
	if r == nil {
		return
	}
	r.of(p)
	r.line.Context = append(r.line.Context, c)
}

// dumpfile notes a file that is announced.
func (r *recorder) dumpfile(p *resolve.Process, e *markup.Element) {
	kind, name, _ := e.Dumpfile()
	r.note(p, record.Context{Type: record.Dumpfile, Word: string(kind), Name: string(name)})
}

// malformed notes an element that could not be read.
func (r *recorder) malformed(err error) {
	if r == nil {
		return
	}
	c := record.Context{Type: record.Malformed, Word: err.Error()}
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		c.Word, c.Column = fe.Msg, fe.Offset+1
	}
	if slices.Contains(r.line.Context, c) { // a line may be read twice
		return
	}
	r.line.Context = append(r.line.Context, c)
}

// frame notes a frame, as the observer is told of it.
func (r *recorder) frame(t *resolve.Thread, o *Observation, a *resolve.Answer, format string, numberOnly bool) {
	if r == nil {
		return
	}
	r.of(t.Process)
	fr := record.Frame{Format: format, Number: o.Number, Numbered: o.Numbered, Process: t.Key, Text: o.Whole, Address: o.Address,
		Offset: o.Offset, Hint: hint(o.Hint), Module: o.Module}
	switch {
	case o.Data:
		fr.Kind = record.Variable
	case o.Sentence:
		fr.Kind = record.Sentence
	}
	if id, ok := symsrc.ParseBuildID(o.BuildID); ok && !o.Located {
		fr.Module.BuildID = id
	}
	fr.Status = statusNotAsked
	switch {
	case numberOnly:
		fr.Reason = "the log gives no address in a module"
	case o.Done:
		fr.Reason = "the log names a source line already"
	case a == nil:
		fr.Reason = "the log names no module"
	default:
		r.answer(&fr, a)
	}
	r.line.Frames = append(r.line.Frames, fr)
}

// register notes what a register's value points at.
func (r *recorder) register(p *resolve.Process, v parse.Value, a *resolve.Answer) {
	if r == nil {
		return
	}
	r.of(p)
	value := scan.AppendHex([]byte("0x"), v.Addr)
	fr := record.Frame{Kind: record.Register, Format: markupFormat, Register: v.Key, Process: p.Key, Text: value, Address: value}
	r.answer(&fr, a)
	r.line.Frames = append(r.line.Frames, fr)
}

// mapped returns an answer with the paths of this machine.
func (n *Names) mapped(known []symsrc.Frame) []symsrc.Frame {
	if len(n.Map) == 0 {
		return known
	}
	known = append([]symsrc.Frame(nil), known...)
	for i := range known {
		known[i].File = n.local(known[i].File)
	}
	return known
}

// hint is the name that the log gives a function, without what stands around it.
func hint(b []byte) []byte {
	b = bytes.TrimSpace(b)
	b = bytes.TrimPrefix(b, []byte("in "))
	if bytes.HasPrefix(b, []byte("<null>")) || bytes.IndexByte(b, 0x1b) >= 0 {
		return nil
	}
	return b
}
