package llvm

import (
	"strconv"

	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// fail adds an error at a place of the line at hand.
func (r *reader) fail(at int, message string) {
	if r.errors != nil {
		r.say("error: ", "\x1b[0;1;31m", message)
		r.locate(at)
	}
}

// say adds a message. It begins with kind, in that color.
func (r *reader) say(kind, color, message string) {
	r.unsure++
	b := r.messages
	if r.errorColor {
		b = append(append(append(b, color...), kind...), "\x1b[0m"...)
	} else {
		b = append(b, kind...)
	}
	if r.messages = append(append(b, message...), '\n'); len(r.messages) >= stream.MaxOutput {
		r.report()
	}
}

// locate adds the line at hand and a caret under a byte of it.
func (r *reader) locate(at int) {
	b := append(r.messages, r.text...)
	for range at {
		b = append(b, ' ')
	}
	if r.errorColor {
		b = append(b, "\x1b[0;32m^\x1b[0m\n"...)
	} else {
		b = append(b, "^\n"...)
	}
	r.messages = b
	if len(b) >= stream.MaxOutput {
		r.report()
	}
}

// report writes the messages so far, before the lines that they are about, as llvm does. An error of the write is ignored: there
// is no other place for messages.
func (r *reader) report() {
	if len(r.messages) == 0 {
		return
	}
	_, _ = r.errors.Write(r.messages)
	r.messages = r.messages[:0]
	if cap(r.messages) > stream.MaxOutput {
		r.messages = nil
	}
}

// miscounted adds an error about too few fields, or a warning about too many. whole is set for the check whose warnings llvm colors
// as a whole.
func (r *reader) miscounted(n *node, wants string, want int, warn, whole bool) {
	if r.errors == nil {
		return
	}
	r.unsure++
	message := "expected " + wants + strconv.Itoa(want) + " field(s); found " + strconv.Itoa(r.count)
	kind, color := "error: ", "\x1b[0;1;31m"
	if warn {
		kind, color = "warning: ", "\x1b[0;1;35m"
	}
	if whole && r.errorColor {
		r.messages = append(append(append(r.messages, color...), kind+message+"\n"...), "\x1b[0m"...)
	} else {
		r.say(kind, color, message)
	}
	r.locate(n.tag.End)
}

// fieldsExactly reports whether an element has want fields. It warns about further ones, which are ignored.
func (r *reader) fieldsExactly(n *node, want int) bool {
	if r.count != want {
		r.miscounted(n, "", want, r.count > want, true)
	}
	return r.count >= want
}

// fieldsAtLeast reports whether an element has want fields or more.
func (r *reader) fieldsAtLeast(n *node, want int) bool {
	if r.count < want {
		r.miscounted(n, "at least ", want, false, false)
	}
	return r.count >= want
}

// fieldsAtMost warns about more than want fields.
func (r *reader) fieldsAtMost(n *node, want int) {
	if r.count > want {
		r.miscounted(n, "at most ", want, true, false)
	}
}

// expected adds an error about a field that is not a what.
func (r *reader) expected(f scan.Span, what string) {
	if r.errors != nil {
		r.fail(f.Start, "expected "+what+"; found '"+string(f.Of(r.text))+"'")
	}
}

// address reads `0x` and hexadecimal digits, or zeros.
func (r *reader) address(f scan.Span) (uint64, bool) {
	v, ok := markup.Address(f.Of(r.text))
	if !ok {
		r.expected(f, "address")
	}
	return v, ok
}

// integer reads a number whose prefix determines its base.
func (r *reader) integer(f scan.Span, what string) (uint64, bool) {
	v, ok := markup.Integer(f.Of(r.text))
	if !ok {
		r.expected(f, what)
	}
	return v, ok
}

// frameNumber reads a decimal number.
func (r *reader) frameNumber(f scan.Span) (uint64, bool) {
	v, ok := scan.Number(f.Of(r.text), 10)
	if !ok {
		r.expected(f, "frame number")
	}
	return v, ok
}

// buildID reads any number of hexadecimal digits. An odd number of digits gets a leading zero.
func (r *reader) buildID(f scan.Span) (symsrc.BuildID, bool) {
	b := f.Of(r.text)
	raw, ok := scan.AppendBytes(make([]byte, 0, (len(b)+1)/2), b)
	if !ok {
		r.expected(f, "build ID")
		return "", false
	}
	return symsrc.BuildID(raw), true
}

// mode reads r, w and x in this order, in either case. Each may be missing.
func (r *reader) mode(f scan.Span) (string, bool) {
	mode, ok := markup.Mode(f.Of(r.text))
	if !ok {
		r.expected(f, "mode")
	}
	return mode, ok
}

// pcType reads "ra" or "pc".
func (r *reader) pcType(f scan.Span) (markup.PCType, bool) {
	typ := markup.TypeOf(f.Of(r.text))
	if typ == markup.Unmarked {
		r.expected(f, "PC type")
	}
	return typ, typ != markup.Unmarked
}
