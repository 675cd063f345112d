package tree

import (
	"strconv"
	"unicode/utf8"

	"qss-filter/symsrc"
)

// none stands for a value that there is not.
const none = '-'

// write3 adds a frame to the tables.
func (l *logSink) write3(f *fields, functions []symsrc.Frame) {
	o := f.o
	t := &l.tables[frameTable]
	b := appendPair(l.place(t.buf, f.s), f)
	b = appendField(b, o.Address)
	b = appendField(b, o.Module.Name)
	b = appendOffset(append(b, '\t'), f)
	b = appendField(b, f.id)
	b = appendField(b, hint(o.Hint))
	t.buf = append(b, '\n')
	t.add(&l.rep.spool)
	if f.failed {
		t = &l.tables[failedTable]
		b = appendPair(l.place(t.buf, f.s), f)
		b = appendField(b, o.Module.Name)
		b = appendOffset(append(b, '\t'), f)
		b = appendField(b, f.id)
		b = appendField(b, target(o.Files))
		b = appendField(b, reason(o))
		t.buf = append(b, '\n')
		t.add(&l.rep.spool)
	}
	if f.s == nil {
		return
	}
	for i := range functions {
		fr := &functions[i]
		t = &l.tables[expandedTable]
		b = appendInt(l.place(t.buf, f.s), f.s.next+i)
		b = strconv.AppendUint(append(b, '\t'), f.number, 10)
		b = appendInt(b, i)
		b = appendField(b, o.Address)
		b = appendField(b, name(fr.Func))
		b = appendField(b, name(fr.File))
		t.buf = append(appendLine(append(b, '\t'), fr), '\n')
		t.add(&l.rep.spool)
	}
}

// place writes which stack a row is of.
func (l *logSink) place(b []byte, s *stack) []byte {
	b = append(b, l.name...)
	if s == nil {
		return append(b, '\t', none)
	}
	return appendInt(b, s.id)
}

// appendPair writes a frame's number in the log.
func appendPair(b []byte, f *fields) []byte {
	if f.s == nil {
		return append(b, '\t', none)
	}
	return strconv.AppendUint(append(b, '\t'), f.number, 10)
}

// appendOffset writes the offset in the module as logged; in markup, that of the address that is logged.
func appendOffset(b []byte, f *fields) []byte {
	switch o := f.o; {
	case len(o.Offset) > 0:
		return appendEscaped(b, o.Offset)
	case o.Located:
		return strconv.AppendUint(append(b, "0x"...), o.At+o.Back, 16)
	}
	return append(b, none)
}

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(append(b, '\t'), int64(n), 10) }

// appendField writes a value, or a hyphen for none.
func appendField[T string | []byte](b []byte, value T) []byte {
	b = append(b, '\t')
	if len(value) == 0 {
		return append(b, none)
	}
	return appendEscaped(b, value)
}

// appendEscaped writes a value with \t, \n, \r and \\ for what would end it, or be one of these, and \x1b for other control
// characters.
func appendEscaped[T string | []byte](b []byte, value T) []byte {
	s := string(value)
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\t':
			b = append(b, `\t`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\\':
			b = append(b, `\\`...)
		default:
			_, n := utf8.DecodeRuneInString(s[i:])
			b = symsrc.AppendVisible(b, s[i:i+n])
			i += n - 1
		}
	}
	return b
}
