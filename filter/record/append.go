package record

import (
	"strconv"

	"qss-filter/symsrc"
)

// Append appends the object of a line, with a line break after it.
func (l *Line) Append(dst []byte) []byte {
	dst = AppendNumber(dst, l.Number)
	if l.Part > 0 {
		dst = appendTrue(appendInt(dst, "part", l.Part), "more", l.More)
	}
	if r := &l.Repeats; r.Stack > 0 {
		dst = appendInt(append(key(dst, "repeats"), '{'), "stack", r.Stack)
		dst = appendInt(appendInt(dst, "line", r.Line), "lines", r.Lines)
		return append(dst, '}', '}', '\n')
	}
	dst = appendFilled(dst, "process", l.Process)
	dst = l.Prefix.append(dst)
	dst = appendEnd(appendString(dst, "text", l.Text), l.End)
	dst = appendList(dst, "context", l.Context, func(dst []byte, i int) []byte { return l.Context[i].append(dst) })
	dst = appendList(dst, "frames", l.Frames, func(dst []byte, i int) []byte { return l.Frames[i].append(dst, l.Process) })
	return append(dst, '}', '\n')
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
var spaceNames = [...]string{symsrc.Linked: "linked", symsrc.InFile: "file", symsrc.InImage: "image", symsrc.InText: "text"}

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
	if id == "" {
		return dst
	}
	return appendString(dst, "build_id", id.String())
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
	if f.Located {
		dst = appendString(appendHex(dst, "at", f.At), "space", spaceNames[f.Space])
		dst = appendString(appendInt(dst, "back", int(f.Back)), "why", f.Why)
	}
	dst = appendString(dst, "status", f.Status)
	dst = appendFilled(dst, "reason", f.Reason)
	dst = appendFilled(dst, "detail", f.Detail)
	dst = appendTrue(dst, "unverified", f.Unverified)
	return appendList(dst, "functions", f.Functions, func(dst []byte, i int) []byte {
		return f.appendFunction(dst, i)
	})
}

// appendFunction writes the fields of one function of a frame's answer, or of its variable.
func (f *Frame) appendFunction(dst []byte, i int) []byte {
	fr := &f.Functions[i]
	dst = appendFilled(dst, "function", fr.Func)
	dst = appendFilled(dst, "linkage_name", fr.Linkage)
	dst = appendFilled(dst, "file", fr.File)
	if fr.Line > 0 {
		dst = appendInt(dst, "line", fr.Line)
	}
	if fr.Column > 0 {
		dst = appendInt(dst, "column", fr.Column)
	}
	dst = appendTrue(dst, "approximate", fr.Approx)
	if fr.Offset > 0 {
		dst = appendHex(dst, "offset", fr.Offset)
	}
	return appendTrue(dst, "inlined", i < len(f.Functions)-1)
}
