package parse

import (
	"bytes"
	"slices"
	"strconv"
	"unicode"

	"qss-filter/filter/frame"
	"qss-filter/filter/scan"
	"qss-filter/sgr"
	"qss-filter/symsrc"
)

// Frame is a frame of the text at hand. Its spans are those of the text as it stands. Its texts have no escape sequences.
type Frame struct {
	frame.Frame
	ModuleText, BuildIDText, MemberText, SymbolText, HintText []byte
}

// ReadFrames fills p.Frames with the frames of a text. The search is done without the escapes of a terminal or a JSON string.
// complete is false if the search gave up on the text.
func (p *Parser) ReadFrames(s Segment, renumbering, absolutes bool) (complete bool) {
	p.Frames = p.Frames[:0]
	if !frame.Candidate(s.Text, renumbering, absolutes) && (!p.Stacked || bytes.IndexByte(s.Text, '@') < 0) {
		return true
	}
	plain, moved := p.plain(s)
	is := p.found.read(&p.search, p.Ahead, plain[:p.plainOf(s.End, len(plain), plain, moved)], p.plainOf(s.Start, 0, plain, moved))
	p.Frames = slices.Grow(p.Frames, len(is.frames))
	for i := range is.frames {
		p.Frames = p.Frames[:len(p.Frames)+1]
		found := &p.Frames[len(p.Frames)-1]
		found.Frame = is.frames[i]
		found.ReadTexts(plain)
		if moved {
			for _, span := range found.Spans() {
				*span = p.unstrip(s, *span)
			}
			if found.Gap.Start > found.Whole.End { // an answer at the frame's end takes the frame's color
				found.Gap = frame.Span{Start: found.Whole.End, End: found.Whole.End}
			}
		}
		switch {
		case found.Whole.Start < s.Settled || s.More && found.Whole.Start >= s.Wait:
			p.Frames = p.Frames[:len(p.Frames)-1]
		case found.Whole.Start < s.Left:
			found.begun(s)
		}
	}
	return !is.spent
}

// ReadTexts sets the texts of a frame to those that its spans have in a text without escapes.
func (fr *Frame) ReadTexts(plain []byte) {
	fr.ModuleText, fr.BuildIDText, fr.MemberText, fr.SymbolText = fr.Module.Of(plain), fr.BuildID.Of(plain), fr.Member.Of(plain), fr.Symbol.Of(plain)
	fr.HintText = hintOf(&fr.Frame).Of(plain)
	if fr.Shape == frame.Member {
		fr.ModuleText = scan.UnescapePath(fr.ModuleText)
	}
}

// Spans returns all spans of a frame.
func (fr *Frame) Spans() [12]*frame.Span {
	return [...]*frame.Span{&fr.Whole, &fr.Num, &fr.Addr, &fr.Gap, &fr.Hint, &fr.Module, &fr.Off, &fr.BuildID, &fr.Member, &fr.Symbol, &fr.Func, &fr.Source}
}

// begun lets a frame that began in an earlier part of its line be answered in this one: after the frame, if the place for the answer has left.
func (fr *Frame) begun(s Segment) {
	end := max(fr.Whole.End, s.Left)
	if fr.Gap.Start < s.Left {
		fr.Gap = frame.Span{Start: end, End: end}
	}
	fr.Done = fr.Done || bytes.HasPrefix(s.Text[end:], []byte(" in "))
}

// plainOf returns where an offset of the text is in its plain form, or without if it is 0: where the program's words begin or end.
func (p *Parser) plainOf(at, without int, plain []byte, moved bool) int {
	switch {
	case at == 0:
		return without
	case !moved:
		return at
	}
	n, _ := slices.BinarySearch(p.stripPos[:len(plain)], int32(at))
	return n
}

// plain returns a text without escapes, valid until the next call. moved is set if it had any. p.stripPos then has the offset in
// the text of each byte.
func (p *Parser) plain(s Segment) (plain []byte, moved bool) {
	plain = s.Text
	if s.JSON && bytes.IndexByte(plain, '\\') >= 0 {
		p.unquoted, p.unquotedPos = scan.Unescape(p.unquoted[:0], p.unquotedPos[:0], plain)
		plain, moved = p.unquoted, true
	}
	if (s.XML == XMLText || s.XML == XMLValue) && bytes.IndexByte(plain, '&') >= 0 {
		p.unquoted, p.unquotedPos = scan.Unreference(p.unquoted[:0], p.unquotedPos[:0], plain)
		plain, moved = p.unquoted, true
	}
	if bytes.IndexByte(plain, 0x1b) < 0 {
		if moved {
			p.strip, p.stripPos = append(p.strip[:0], plain...), append(p.stripPos[:0], p.unquotedPos...)
			plain = p.strip
		}
		return plain, moved
	}
	p.strip, p.stripPos = sgr.Strip(p.strip[:0], p.stripPos[:0], plain)
	if moved {
		for i, at := range p.stripPos {
			p.stripPos[i] = p.unquotedPos[at]
		}
	}
	return p.strip, true
}

// unstrip maps a span of the plain text back. An empty one goes after the escape sequences at its place, so that text put there
// does not take their color.
func (p *Parser) unstrip(s Segment, span frame.Span) frame.Span {
	if span == (frame.Span{}) {
		return span
	}
	start := int(p.stripPos[span.Start])
	if span.Empty() {
		return frame.Span{Start: start, End: start}
	}
	end := int(p.stripPos[span.End-1])
	if s.JSON {
		return frame.Span{Start: start, End: end + scan.EscapeLen(s.Text[end:])}
	}
	if s.XML == XMLText || s.XML == XMLValue {
		n, _ := scan.Reference(s.Text[end:])
		return frame.Span{Start: start, End: end + n}
	}
	return frame.Span{Start: start, End: end + 1}
}

// hintOf returns the span in which a frame names its function.
func hintOf(fr *frame.Frame) frame.Span {
	switch {
	case !fr.Hint.Empty():
		return fr.Hint
	case fr.Shape == frame.Fields:
		return fr.Func
	case fr.Base == frame.FromSymbol:
		return fr.Symbol
	}
	return fr.Gap
}

// TrimHint cuts off what stands before a function's name.
func TrimHint(text []byte) []byte {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t' || text[0] == ',') {
		text = text[1:]
	}
	if string(text) == "in" {
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("- ")) // of Rust
	return bytes.TrimPrefix(text, []byte("in "))
}

// NamesFunction reports whether no name is missing of a frame: the log names its function. The headline of a fault has the name in the stack
// below it, and address 0 has none. A place in a script that no source map is known for is all there is to know, unless the script is minified.
func (fr *Frame) NamesFunction() bool {
	if fr.Space == symsrc.InScript && !fr.Headline {
		return fr.Calls() || fr.Done && !fr.minified()
	}
	if fr.Done || fr.Headline || fr.Base == frame.Absolute && fr.Offset == 0 && !fr.Addr.Empty() { // the last is where a walk has ended
		return true
	}
	if fr.Base == frame.FromSymbol && IsFunction(fr.SymbolText) {
		return !fr.OfJava()
	}
	name, _, _ := splitHint(fr.HintText)
	return len(name) > 0
}

// Calls reports whether the log has the name of the function of a frame in a script. V8 writes `<anonymous>` where there is none, with what it was
// called on before it, React Native `anonymous`.
func (fr *Frame) Calls() bool {
	return bytes.ContainsFunc(fr.HintText, isLetter) && !bytes.HasSuffix(fr.HintText, []byte("anonymous>")) && string(fr.HintText) != "anonymous"
}

// minifiedColumn is the column, counted from 0, from which on a line is longer than people write them.
const minifiedColumn = 1000 - 1

// minified reports whether the place of a frame in a script is of no use by itself: the script is a bundle, or the line is too long.
func (fr *Frame) minified() bool {
	return fr.Offset&(1<<32-1) >= minifiedColumn || len(fr.ModuleText) == 0 || frame.IsBundle(fr.ModuleText)
}

// SplitHint splits `f(int)+0x17`, `f + 23`, `in f` or `, in f` into the name and the offset in it. has is set if there is an offset.
// name is "" for what is not a function's name.
func SplitHint(text []byte) (name string, offset uint64, has bool) {
	text, offset, has = splitHint(text)
	return string(text), offset, has
}

// splitHint is the same without a copy of the name.
func splitHint(text []byte) (name []byte, offset uint64, has bool) {
	if text = TrimHint(text); len(text) == 0 {
		return nil, 0, false
	}
	if k := bytes.Index(text, []byte("  (")); k > 0 { // hs_err has a source file there
		text = text[:k]
	}
	text = bytes.TrimRight(text, " \t")
	if k := bytes.LastIndexByte(text, '+'); k > 0 {
		var err error
		if offset, err = strconv.ParseUint(string(bytes.TrimLeft(text[k+1:], " ")), 0, 64); err == nil {
			text, has = bytes.TrimRight(text[:k], " "), true
		}
	}
	if k := bytes.Index(text, []byte(" (")); k > 0 { // gdb has arguments there
		text = bytes.TrimRight(text[:k], " ")
	}
	digits := 0
	for digits < len(text) && scan.IsDigit(text[digits]) {
		digits++
	}
	if digits > 0 && bytes.HasPrefix(text[digits:], []byte(" ")) { // the size of a frame
		text = bytes.TrimLeft(text[digits:], " ")
	}
	if !IsFunction(text) {
		text = nil
	}
	return text, offset, has
}

// placeholders are what emitters write in place of the name of a function that they do not know, besides those without a letter, such as
// the ?? of gdb and the ??? of valgrind: glibc's printf, glog, the sanitizers, Rust, Swift, Apple's crash reports, and systemd.
var placeholders = [...]string{"<null>", "<invalid>", "<unknown>", "<unavailable>", "<redacted>", "<deduplicated_symbol>", "n/a"}

// lldbUnnamed begins the names that lldb makes for functions without one.
var lldbUnnamed = []byte("___lldb_unnamed_symbol")

// IsFunction reports whether a text that stands where emitters write the name of a function is one: neither a placeholder for a name, nor
// the address or the file of a module, as in `0x0 + 4866466759` and `in [vdso]`.
func IsFunction(text []byte) bool {
	text = bytes.TrimRight(bytes.TrimSuffix(text, []byte("()")), " ")
	if !bytes.ContainsFunc(text, isLetter) || bytes.HasPrefix(text, lldbUnnamed) {
		return false
	}
	switch c := text[0]; {
	case c == '/', c == '[', '0' <= c && c <= '9', bytes.HasPrefix(text, []byte("./")), bytes.HasPrefix(text, []byte("../")):
		return false
	case c == '+', c == '-': // Objective-C has methods such as +[NSArray array]
		return len(text) > 1 && text[1] == '['
	case c == '(':
		if end := bytes.IndexByte(text, ')'); end < 0 || end == len(text)-1 {
			return false
		}
	}
	word, _, _ := bytes.Cut(text, []byte(" ")) // the sanitizers' `<null> <null>` has one for the source file, too
	return !slices.Contains(placeholders[:], string(word))
}

// isLetter reports whether a name may have only such characters.
func isLetter(c rune) bool { return c == '_' || c == '$' || unicode.IsLetter(c) }
