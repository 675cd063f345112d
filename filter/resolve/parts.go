package resolve

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
)

// parts is what the last lines say of a frame of a script that is an object of JSON with a member on a line. The log has one of these open at most:
// where threads write at once, lines of each end the other's.
type parts struct {
	thread *Thread // nil while none is open
	// indent is how far into their lines its members begin. What is nested is further in, and a bracket less far ends it.
	indent              int
	url, file, function string
	line, column        uint64 // counted from 1, 0 where not known yet
	// opens and before say whether the last line and the one before it end as one at which an object begins.
	opens, before bool
}

// maxInStack bounds how many lines two frames of a stack of React Native's may be apart that mean something only in one.
const maxInStack = 16

// Whole makes a frame on a line that is a part of one whole, if the lines above have the rest, and reports whether that is so. A frame that no line is a
// part of is whole.
func (o *Processes) Whole(t *Thread, line int, fr *parse.Frame) bool {
	switch fr.Part {
	case frame.NoPart:
		return true
	case frame.StackPart:
		t.scripts, o.stacked = line, line
		return false
	case frame.PlacePart:
		if t.scripts == 0 || line-t.scripts > maxInStack {
			return false
		}
		t.scripts, o.stacked = line, line
		return true
	}
	p, indent := &o.parts, fr.Whole.Start
	if p.thread != t || p.indent != indent || p.has(fr.Part) {
		opened := p.before
		if *p = (parts{opens: p.opens}); !opened { // grep may have left out where one object ends and the next begins
			return false
		}
		p.thread, p.indent = t, indent
	}
	switch fr.Part {
	case frame.URLPart:
		p.url = string(fr.ModuleText)
	case frame.FilePart:
		p.file = string(fr.ModuleText)
	case frame.FunctionPart:
		p.function = string(fr.HintText)
	case frame.LinePart:
		p.line = fr.Offset
	default:
		p.column = fr.Offset
	}
	file := p.url
	if file == "" { // of a program on the machine itself only this may be the path
		file = p.file
	}
	if fr.Part == frame.FunctionPart || file == "" || p.line == 0 || p.column == 0 {
		return false
	}
	fr.Offset, fr.ModuleText, fr.HintText = (p.line-1)<<32|(p.column-1), []byte(file), []byte(p.function)
	*p = parts{opens: p.opens} // it is answered once
	return true
}

// Stacked reports whether a stack of React Native's may go on below a line whose frames have no script.
func (o *Processes) Stacked(line int) bool { return o.stacked > 0 && line-o.stacked < maxInStack }

// has reports whether a part is known: another object has begun then.
func (p *parts) has(part frame.ScriptPart) bool {
	switch part {
	case frame.URLPart:
		return p.url != ""
	case frame.FilePart:
		return p.file != ""
	case frame.FunctionPart:
		return p.function != ""
	case frame.LinePart:
		return p.line > 0
	}
	return p.column > 0
}

// Pass notes the lines that mean nothing else: one that ends with a bracket may begin an object, or end the one whose parts are known.
func (o *Processes) Pass(lines []byte) {
	if o.parts.thread == nil {
		last := bytes.TrimRight(lines, " \t\r\n")
		o.parts.before, o.parts.opens = o.parts.opens, len(last) > 0 && last[len(last)-1] == '{'
		return
	}
	for len(lines) > 0 {
		line := lines
		if i := bytes.IndexByte(lines, '\n'); i >= 0 {
			line, lines = lines[:i], lines[i+1:]
		} else {
			lines = nil
		}
		line = bytes.TrimRight(line, " \t\r,")
		if len(line) == 0 {
			continue
		}
		p, end := &o.parts, len(line)-1
		opens, ended := line[end] == '{', false
		switch line[end] {
		case '{':
			// `}, {` begins with the end of one, and `"frames": {` where its key does.
			words := bytes.LastIndexAny(line[:end], "}]")
			if words < 0 {
				words = scan.Spaces(line, 0)
			}
			ended = words < p.indent
		case '}', ']':
			ended = end < p.indent
		}
		if ended {
			*p = parts{opens: p.opens}
		}
		p.before, p.opens = p.opens, opens
	}
}
