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
	said                bool   // its answer stands already
}

// Whole makes a frame that is a part of one whole, if the lines above have the rest, and reports whether that is so. A frame that no line is a
// part of is whole.
func (o *Processes) Whole(t *Thread, fr *parse.Frame) bool {
	if fr.Part == frame.NoPart {
		return true
	}
	p, indent := &o.parts, fr.Whole.Start
	if p.thread != t || p.indent != indent || p.has(fr.Part) {
		*p = parts{thread: t, indent: indent}
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
	if p.said || fr.Part == frame.FunctionPart || file == "" || p.line == 0 || p.column == 0 {
		return false
	}
	p.said = true
	fr.Offset, fr.ModuleText, fr.HintText = (p.line-1)<<32|(p.column-1), []byte(file), []byte(p.function)
	return true
}

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

// Pass notes the lines that mean nothing else: one that ends with a bracket may end the object whose parts are known.
func (o *Processes) Pass(lines []byte) {
	for o.parts.thread != nil && len(lines) > 0 {
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
		end := len(line) - 1
		switch c := line[end]; c {
		case '{', '[':
			// `}, {` begins with the end of one, and `"frames": [` where its key does.
			words := bytes.LastIndexAny(line[:end], "}]")
			if words < 0 {
				words = scan.Spaces(line, 0)
			}
			if words < o.parts.indent && c == '{' {
				o.parts = parts{}
			}
		case '}', ']':
			if end < o.parts.indent {
				o.parts = parts{}
			}
		}
	}
}
