package frame

import (
	"bytes"

	"qss-filter/filter/match"
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// The same objects as in scriptobject.go, of Sentry's, with a member on a line, as JSON is printed for people:
//
//	{
//	  "colno": 2507,
//	  "filename": "app:///main.jsbundle",
//	  "function": "value",
//	  "lineno": 19,
//	  "pre_context": [
//
// The order of members is any. A line is read as a frame that says which of them it is, and the reader of the log makes one frame of an object once
// all of it is known.

// ScriptPart says which member of an object a line is that is a part of a frame of a script.
type ScriptPart uint8

// The parts of a frame.
const (
	NoPart ScriptPart = iota
	URLPart
	FilePart
	FunctionPart
	LinePart
	ColumnPart
	// StackPart is the end of a message of React Native below which its stack stands, and PlacePart a line of one that means something only there.
	StackPart
	PlacePart
)

// The keys of these parts; that of the column is sentryColumn.
const (
	urlKey      = `"abs_path":`
	fileKey     = `"filename":`
	functionKey = `"function":`
	lineKey     = `"lineno":`
)

// scriptPart returns which part a key is.
func scriptPart(key string) ScriptPart {
	switch key {
	case urlKey:
		return URLPart
	case fileKey:
		return FilePart
	case functionKey:
		return FunctionPart
	case lineKey:
		return LinePart
	}
	return ColumnPart
}

// readScriptPart returns the reader of a line that is such a member; its key stands at line[at:].
func readScriptPart(key string) func(s *Search, line []byte, at, from int, f *Frame) bool {
	part := scriptPart(key)
	return func(s *Search, line []byte, at, from int, f *Frame) bool {
		value, end, ok := memberAlone(line, at, max(from, s.begin), key, part)
		if !ok {
			return false
		}
		*f = Frame{Family: scripts, Shape: Member, Space: symsrc.InScript, Convention: Exact, Part: part, Whole: span(at, end), Off: value, Gap: span(end, end),
			Done: scan.Has(line, end, `,"`+AnswerKey+`":"`)}
		switch part {
		case FunctionPart:
			f.Hint = value
		case LinePart, ColumnPart:
			f.Offset, _ = scan.Number(value.Of(line), 10)
		default:
			f.Module = value
		}
		return true
	}
}

// memberAlone reads a member with that key whose line, or words from line[from:] on, has nothing else: a number, or a text without escapes but those of slashes.
func memberAlone(line []byte, at, from int, key string, part ScriptPart) (value Span, end int, ok bool) {
	if len(bytes.TrimLeft(line[min(from, at):at], " \t")) > 0 {
		return value, 0, false
	}
	start := scan.Spaces(line, at+len(key))
	if part == LinePart || part == ColumnPart {
		v, e, is := scan.Decimal(line, start)
		value, end, ok = span(start, e), e, is && v > 0 && v < 1<<31
	} else if scan.Has(line, start, `"`) {
		n := bytes.IndexByte(line[start+1:min(len(line), start+1+maxModule)], '"')
		if n <= 0 {
			return value, 0, false
		}
		value, end = span(start+1, start+1+n), start+n+2
		text := value.Of(line)
		if part == FunctionPart {
			ok = bytes.IndexByte(text, '\\') < 0
		} else {
			ok = endsScript(text)
		}
	}
	if !ok {
		return value, 0, false
	}
	after := end
	if scan.Has(line, after, `,"`+AnswerKey+`":"`) {
		return value, end, true
	}
	if scan.Has(line, after, ",") {
		after++
	}
	return value, end, scan.LineEnd(line, after)
}

// statesPart reports whether the key at the place is that of a member alone on its line, but for what a logger has before it.
func statesPart(key string) func(line []byte, at int) bool {
	part := scriptPart(key)
	return func(line []byte, at int) bool {
		_, _, ok := memberAlone(line, at, at, key, part)
		return ok
	}
}

// statesPlaceOrPart reports whether a key of a column is that of an object on the line, or such a member.
func statesPlaceOrPart(line []byte, at int) bool {
	return statesPart(sentryColumn)(line, at) || statesPlaceInScript(sentryColumn)(line, at)
}

// The literals of these lines.
var (
	urlPart      = match.Literal{Text: urlKey, When: match.Always, Fits: statesPart(urlKey)}
	filePart     = match.Literal{Text: fileKey, When: match.Always, Fits: statesPart(fileKey)}
	functionPart = match.Literal{Text: functionKey, When: match.Always, Fits: statesPart(functionKey)}
	linePart     = match.Literal{Text: lineKey, When: match.Always, Fits: statesPart(lineKey)}
)
