package record

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Append appends the object of a line, with a line break after it.
func (l *Line) Append(dst []byte) []byte {
	dst = AppendNumber(dst, l.Number)
	dst = appendFilled(dst, "signature", l.Signature) // where Sign puts it
	dst = appendFilled(dst, "input", l.Input)
	if l.Part > 0 {
		dst = appendTrue(appendInt(dst, "part", l.Part), "more", l.More)
	}
	if r := &l.Repeats; r.Stack > 0 {
		dst = appendInt(append(key(dst, "repeats"), '{'), "stack", r.Stack)
		dst = appendInt(appendInt(dst, "line", r.Line), "lines", r.Lines)
		dst = appendFilled(dst, "input", r.Input)
		return append(dst, '}', '}', '\n')
	}
	dst = appendFilled(dst, "process", l.Process)
	dst = l.Prefix.append(dst)
	dst = appendEnd(appendString(dst, "text", l.Text), l.End)
	dst = appendList(dst, "context", l.Context, func(dst []byte, i int) []byte { return l.Context[i].append(dst) })
	dst = appendList(dst, "frames", l.Frames, func(dst []byte, i int) []byte { return l.Frames[i].append(dst, l.Process) })
	return append(dst, '}', '\n')
}

// Sign adds the signature of a stack to the first of the objects of its lines.
func Sign(dst, lines []byte, signature string) []byte {
	rest := CutNumber(lines)
	if signature == "" || len(rest) == 0 {
		return append(dst, lines...)
	}
	dst = append(dst, lines[:len(lines)-len(rest)]...)
	return append(appendString(dst, "signature", signature), rest...)
}

// appendList writes a field that is a list, unless the list is empty. one writes the fields of an object in it.
func appendList[T any](dst []byte, name string, list []T, one func(dst []byte, i int) []byte) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(key(dst, name), '[')
	for i := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(one(append(dst, '{'), i), '}')
	}
	return append(dst, ']')
}

// append writes the field prefix, if there is a prefix.
func (p *Prefix) append(dst []byte) []byte {
	if len(p.Text)+len(p.Suffix) == 0 {
		return dst
	}
	dst = appendString(append(key(dst, "prefix"), '{'), "logger", p.Logger)
	dst = appendFilled(dst, "text", p.Text)
	dst = appendFilled(dst, "suffix", p.Suffix)
	dst = appendFilled(dst, "pid", p.PID)
	dst = appendFilled(dst, "tid", p.TID)
	dst = appendFilled(dst, "host", p.Host)
	dst = appendFilled(dst, "tag", p.Tag)
	return append(dst, '}')
}

var typeNames = [...]string{Reset: "reset", Module: "module", Mapping: "mapping", BuildID: "build_id", Dumpfile: "dumpfile",
	Symbol: "symbol", Malformed: "malformed"}

// spaceNames are the words for what an address in a module counts from.
var spaceNames = [...]string{symsrc.Linked: "linked", symsrc.InFile: "file", symsrc.InImage: "image", symsrc.InText: "text", symsrc.Fixed: "fixed"}

// append writes the fields of a Context.
func (c *Context) append(dst []byte) []byte {
	dst = appendString(dst, "type", typeNames[c.Type])
	switch c.Type {
	case Module:
		dst = appendModule(appendHex(dst, "id", c.ID), c.Name, c.BuildID)
	case BuildID:
		dst = appendModule(dst, c.Name, c.BuildID)
	case Mapping:
		dst = appendHex(dst, "start", c.Start)
		if c.Last+1 != c.Start {
			dst = appendHex(dst, "last", c.Last)
		}
		dst = appendFilled(dst, "mode", c.Mode)
		dst = appendString(appendHex(dst, "at", c.At), "space", spaceNames[c.Space])
		dst = appendModule(dst, c.Name, c.BuildID)
	case Dumpfile:
		dst = appendString(appendString(dst, "dump_type", c.Word), "name", c.Name)
	case Symbol:
		dst = appendString(appendString(dst, "function", c.Name), "linkage_name", c.Word)
	case Malformed:
		dst = appendString(dst, "reason", c.Word)
		if c.Column > 0 {
			dst = appendInt(dst, "column", c.Column)
		}
	}
	return dst
}

// appendModule writes what identifies a module.
func appendModule(dst []byte, name string, id symsrc.BuildID) []byte {
	dst = appendString(dst, "name", name)
	if id == "" || id == symsrc.MachO {
		return dst
	}
	return appendString(dst, "build_id", id.Text())
}

var kindNames = [...]string{Stack: "stack", Sentence: "sentence", Variable: "variable", Register: "register"}

// append writes the fields of a frame that stands on a line of that process.
func (f *Frame) append(dst []byte, process string) []byte {
	dst = appendString(dst, "kind", kindNames[f.Kind])
	dst = appendFilled(dst, "format", f.Format)
	if f.Numbered {
		dst = strconv.AppendUint(key(dst, "number"), f.Number, 10)
	}
	if f.Process != process {
		dst = appendString(dst, "process", f.Process)
	}
	dst = appendFilled(dst, "register", f.Register)
	dst = appendString(dst, "text", f.Text)
	dst = appendFilled(dst, "address", f.Address)
	dst = appendFilled(dst, "offset", f.Offset)
	dst = appendFilled(dst, "hint", f.Hint)
	if m := &f.Module; f.Located || m.Name != "" || m.BuildID != "" {
		dst = appendModule(append(key(dst, "module"), '{'), m.Name, m.BuildID)
		dst = appendFilled(dst, "member", m.Member)
		if m.InArchive > 0 {
			dst = appendHex(dst, "in_archive", m.InArchive)
		}
		dst = append(dst, '}')
	}
	if f.Located && !f.Java && f.Space != symsrc.InScript {
		dst = appendString(appendHex(dst, "at", f.At), "space", spaceNames[f.Space])
		dst = appendString(appendInt(dst, "back", int(f.Back)), "why", f.Why)
	}
	dst = appendString(dst, "status", f.Status)
	dst = appendFilled(dst, "reason", f.Reason)
	dst = appendFilled(dst, "detail", f.Detail)
	dst = appendTrue(dst, "unverified", f.Unverified)
	dst = appendTrue(dst, "removed", f.Dropped)
	if len(f.Candidates) > 0 {
		dst = append(key(dst, "candidates"), '[')
		for i, chain := range f.Candidates {
			if i > 0 {
				dst = append(dst, ',')
			}
			one := Frame{Java: true, Functions: chain}
			list := appendList([]byte{'{'}, "functions", chain, one.appendFunction)
			dst = append(append(dst, list...), '}')
		}
		dst = append(dst, ']')
	}
	return appendList(dst, "functions", f.Functions, func(dst []byte, i int) []byte {
		return f.appendFunction(dst, i)
	})
}

// appendFunction writes the fields of one function of a frame's answer, or of its variable.
func (f *Frame) appendFunction(dst []byte, i int) []byte {
	fr := &f.Functions[i]
	dst = appendFilled(dst, "function", fr.Func)
	if dot := strings.LastIndexByte(fr.Func, '.'); f.Java && dot > 0 {
		dst = appendString(appendString(dst, "class", fr.Func[:dot]), "method", fr.Func[dot+1:])
	}
	dst = appendFilled(dst, "linkage_name", fr.Linkage)
	dst = appendFilled(dst, "file", fr.File)
	if fr.Line > 0 {
		dst = appendInt(dst, "line", fr.Line)
	}
	if fr.Column > 0 {
		dst = appendInt(dst, "column", fr.Column)
	}
	dst = appendTrue(dst, "approximate", fr.Approx)
	dst = appendTrue(dst, "line_now", fr.LineNow)
	dst = appendTrue(dst, "foreign", fr.Foreign)
	if fr.Offset > 0 {
		dst = appendHex(dst, "offset", fr.Offset)
	}
	return appendTrue(dst, "inlined", i < len(f.Functions)-1)
}

// key begins a field of the object that is open.
func key(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), '"', ':')
}

// appendString writes a field that is a string, and one with its bytes if they are not UTF-8.
func appendString[S []byte | string](dst []byte, name string, text S) []byte {
	dst, valid := AppendEscaped(append(key(dst, name), '"'), text)
	dst = append(dst, '"')
	if valid {
		return dst
	}
	dst = append(key(dst, name+"_base64"), '"')
	return append(base64.StdEncoding.AppendEncode(dst, []byte(text)), '"')
}

// appendFilled is appendString unless text is empty.
func appendFilled[S []byte | string](dst []byte, name string, text S) []byte {
	if len(text) == 0 {
		return dst
	}
	return appendString(dst, name, text)
}

// appendHex writes a field that is a number as `"0x1150"`.
func appendHex(dst []byte, name string, v uint64) []byte {
	return append(strconv.AppendUint(append(key(dst, name), `"0x`...), v, 16), '"')
}

// appendInt writes a field that is a small number.
func appendInt(dst []byte, name string, v int) []byte {
	return strconv.AppendInt(key(dst, name), int64(v), 10)
}

// appendTrue writes a field that is true, if is is set.
func appendTrue(dst []byte, name string, is bool) []byte {
	if !is {
		return dst
	}
	return append(key(dst, name), "true"...)
}

// appendEnd writes the end of a line, unless it is a line feed alone.
func appendEnd(dst, end []byte) []byte {
	if len(end) == 1 {
		return dst
	}
	return appendString(dst, "end", end)
}

// AppendTexts appends the objects of lines of an input that have only text, numbered from first on. Most lines have nothing to be
// escaped: one search for what must be escaped finds their ends, too.
func AppendTexts(dst, lines []byte, first int, input string) []byte {
	var memory [64]byte
	begin, after := appendBegin(memory[:0], first, input)
	for len(lines) > 0 {
		before := len(dst)
		dst = append(dst, begin...)
		n := plain(lines, highBit)
		dst = append(dst, lines[:n]...)
		switch rest := lines[n:]; {
		case len(rest) > 0 && rest[0] == '\n':
			dst, lines = append(dst, '"', '}', '\n'), rest[1:]
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			dst, lines = append(dst, `","end":"\r\n"}`+"\n"...), rest[2:]
		default:
			size := n + bytes.IndexByte(rest, '\n') + 1
			if size == n {
				size = len(lines)
			}
			text, end := scan.CutEnd(lines[:size])
			dst, lines = AppendText(dst[:before], first, input, text, end), lines[size:]
		}
		first++
		if !countOn(begin[:len(begin)-after]) {
			begin, after = appendBegin(begin[:0], first, input)
		}
	}
	return dst
}

// textKey stands between the number of a line and its text.
const textKey = `,"text":"`

// appendBegin writes what stands before the text of a line that has only text. after is the length of what follows the number.
func appendBegin(dst []byte, number int, input string) (begin []byte, after int) {
	dst = AppendNumber(dst, number)
	after = len(dst)
	dst = append(appendFilled(dst, "input", input), textKey...)
	return dst, len(dst) - after
}

// countOn adds one to the decimal number at the end of text. ok is false if that takes another digit: then the number is wrong.
func countOn(text []byte) (ok bool) {
	for i := len(text) - 1; text[i]-'0' <= 9; i-- {
		if text[i] < '9' {
			text[i]++
			return true
		}
		text[i] = '0'
	}
	return false
}

// AppendNumber appends the beginning of the object of a line, with its number.
func AppendNumber(dst []byte, number int) []byte {
	return strconv.AppendInt(append(dst, `{"line":`...), int64(number), 10)
}

// CutNumber returns what an object has after the number of its line.
func CutNumber(object []byte) []byte {
	if i := bytes.IndexByte(object, ','); i >= 0 {
		return object[i:]
	}
	return nil
}

// AppendText appends the object of a line of an input that has only text.
func AppendText(dst []byte, number int, input string, text, end []byte) []byte {
	dst = appendString(appendFilled(AppendNumber(dst, number), "input", input), "text", text)
	return append(appendEnd(dst, end), '}', '\n')
}
