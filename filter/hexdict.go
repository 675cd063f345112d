package filter

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
	"qss-filter/symsrc"
)

// The longest hexdict element that is waited for. The text of a longer or unclosed one has left by then, as it came; only
// its footnotes are not written.
const (
	maxDumpLines = 64
	maxDumpBytes = 16 << 10
)

// dump follows a `{{{hexdict:` element over its lines: a dump of registers as `KEY: VALUE` pairs. The dump is kept to the byte and
// leaves line by line. Footnotes after it say what its values point at.
type dump struct {
	resolver *resolve.Resolver
	colored  bool // whether colors are written

	open   bool
	of     *resolve.Process // whose dump it is
	alias  bool
	lines  int
	bytes  int
	values []parse.Value
	// whole counts the values of dumps before it on its first line, which wait for its end with it.
	whole int
	// before is what precedes it on its first line. A prefix of a logger precedes its last line, too.
	before []byte
	// within is set for a line of the open element, and closed for its last one.
	within, closed bool
}

// next returns the part of the open element that a line of its process is. ok is false if there is none, and for a line that is none
// of the dump: another element or a frame begins, or it has gone on for too long. The values that have waited are due then.
func (h *dump) next(of *resolve.Process, l *parse.Line) (e parse.Element, ok bool) {
	h.within = false
	if !h.open || h.of != of || l.Quoted() {
		return e, false
	}
	h.lines++
	h.bytes += len(l.Text)
	end := bytes.Index(l.Text, parse.Closing(h.alias))
	if h.closed = end >= 0; !h.closed {
		end = len(l.Text)
	}
	text := l.Text[:end]
	if parse.HasMarkup(text) || frame.Candidate(text, false, false) || h.lines > maxDumpLines || h.bytes > maxDumpBytes {
		h.open, h.values = false, h.values[:h.whole]
		return e, false
	}
	h.within = true
	h.collect(text)
	return parse.Element{Element: markup.Element{End: end, Tag: markup.Hexdict}, Keep: true}, true
}

// follow looks after the dumps of a line that was printed, with its elements. Inside a JSON object there is no place for footnotes.
func (h *dump) follow(of *resolve.Process, l *parse.Line, elements []parse.Element) {
	if h.within {
		h.open = !h.closed
		return
	}
	if l.Quoted() || !slices.ContainsFunc(elements, func(e parse.Element) bool { return e.Tag == markup.Hexdict }) {
		return
	}
	h.open, h.values, h.before = false, h.values[:0], h.before[:0]
	for i := range elements {
		e := &elements[i]
		switch {
		case e.Tag != markup.Hexdict:
		case e.Open:
			h.open, h.of, h.alias, h.lines, h.bytes, h.whole = true, of, l.Text[e.Start] == '<', 0, 0, len(h.values)
			h.before = append(h.before, bytes.TrimRight(l.Text[:e.Start], " \t")...)
			h.collect(l.Text[e.Pairs:])
		default:
			h.collect(e.Body)
		}
	}
}

// collect takes the pairs out of a text.
func (h *dump) collect(text []byte) {
	for _, s := range parse.Pairs(text) {
		h.values = append(h.values, s.Value)
	}
}

// pointing returns the values of a dump that a footnote explains, if colors are written.
func (h *dump) pointing(ctx context.Context, t *resolve.Thread, s parse.Segment, e *parse.Element) (values []parse.Pair) {
	if !h.colored || s.Quoted() {
		return nil
	}
	for _, v := range parse.Pairs(s.Text[e.Pairs:e.End]) {
		if h.point(ctx, t, v.Value) != nil {
			v.Start, v.End = v.Start+e.Pairs-e.Start, v.End+e.Pairs-e.Start
			values = append(values, v)
		}
	}
	return values
}

// point returns what a value of a dump points at: a function if its mapping is executable, otherwise a variable; nil if it
// points at nothing that has a name.
func (h *dump) point(ctx context.Context, p *resolve.Thread, v parse.Value) *resolve.Answer {
	at, ok := p.Space.Resolve(v.Addr)
	if !ok {
		return nil
	}
	kind, take := symsrc.Data, resolve.ExactByRegister
	if strings.Contains(at.Mode, "x") {
		kind = symsrc.Code
		if isReturnRegister(v.Key) {
			take = resolve.ReturnByRegister
		}
	}
	if a := h.resolver.ResolveAddress(ctx, p.Process, v.Addr, kind, take); len(a.Frames) > 0 {
		return a
	}
	return nil
}

// isReturnRegister reports whether a register holds a return address: AArch64's and ARM's link register, RISC-V's and MIPS's.
func isReturnRegister(key string) bool {
	switch strings.ToUpper(key) {
	case "RA", "LR", "X30":
		return true
	}
	return false
}

// footnotes writes a line for each value of a dump that has ended: `  [RIP] func file:line`, with the logger's prefix of the line that
// closed the dump. A last line without its end keeps none.
func (h *dump) footnotes(ctx context.Context, out print.Printer, dst []byte, t *resolve.Thread, l *parse.Line, end []byte) []byte {
	if h.open || len(h.values) == 0 {
		return dst
	}
	before := bytes.TrimRight(l.Text[:l.Start], " \t")
	if n := len(h.before); n > len(before) && bytes.HasPrefix(l.Text, h.before) {
		before = l.Text[:n]
	}
	for _, v := range h.values {
		a := h.point(ctx, t, v)
		if a == nil {
			continue
		}
		if len(end) == 0 {
			dst = out.Text(dst, newline)
		}
		dst = out.Register(dst, before, t, v, a, end)
	}
	h.values = h.values[:0]
	return dst
}
