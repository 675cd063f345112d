// Package jsonl prints an object of JSON for each line of a log, in the form of package record.
package jsonl

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"unicode/utf8"

	"qss-filter/ctxstate"
	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/print"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// Options are how lines are written as JSON.
type Options struct {
	// FramesOnly leaves lines out that hold nothing.
	FramesOnly bool
	// Each, if not nil, gets the record of each line, and nothing is written. The record is valid until the call returns.
	Each func(*record.Line)
}

// markupFormat is the format of frames that are elements.
const markupFormat = "markup"

// Printer writes an object of JSON for each line. It is a print.Printer.
type Printer struct {
	opt Options
	// names has the directories of this machine. Nothing else of it counts.
	names print.Names
	// Line is the record of the line at hand.
	Line record.Line
	// said is set once the process of the line is known.
	said bool
	// open is set from Begin to End.
	open bool
	// Torn is set for the beginning of a line whose rest has not arrived.
	Torn bool
	// part is the number of the last part of a line that is written in parts. carry is the beginning of a character that the
	// end of this part has cut.
	part  int
	carry []byte
	// input is the name of the input at hand, and before the number of lines of those before it.
	input  string
	before int
}

// Input begins another input, after that number of lines. Its lines are counted from 1.
func (r *Printer) Input(name string, lines int) { r.input, r.before = name, lines }

// Number returns the number in its input of a line that has that number among those of all inputs.
func (r *Printer) Number(line int) int { return line - r.before }

// New returns a printer. names has the directories of this machine. Nothing else of it counts.
func New(o Options, names print.Names) *Printer { return &Printer{opt: o, names: names} }

// Begin begins the object of a line.
func (r *Printer) Begin(dst []byte, number int, line []byte) []byte {
	l := &r.Line
	clear(l.Frames) // they keep answers in memory
	*l = record.Line{Number: r.Number(number), Input: r.input, Context: l.Context[:0], Frames: l.Frames[:0]}
	r.said, r.open = false, true
	l.Text, l.End = scan.CutEnd(line)
	return dst
}

// Text writes nothing: the object has the line.
func (r *Printer) Text(dst, _ []byte) []byte { return dst }

// Flush returns dst: nothing is held back.
func (r *Printer) Flush(dst []byte) []byte { return dst }

// Items notes the items of a text.
func (r *Printer) Items(_ context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []print.Item, alone int) []byte {
	for i := range items {
		it := &items[i]
		switch {
		case it.Frame != nil && it.Frame.Shape == frame.Thrown:
			r.note(t.Process, record.Context{Type: record.Symbol, Name: it.Name, Word: string(it.Frame.HintText)})
		case it.Frame != nil:
			o := it.Observation(r.Line.Number, t, s.Text, i == alone)
			r.frame(t, &o, it.Answer, it.Frame.Family)
		case it.Answer != nil:
			o := it.Observation(r.Line.Number, t, s.Text, i == alone)
			r.frame(t, &o, it.Answer, markupFormat)
		default:
			r.element(t.Process, it)
		}
	}
	return dst
}

// element notes an element without an answer.
func (r *Printer) element(p *resolve.Process, it *print.Item) {
	e := it.Element
	switch {
	case it.Err != nil:
		if it.Explained {
			r.Malformed(it.Err)
		}
	case e.Tag == markup.Reset:
		r.note(p, record.Context{Type: record.Reset})
	case e.Tag == markup.Module:
		m := it.Context.Module
		r.note(p, record.Context{Type: record.Module, ID: m.ID, Name: m.Name, BuildID: symsrc.BuildID(m.BuildID)})
	case e.Tag == markup.MMap:
		r.note(p, mappingRecord(it.Context.At))
	case e.Keep:
	case e.Tag == markup.Dumpfile:
		kind, name, _ := e.Dumpfile()
		r.note(p, record.Context{Type: record.Dumpfile, Word: string(kind), Name: string(name)})
	case e.Tag == markup.Symbol:
		mangled, _ := e.Symbol()
		r.note(p, record.Context{Type: record.Symbol, Name: it.Name, Word: string(mangled)})
	}
}

// Context notes context elements.
func (r *Printer) Context(dst []byte, t *resolve.Thread, _, _ []byte, _ int, items []print.Item) []byte {
	for i := range items {
		r.element(t.Process, &items[i])
	}
	return dst
}

// End writes the object, unless it was written by Abandon.
func (r *Printer) End(dst []byte) []byte {
	if !r.open {
		return dst
	}
	l := &r.Line
	r.open = false
	if r.Torn {
		r.Torn, r.part = false, 1
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
		return record.AppendText(dst, l.Number, l.Input, l.Text, l.End)
	}
	return l.Append(dst)
}

// Abandon drops everything of a line but its text.
func (r *Printer) Abandon(dst []byte, number int, line []byte) []byte {
	if !r.open {
		return r.Texts(dst, number, line)
	}
	l := &r.Line
	*l = record.Line{Number: l.Number, Input: l.Input, Text: l.Text, End: l.End, Context: l.Context[:0], Frames: l.Frames[:0]}
	return dst
}

// Texts writes lines that were not looked at, numbered from number on.
func (r *Printer) Texts(dst []byte, number int, lines []byte) []byte {
	if r.opt.FramesOnly {
		return dst
	}
	number = r.Number(number)
	if each := r.opt.Each; each != nil {
		for line := range bytes.Lines(lines) {
			l := record.Line{Number: number, Input: r.input}
			number++
			l.Text, l.End = scan.CutEnd(line)
			each(&l)
		}
		return dst
	}
	return record.AppendTexts(dst, lines, number, r.input)
}

// Piece writes a part of a line that is not looked at. last is set for its last part.
func (r *Printer) Piece(dst []byte, number int, text []byte, last bool) []byte {
	if r.opt.FramesOnly {
		return dst
	}
	text = append(r.carry, text...)
	cut := len(text)
	if !last {
		cut -= partialRune(text)
	}
	r.part++
	l := record.Line{Number: r.Number(number), Input: r.input, Part: r.part, More: !last, Text: text[:cut]}
	if last {
		l.Text, l.End = scan.CutEnd(text)
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

// By notes the process of the line, and what loggers wrote around its text.
func (r *Printer) By(t *resolve.Thread, p *prefix.Prefix, body []byte) {
	r.Line.Prefix = record.Prefix{Text: body[:p.Start], Suffix: body[p.End:], Logger: p.Kind.String(), PID: p.PID.Of(body),
		TID: p.TID.Of(body), Host: p.Host.Of(body), Tag: p.Tag.Of(body)}
	if !r.said {
		r.Line.Process = t.Key
	}
}

// of notes the process of something that the line holds. The first one is the line's.
func (r *Printer) of(p *resolve.Process) {
	if !r.said {
		r.said, r.Line.Process = true, p.Key
	}
}

// mappingRecord returns the record of a mapping.
func mappingRecord(at *ctxstate.Mapping) record.Context {
	return record.Context{Type: record.Mapping, Name: at.Module.Name, BuildID: symsrc.BuildID(at.Module.BuildID),
		Start: at.Start, Last: at.Last, At: at.Rel, Space: at.Space, Mode: at.Mode}
}

// Listed notes a line of a list of mappings.
func (r *Printer) Listed(p *resolve.Process) {
	if at := p.Space.LastListed(); at != nil {
		r.note(p, mappingRecord(at))
	}
}

// BuildID notes a build ID that the line states.
func (r *Printer) BuildID(p *resolve.Process, file string, id symsrc.BuildID) {
	r.note(p, record.Context{Type: record.BuildID, Name: file, BuildID: id})
}

// note adds something that the line says.
func (r *Printer) note(p *resolve.Process, c record.Context) {
	r.of(p)
	r.Line.Context = append(r.Line.Context, c)
}

// Malformed notes an element that could not be read.
func (r *Printer) Malformed(err error) {
	c := record.Context{Type: record.Malformed, Word: err.Error()}
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		c.Word, c.Column = fe.Msg, fe.Offset+1
	}
	if slices.Contains(r.Line.Context, c) { // a line may be read twice
		return
	}
	r.Line.Context = append(r.Line.Context, c)
}

// frame notes a frame, as an observer gets it.
func (r *Printer) frame(t *resolve.Thread, o *print.Observation, a *resolve.Answer, format string) {
	r.of(t.Process)
	fr := record.Frame{Format: format, Number: o.Number, Numbered: o.Numbered, Process: t.Key, Text: o.Whole, Address: o.Address,
		Offset: o.Offset, Hint: o.Hint, Module: o.Module}
	switch {
	case o.Data:
		fr.Kind = record.Variable
	case o.Sentence:
		fr.Kind = record.Sentence
	}
	if !o.Located {
		fr.Module.BuildID = symsrc.ReadBuildID(o.BuildID)
	}
	if a != nil {
		r.answer(&fr, a, o.Outcome)
	} else {
		fr.Status, fr.Reason = o.Outcome.String(), o.Unasked
	}
	r.Line.Frames = append(r.Line.Frames, fr)
}

// Register notes what a register's value points at.
func (r *Printer) Register(dst, _ []byte, t *resolve.Thread, v parse.Value, a *resolve.Answer, _ []byte) []byte {
	p := t.Process
	r.of(p)
	value := scan.AppendHex([]byte("0x"), v.Addr)
	fr := record.Frame{Kind: record.Register, Format: markupFormat, Register: v.Key, Process: p.Key, Text: value, Address: value}
	r.answer(&fr, a, a.Outcome())
	r.Line.Frames = append(r.Line.Frames, fr)
	return dst
}

// answer fills in what is known of a frame, which has that outcome.
func (r *Printer) answer(fr *record.Frame, a *resolve.Answer, outcome resolve.Outcome) {
	fr.Functions, fr.Status = r.names.Mapped(a.Frames), outcome.String()
	if a.Java != nil {
		fr.Java, fr.Dropped = true, a.Java.Dropped
		if len(a.Java.Candidates) > 1 {
			for _, chain := range a.Java.Candidates {
				fr.Candidates = append(fr.Candidates, r.names.Mapped(chain))
			}
		}
	}
	if a.Module != nil {
		fr.Module, fr.Located, fr.At, fr.Back, fr.Space, fr.Why = a.Module.Module, true, a.Offset, a.Back, a.Space, a.Why()
		fr.Files = a.Files()
	}
	if outcome == resolve.OK {
		fr.Unverified = a.Unverified()
		return
	}
	fr.Reason = a.Explanation()
	switch outcome {
	case resolve.NoSymbol, resolve.NoMapping, resolve.Ambiguous:
		return
	}
	if fr.Files != nil {
		fr.Detail = cmp.Or(fr.Files.Detail, fr.Files.Note)
	}
}

// partialRune returns how many bytes at the end of text are the beginning of a character.
func partialRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if c := text[len(text)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
