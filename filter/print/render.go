package print

import (
	"bytes"
	"strconv"

	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// unknownName is written for a name that is not known.
const unknownName = "??"

// renderer renders answers: functions, places and reasons, in color, as links, and with their source code.
type renderer struct {
	opt Options
	// Color is the log's own state at the place reached. It is followed only if Palette is set.
	Color ink
	// Quoted is set inside a JSON string.
	Quoted bool
	// inXML is set inside a document of XML.
	inXML bool
	// dim is set inside a row that is less bright as a whole.
	dim bool
	// rows are where the rows of functions begin in the output of a line, if marked is set, and sourced is set once source code was shown in
	// a stack.
	rows            []rowMark
	marked, sourced bool
	// only is 1 more than the index of the function that the frame at hand is about, 0 for all of its functions.
	only int
	// Code is whether source files were there.
	Code seenSources
	// digits, placeText and placeEnds are scratch memory for a number and the text of one answer.
	digits    []byte
	placeText []byte
	placeEnds []int
	// first is the text of firstOf, an answer on its first line.
	first   printed
	firstOf *resolve.Answer
}

// outside returns a part of the text at hand without the escapes of a JSON string, if it lies in one.
func (w *renderer) outside(text []byte) []byte { return parse.Outside(text, w.Quoted && !w.inXML) }

// added writes text that the filter adds, escaped if it lies in a JSON string.
func (w *renderer) added(dst []byte, s parse.Segment, write func([]byte) []byte) []byte {
	if !s.Quoted() {
		return write(dst)
	}
	return appendQuoted(dst, s, write(nil))
}

// appendQuoted appends a text as it stands in a string of JSON or in a document of XML.
func appendQuoted(dst []byte, s parse.Segment, text []byte) []byte {
	if s.XML != parse.OutsideXML {
		return parse.AppendXML(dst, text, s.XML)
	}
	return appendJSON(dst, text)
}

// appendPlace writes `func file:line:col`. A single function without a file is its bare name, as the sanitizers write it. In
// a chain every function has a place, so that a second run sees that the line is done.
func (w *renderer) appendPlace(dst []byte, a *resolve.Answer, i int) []byte {
	fr := &w.frames(a)[i]
	dst = w.appendFunc(dst, a, i)
	if fr.File == "" && len(a.Frames) == 1 && fr.Line == 0 {
		return append(dst, fr.Mark()...)
	}
	dst = append(dst, ' ')
	return append(w.appendFile(dst, a, i, fr.Column > 0), fr.Mark()...)
}

// appendFunc writes a function's name in its color. What is not the program's own is less bright.
func (w *renderer) appendFunc(dst []byte, a *resolve.Answer, i int) []byte {
	name := w.frames(a)[i].Func
	if name == "" {
		name = unknownName
	}
	if p := w.palette(); p != nil && !w.own(a, i) {
		return w.paint(dst, p.Quiet, name)
	}
	return w.appendName(dst, name, i < len(a.Frames)-1)
}

// appendName writes a name in the color of functions.
func (w *renderer) appendName(dst []byte, name string, inlined bool) []byte {
	p := w.palette()
	switch {
	case p == nil:
		return append(dst, name...)
	case inlined:
		return w.paint(dst, p.Inlined, name)
	}
	return w.paint(dst, p.Func, name)
}

// appendFile writes `file:line`, or `file:line:col`, as a link if links are written. There is no link inside a link of the log.
func (w *renderer) appendFile(dst []byte, a *resolve.Answer, i int, column bool) []byte {
	shown, p := w.shown(a), w.palette()
	fr := &w.frames(a)[i]
	color := ""
	if p != nil {
		color = p.File
	}
	if color != "" && w.opt.Screen != nil && !w.Quoted && !w.own(a, i) {
		color = p.Quiet
	}
	colored := color != ""
	dst = append(dst, color...)
	linked := w.opt.Palette != nil && !w.Quoted && len(shown.links) > 0 && shown.links[i] != "" && !bool(w.Color.link)
	if linked {
		dst = append(dst, shown.links[i]...)
	}
	if fr.File == "" {
		dst = append(dst, unknownName...)
	} else {
		dst = append(dst, fr.File...)
	}
	dst = append(dst, ':')
	dst = strconv.AppendInt(dst, int64(fr.Line), 10)
	if column {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(fr.Column), 10)
	}
	if linked {
		dst = append(dst, linkEnd...)
	}
	if colored {
		dst = w.Color.Append(append(dst, p.Off...))
	}
	return dst
}

// palette returns the colors for the place at hand. Inside a JSON string there are none: no terminal interprets its escapes. A row that is
// less bright as a whole has that color alone.
func (w *renderer) palette() *sgr.Palette {
	if w.Quoted || w.dim {
		return nil
	}
	return w.opt.Palette
}

// quiet writes a part of the log's frame less bright than what is added, if colors are written and the log has no color of its
// own there.
func (w *renderer) quiet(dst, text []byte) []byte {
	if len(text) == 0 || bytes.IndexByte(text, 0x1b) >= 0 {
		return append(dst, text...)
	}
	return w.hushed(append(w.hush(dst), text...))
}

// hush makes what follows less bright until hushed, under the same conditions.
func (w *renderer) hush(dst []byte) []byte {
	if p := w.palette(); p != nil && w.Color.Plain() {
		return append(dst, p.Quiet...)
	}
	return dst
}

// hushed ends what hush began.
func (w *renderer) hushed(dst []byte) []byte {
	if p := w.palette(); p != nil && w.Color.Plain() && p.Quiet != "" {
		return append(dst, p.Off...)
	}
	return dst
}

// paint writes text in a color and restores the log's own after it.
func (w *renderer) paint(dst []byte, color, text string) []byte {
	if color == "" {
		return append(dst, text...)
	}
	dst = append(dst, color...)
	dst = append(dst, text...)
	dst = append(dst, w.opt.Palette.Off...)
	return w.Color.Append(dst)
}

// place returns the text of one function: the remembered one unless the log has colors of its own there.
func (w *renderer) place(a *resolve.Answer, i int) []byte {
	if w.opt.Palette == nil && (w.opt.Screen == nil || !w.Quoted) || w.Color.Plain() && !bool(w.Color.link) && !w.Quoted {
		return w.shown(a).places[i]
	}
	return w.appendPlace(nil, a, i)
}

// appendSentence writes a whole chain on one line: `func file:line:col (inlined into g file:line, h file:line)`. On a screen the
// functions after the first one have no places: the frames of the report have them.
func (w *renderer) appendSentence(dst []byte, a *resolve.Answer) []byte {
	dst = append(dst, w.place(a, 0)...)
	for i := 1; i < len(a.Frames); i++ {
		if i == 1 {
			dst = append(dst, " (inlined into "...)
		} else {
			dst = append(dst, ", "...)
		}
		dst = w.appendFunc(dst, a, i)
		if w.opt.Screen == nil || w.Quoted {
			dst = append(dst, ' ')
			dst = w.appendFile(dst, a, i, false)
		}
		if i == len(a.Frames)-1 {
			dst = append(dst, ')')
		}
	}
	return dst
}

// appendBare writes the form of QSS's reports, `#N addr in func file:line`, or in the place of a frame what a terminal shows of it,
// `#N addr in func file:line:col (lib.so)`.
func (w *renderer) appendBare(dst, number, addr []byte, a *resolve.Answer, i int) []byte {
	start := len(dst)
	if len(number) > 0 {
		dst = append(append(dst, '#'), number...)
	}
	if len(addr) > 0 {
		if len(dst) > start {
			dst = append(dst, ' ')
		}
		dst = append(dst, addr...)
	}
	if len(dst) > start {
		dst = append(dst, " in "...)
	}
	dst = w.appendFunc(dst, a, i)
	dst = append(dst, ' ')
	if w.opt.Style != Replace {
		return w.appendFile(dst, a, i, false)
	}
	fr := &w.frames(a)[i]
	return w.appendModule(append(w.appendFile(dst, a, i, fr.Column > 0), fr.Mark()...), a)
}

// appendModule writes ` (lib.so)`, the module of an answer without its directories, less bright.
func (w *renderer) appendModule(dst []byte, a *resolve.Answer) []byte {
	if a.Module == nil || a.Module.Shown == "" {
		return dst
	}
	return w.quiet(dst, []byte(" ("+a.Module.Base()+")"))
}

// appendReason writes why a frame has no name, or that its file was not verified: ` [NOT_ELF libf.so (BuildId: …): not an ELF file]`.
// It writes nothing if the log was filtered before and has a reason at the frame's end, line[at], already.
func (w *renderer) appendReason(dst []byte, a *resolve.Answer, line []byte, at int) []byte {
	return w.appendWhy(dst, w.reason(a), line, at)
}

// appendWhy writes a reason, if it is not there already.
func (w *renderer) appendWhy(dst []byte, text string, line []byte, at int) []byte {
	if text == "" || explained(line, at, text) {
		return dst
	}
	dst = append(dst, ' ')
	if p := w.palette(); p != nil {
		return w.paint(dst, p.Note, "["+text+"]")
	}
	dst = append(dst, '[')
	dst = append(dst, text...)
	return append(dst, ']')
}

// appendMissing is appendReason for a frame of the log. If the log names its function, only a line is missing: why is written if reasons are asked
// for, as is why nothing was asked.
func (w *renderer) appendMissing(dst []byte, fr *parse.Frame, a *resolve.Answer, line []byte, at int) []byte {
	if a == nil {
		if w.opt.Explain && resolve.OutcomeOf(fr, nil) == resolve.NotAsked {
			return w.appendWhy(dst, resolve.Unasked(fr), line, at)
		}
		return dst
	}
	if resolve.OutcomeOf(fr, a) == resolve.InLog && (!w.opt.Explain || fr.Done || a.Module == nil && !a.Contradicted()) {
		return dst
	}
	return w.appendReason(dst, a, line, at)
}

// reason returns the reason to be written for an answer, "" for none. On a screen it is short, and the whole of it is there once for
// each module if that is asked for.
func (w *renderer) reason(a *resolve.Answer) string {
	switch {
	case len(a.Frames) > 0 && !(w.opt.Explain && a.Unverified()):
		return ""
	case w.opt.Screen == nil && !w.opt.Explain:
		return ""
	case w.opt.Screen == nil || w.opt.Explain && a.ExplainFirst():
		return a.Explanation()
	}
	return a.Brief()
}

// explained reports whether a line has a reason after at, or that text around it, in any color.
func explained(line []byte, at int, text string) bool {
	const colors = 64 // bytes that they take at most
	reach := len(text) + colors
	from := max(0, at-reach)
	near := sgr.Uncolored(nil, line[from:min(len(line), at+reach)])
	if bytes.Contains(near, []byte(" ["+text+"]")) {
		return true
	}
	if before := sgr.Uncolored(nil, line[from:at]); bytes.HasSuffix(before, []byte("]")) { // some frames take the rest of their line
		if i := bytes.LastIndex(before, []byte(" [")); i >= 0 && resolve.IsExplanation(before[i+2:]) {
			return true
		}
	}
	after, found := bytes.CutPrefix(sgr.Uncolored(nil, line[at:min(len(line), at+reach)]), []byte(" ["))
	return found && resolve.IsExplanation(after)
}

// printed is what is remembered of an answer's text.
type printed struct {
	// places holds the text `func file:line:col` of each frame, in color if the filter writes colors.
	places [][]byte
	place  [1][]byte // the memory of places for a single frame
	// nameOnly is set for a single frame without a file.
	nameOnly bool
	// frames are the answer's, with names and paths as they are written.
	frames []symsrc.Frame
	// onScreen are the frames as they are written on a screen.
	onScreen []symsrc.Frame
	// marks are those of the frames' rows, if Brief or colors ask for them, without what differs from line to line.
	marks []rowMark
	// links begin the hyperlink of each frame, if links are written.
	links []string
	// excerpts are the source code of each frame, nil before it is asked for.
	excerpts []*symsrc.Excerpt
}

// shown returns the text of an answer that names a function. The answer keeps it from its second line on: most addresses of a long log
// come once. The text of a first line is valid until that of another answer is asked for.
func (w *renderer) shown(a *resolve.Answer) *printed {
	p, came := a.Printed.(*printed)
	switch {
	case p != nil:
		return p
	case came && w.firstOf == a:
		return &w.first
	case !came && w.opt.SourceLines == 0:
		a.Printed, w.firstOf = p, a
		w.show(&w.first, a)
		return &w.first
	}
	p = &printed{}
	a.Printed, w.firstOf = p, nil // whose text show overwrites
	w.show(p, a)
	kept := bytes.Clone(w.placeText)
	start := 0
	for i := range p.places {
		end := start + len(p.places[i])
		p.places[i], start = kept[start:end:end], end
	}
	return p
}

// frames returns the frames of an answer as they are written where the renderer is.
func (w *renderer) frames(a *resolve.Answer) []symsrc.Frame {
	if p := w.shown(a); w.opt.Screen == nil || w.Quoted || p.onScreen == nil {
		return p.frames
	}
	return w.shown(a).onScreen
}

// show makes p the text of an answer. Its places are in w.placeText.
func (w *renderer) show(p *printed, a *resolve.Answer) {
	if p.marks = p.marks[:0]; w.marked || w.opt.Palette != nil || w.opt.Screen != nil {
		for i := range a.Frames {
			p.marks = append(p.marks, w.markOf(a, i))
		}
	}
	p.frames = w.opt.Names.InWords(a.Frames)
	p.nameOnly = len(p.frames) == 1 && p.frames[0].File == ""
	if p.onScreen = nil; w.opt.Screen != nil && a.Java == nil && a.Kind == symsrc.Code {
		own := make([]bool, len(a.Frames))
		for i := range own {
			own[i] = p.marks[i].own
		}
		p.onScreen = w.opt.Screen.names(p.frames, own)
	}
	w.link(a, p)
	// What is remembered is for places where the log has no color of its own.
	restore, quoted, dim := w.Color, w.Quoted, w.dim
	w.Color, w.Quoted, w.dim = ink{}, false, false
	text := w.placeText[:0]
	if p.places = p.place[:]; len(p.frames) > 1 {
		p.places = make([][]byte, len(p.frames))
	}
	ends := w.placeEnds[:0]
	for i := range p.frames {
		if a.Kind == symsrc.Data {
			text = w.appendVariable(text, a, i)
		} else {
			text = w.appendPlace(text, a, i)
		}
		ends = append(ends, len(text))
	}
	w.placeText, w.placeEnds = text, ends
	w.Color, w.Quoted, w.dim = restore, quoted, dim
	start := 0
	for i, end := range ends {
		p.places[i], start = text[start:end:end], end
	}
}

// appendVariable writes `name` or `name+0x10`.
func (w *renderer) appendVariable(dst []byte, a *resolve.Answer, i int) []byte {
	dst = w.appendFunc(dst, a, i)
	if offset := a.Frames[i].Offset; offset > 0 {
		dst = append(dst, "+0x"...)
		dst = strconv.AppendUint(dst, offset, 16)
	}
	return dst
}

// FollowColor follows the log's SGR state through b if what is added is colored.
func (w *renderer) FollowColor(b []byte) {
	if w.opt.Palette != nil && bytes.IndexByte(b, 0x1b) >= 0 {
		w.Color.Feed(b)
		w.Color.link.Feed(b)
	}
}

// ink is the state of the log's own escape sequences: colors, and a link.
type ink struct {
	sgr.State
	link sgr.Link
}

// Untouched reports whether the log has neither a color nor a link of its own there.
func (c *ink) Untouched() bool { return c.Plain() && !bool(c.link) }
