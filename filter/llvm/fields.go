package llvm

import (
	"strconv"

	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// fail adds an error at a place of the line at hand.
func (l *Filter) fail(at int, message string) {
	if l.opt.Errors != nil {
		l.say("error: ", "\x1b[0;1;31m", message)
		l.locate(at)
	}
}

// say adds a message. It begins with kind, in that color.
func (l *Filter) say(kind, color, message string) {
	l.unsure++
	b := l.messages
	if l.opt.ErrorColor {
		b = append(append(append(b, color...), kind...), "\x1b[0m"...)
	} else {
		b = append(b, kind...)
	}
	if l.messages = append(append(b, message...), '\n'); len(l.messages) >= stream.MaxOutput {
		l.report()
	}
}

// locate adds the line at hand and a caret under a byte of it.
func (l *Filter) locate(at int) {
	b := append(l.messages, l.text...)
	for range at {
		b = append(b, ' ')
	}
	if l.opt.ErrorColor {
		b = append(b, "\x1b[0;32m^\x1b[0m\n"...)
	} else {
		b = append(b, "^\n"...)
	}
	l.messages = b
	if len(b) >= stream.MaxOutput {
		l.report()
	}
}

// report writes the messages so far, before the lines that they are about, as llvm does. An error of the write is ignored: there
// is no other place for messages.
func (l *Filter) report() {
	if len(l.messages) == 0 {
		return
	}
	_, _ = l.opt.Errors.Write(l.messages)
	l.messages = l.messages[:0]
	if cap(l.messages) > stream.MaxOutput {
		l.messages = nil
	}
}

// miscounted adds an error about too few fields, or a warning about too many. whole is set for the check whose warnings llvm colors
// as a whole.
func (l *Filter) miscounted(n *node, wants string, want int, warn, whole bool) {
	if l.opt.Errors == nil {
		return
	}
	l.unsure++
	message := "expected " + wants + strconv.Itoa(want) + " field(s); found " + strconv.Itoa(l.count)
	kind, color := "error: ", "\x1b[0;1;31m"
	if warn {
		kind, color = "warning: ", "\x1b[0;1;35m"
	}
	if whole && l.opt.ErrorColor {
		l.messages = append(append(append(l.messages, color...), kind+message+"\n"...), "\x1b[0m"...)
	} else {
		l.say(kind, color, message)
	}
	l.locate(n.tag.End)
}

// fieldsExactly reports whether an element has want fields. It warns about further ones, which are ignored.
func (l *Filter) fieldsExactly(n *node, want int) bool {
	if l.count != want {
		l.miscounted(n, "", want, l.count > want, true)
	}
	return l.count >= want
}

// fieldsAtLeast reports whether an element has want fields or more.
func (l *Filter) fieldsAtLeast(n *node, want int) bool {
	if l.count < want {
		l.miscounted(n, "at least ", want, false, false)
	}
	return l.count >= want
}

// fieldsAtMost warns about more than want fields.
func (l *Filter) fieldsAtMost(n *node, want int) {
	if l.count > want {
		l.miscounted(n, "at most ", want, true, false)
	}
}

// expected adds an error about a field that is not a what.
func (l *Filter) expected(f scan.Span, what string) {
	if l.opt.Errors != nil {
		l.fail(f.Start, "expected "+what+"; found '"+string(f.Of(l.text))+"'")
	}
}

// address reads `0x` and hexadecimal digits, or zeros.
func (l *Filter) address(f scan.Span) (uint64, bool) {
	v, ok := markup.Address(f.Of(l.text))
	if !ok {
		l.expected(f, "address")
	}
	return v, ok
}

// integer reads a number whose prefix determines its base.
func (l *Filter) integer(f scan.Span, what string) (uint64, bool) {
	v, ok := markup.Integer(f.Of(l.text))
	if !ok {
		l.expected(f, what)
	}
	return v, ok
}

// frameNumber reads a decimal number.
func (l *Filter) frameNumber(f scan.Span) (uint64, bool) {
	v, ok := scan.Number(f.Of(l.text), 10)
	if !ok {
		l.expected(f, "frame number")
	}
	return v, ok
}

// buildID reads any number of hexadecimal digits. An odd number of digits gets a leading zero.
func (l *Filter) buildID(f scan.Span) (symsrc.BuildID, bool) {
	b := f.Of(l.text)
	raw, ok := scan.AppendBytes(make([]byte, 0, (len(b)+1)/2), b)
	if !ok {
		l.expected(f, "build ID")
		return "", false
	}
	return symsrc.BuildID(raw), true
}

// mode reads r, w and x in this order, in either case. Each may be missing.
func (l *Filter) mode(f scan.Span) (string, bool) {
	mode, ok := markup.Mode(f.Of(l.text))
	if !ok {
		l.expected(f, "mode")
	}
	return mode, ok
}

// pcType reads "ra" or "pc".
func (l *Filter) pcType(f scan.Span) (markup.PCType, bool) {
	typ := markup.TypeOf(f.Of(l.text))
	if typ == markup.Unmarked {
		l.expected(f, "PC type")
	}
	return typ, typ != markup.Unmarked
}
