package filter

import (
	"bytes"
	"context"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
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

// hexdict follows a `{{{hexdict:` element over its lines: a dump of registers as `KEY: VALUE` pairs. The dump is kept to
// the byte and leaves line by line; footnotes after it say what its values point at.
type hexdict struct {
	open   bool
	of     *resolve.Process // whose dump it is
	alias  bool
	lines  int
	bytes  int
	values []parse.Value
	// whole counts the values of dumps before it on its first line, which wait for its end with it.
	whole int
	// before is what preceded it on its first line. A prefix of a logger precedes its last line, too.
	before []byte
}

// begin opens the element whose first line is text, of which it begins at an offset.
func (h *hexdict) begin(of *resolve.Process, text []byte, at int) {
	h.open, h.of, h.alias, h.lines, h.bytes, h.whole = true, of, text[at] == '<', 0, 0, len(h.values)
	h.before = append(h.before[:0], bytes.TrimRight(text[:at], " \t")...)
	h.collect(text[at+len(parse.OpenBraces)+len(parse.HexdictTag):])
}

// collect takes the pairs out of a text.
func (h *hexdict) collect(text []byte) {
	for _, s := range parse.Pairs(text) {
		h.values = append(h.values, s.Value)
	}
}

// dumpLine handles a line inside an open hexdict element. ok is false where the line is none of the dump: another element
// or a frame begins, or it has gone on for too long; the line is then like any other, after the footnotes that have waited.
func (f *Filter) dumpLine(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) (out []byte, ok bool) {
	h := &f.dump
	h.lines++
	h.bytes += len(body)
	text, rest := body, []byte(nil)
	at := bytes.Index(body, parse.Closing(h.alias))
	if at >= 0 {
		text, rest = body[:at], body[at:]
	}
	if parse.HasMarkup(text) || frame.Candidate(text, false, false) || h.lines > maxDumpLines || h.bytes > maxDumpBytes {
		h.open = false
		h.values = h.values[:h.whole]
		if len(end) == 0 {
			end = newline
		}
		return f.footnotes(ctx, dst, p, body, end), false
	}
	h.collect(text)
	dst = f.out.Dump(dst, text, f.pointing(ctx, p, text))
	dst = f.out.Text(f.out.Text(dst, rest), end)
	if at >= 0 {
		h.open = false
		dst = f.footnotes(ctx, dst, p, body, end)
	}
	return dst, true
}

// pointing returns the values of a dump that a footnote explains, if colors are written.
func (f *Filter) pointing(ctx context.Context, t *resolve.Thread, text []byte) (values []parse.Pair) {
	if f.opt.Palette == nil || f.parser.Quoted {
		return nil
	}
	for _, v := range parse.Pairs(text) {
		if f.point(ctx, t, v.Value) != nil {
			values = append(values, v)
		}
	}
	return values
}

// point returns what a value of a dump points at: a function if its mapping is executable, otherwise a variable; nil if it
// points at nothing that has a name.
func (f *Filter) point(ctx context.Context, p *resolve.Thread, v parse.Value) *resolve.Answer {
	at, ok := p.Space.Resolve(v.Addr)
	if !ok {
		return nil
	}
	kind, take := symsrc.Data, resolve.Exact.Because(resolve.ByRegister)
	if strings.Contains(at.Mode, "x") {
		kind = symsrc.Code
		if isReturnRegister(v.Key) {
			take = resolve.Return.Because(resolve.ByRegister)
		}
	}
	if a := f.resolver.ResolveAddress(ctx, p.Process, v.Addr, kind, take); len(a.Frames) > 0 {
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

// footnotes writes a line for each value of the dump that points at something: `  [RIP] func file:line`, with the logger's
// prefix of the line that closed the dump. A last line without its end keeps none.
func (f *Filter) footnotes(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	before := bytes.TrimRight(body[:f.parser.Prefix.Start], " \t")
	if n := len(f.dump.before); n > len(before) && bytes.HasPrefix(body, f.dump.before) {
		before = body[:n]
	}
	missing := len(end) == 0
	for _, v := range f.dump.values {
		a := f.point(ctx, p, v)
		if a == nil {
			continue
		}
		if missing {
			dst = f.out.Text(dst, newline)
		}
		dst = f.out.Register(dst, before, p, v, a, end)
	}
	f.dump.values = f.dump.values[:0]
	return dst
}

// dumps looks after the hexdict elements of a line: it writes the footnotes of those that the line holds whole, and opens
// one that goes on. Inside a JSON object there is no place for footnotes.
func (f *Filter) dumps(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	if !bytes.Contains(body, parse.HexdictTag) {
		return dst
	}
	f.dump.values, f.dump.whole, f.dump.before = f.dump.values[:0], 0, f.dump.before[:0]
	from := 0
	for {
		e, ok := markup.Next(body, from)
		if !ok {
			break
		}
		from = e.End
		if e.Tag == markup.Hexdict {
			f.dump.collect(e.Body)
		}
	}
	if at := parse.OpenDump(body, from); at >= 0 {
		f.dump.begin(p.Process, body, at)
		return dst
	}
	return f.footnotes(ctx, dst, p, body, end)
}
