package filter

import (
	"bytes"
	"context"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/scan"
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
// the byte and leaves line by line; footnotes behind it say what its values point at.
type hexdict struct {
	open   bool
	of     *process // whose dump it is
	alias  bool
	lines  int
	bytes  int
	values []hexValue
	// whole counts the values of dumps before it on its first line, which wait for its end with it.
	whole int
	// before is what stood before it on its first line. A logger's prefix stands before its last line, too.
	before []byte
}

type hexValue struct {
	key  string
	addr uint64
}

var (
	hexdictTag               = []byte("hexdict:")
	closeBraces, closeAngles = []byte("}}}"), []byte(">>>")
)

// openDump returns the offset of a hexdict element that text opens at or behind from and does not close; -1 is none.
func openDump(text []byte, from int) int {
	for _, mark := range [...][]byte{openBraces, openAngles} {
		i := bytes.LastIndex(text[from:], mark)
		if i < 0 || !bytes.HasPrefix(text[from+i+len(mark):], hexdictTag) {
			continue
		}
		if !bytes.Contains(text[from+i:], closing(mark[0] == '<')) {
			return from + i
		}
	}
	return -1
}

// begin opens the element whose first line is text, of which it begins at an offset.
func (h *hexdict) begin(of *process, text []byte, at int) {
	h.open, h.of, h.alias, h.lines, h.bytes, h.whole = true, of, text[at] == '<', 0, 0, len(h.values)
	h.before = append(h.before[:0], bytes.TrimRight(text[:at], " \t")...)
	h.collect(text[at+len(openBraces)+len(hexdictTag):])
}

func closing(alias bool) []byte {
	if alias {
		return closeAngles
	}
	return closeBraces
}

// collect takes the pairs out of a text.
func (h *hexdict) collect(text []byte) {
	for _, s := range hexPairs(text) {
		h.values = append(h.values, s.hexValue)
	}
}

// hexPair is a `KEY: VALUE` pair, with the place of the value in the text.
type hexPair struct {
	hexValue
	start, end int
}

// hexPairs finds the pairs whose value may be an address. A log's prefix is none: its colons have no 0x behind them.
func hexPairs(text []byte) []hexPair {
	var pairs []hexPair
	for i := 0; ; i++ {
		k := bytes.IndexByte(text[i:], ':')
		if k < 0 {
			return pairs
		}
		i += k
		start := i
		for start > 0 && isKeyByte(text[start-1]) {
			start--
		}
		at := i + 1
		for at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			at++
		}
		addr, end, ok := scan.Address(text, at)
		if start < i && ok && addr != 0 {
			pairs = append(pairs, hexPair{hexValue{string(text[start:i]), addr}, at, end})
			i = end - 1
		}
	}
}

func isKeyByte(c byte) bool {
	return scan.IsDigit(c) || scan.IsLetter(c) || c == '_'
}

// dumpLine handles a line inside an open hexdict element. ok is false where the line is none of the dump: another element
// or a frame begins, or it has gone on for too long; the line is then like any other, behind the footnotes that have waited.
func (f *Filter) dumpLine(ctx context.Context, dst []byte, p *thread, body, end []byte) (out []byte, ok bool) {
	h := &f.dump
	h.lines++
	h.bytes += len(body)
	text, rest := body, []byte(nil)
	at := bytes.Index(body, closing(h.alias))
	if at >= 0 {
		text, rest = body[:at], body[at:]
	}
	if hasMarkup(text) || frame.Candidate(text, false, false) || h.lines > maxDumpLines || h.bytes > maxDumpBytes {
		h.open = false
		h.values = h.values[:h.whole]
		if len(end) == 0 {
			end = newline
		}
		return f.footnotes(ctx, dst, p, body, end), false
	}
	h.collect(text)
	dst = f.highlight(ctx, dst, p, text)
	dst = append(append(dst, rest...), end...)
	if at >= 0 {
		h.open = false
		dst = f.footnotes(ctx, dst, p, body, end)
	}
	return dst, true
}

// highlight writes a line of a dump, with the values that a footnote explains in colour where colours are written.
func (f *Filter) highlight(ctx context.Context, dst []byte, p *thread, text []byte) []byte {
	if f.palette() == nil {
		return append(dst, text...)
	}
	pos := 0
	restore := f.colour
	for _, v := range hexPairs(text) {
		if f.point(ctx, p, v.hexValue) == nil {
			continue
		}
		dst = append(dst, text[pos:v.start]...)
		f.followColour(text[pos:v.start])
		dst = f.paint(dst, f.opt.Palette.Func, string(text[v.start:v.end]))
		pos = v.end
	}
	f.colour = restore
	return append(dst, text[pos:]...)
}

// point returns what a value of a dump points at: a function if its mapping is executable, else a variable; nil where it
// points at nothing that has a name.
func (f *Filter) point(ctx context.Context, p *thread, v hexValue) *answer {
	at, ok := p.space.Resolve(v.addr)
	if !ok {
		return nil
	}
	kind, take := symsrc.Data, exactly.because(byRegister)
	if strings.Contains(at.Mode, "x") {
		kind = symsrc.Code
		if isReturnRegister(v.key) {
			take = returning.because(byRegister)
		}
	}
	if a := f.askAbsolute(ctx, p.process, v.addr, kind, take); len(a.frames) > 0 {
		return a
	}
	return nil
}

// isReturnRegister tells the registers that hold a return address: AArch64's and ARM's link register, RISC-V's and MIPS's.
func isReturnRegister(key string) bool {
	switch strings.ToUpper(key) {
	case "RA", "LR", "X30":
		return true
	}
	return false
}

// dumpElement is highlight for an element in a line: what of it stands behind its tag.
func (f *Filter) dumpElement(ctx context.Context, dst []byte, p *thread, raw []byte) []byte {
	tag := len(openBraces) + len(hexdictTag)
	if len(raw) < tag { // without a body
		return append(dst, raw...)
	}
	return f.highlight(ctx, append(dst, raw[:tag]...), p, raw[tag:])
}

// footnotes writes a line for each value of the dump that points at something: `  [RIP] func file:line`, with the logger's
// prefix of the line that closed the dump. A last line without its end keeps none.
func (f *Filter) footnotes(ctx context.Context, dst []byte, p *thread, body, end []byte) []byte {
	before := bytes.TrimRight(body[:f.origins.prefix.Start], " \t")
	if n := len(f.dump.before); n > len(before) && bytes.HasPrefix(body, f.dump.before) {
		before = body[:n]
	}
	missing := len(end) == 0
	for _, v := range f.dump.values {
		a := f.point(ctx, p, v)
		if a == nil {
			continue
		}
		f.recorder.register(p.process, v, a)
		if missing {
			dst = append(dst, '\n')
		}
		dst = append(dst, before...)
		dst = append(append(append(dst, "  ["...), v.key...), "] "...)
		if a.kind == symsrc.Data {
			dst = f.appendVariable(dst, a, 0)
		} else {
			dst = f.appendSentence(dst, a)
		}
		dst = append(dst, end...)
	}
	f.dump.values = f.dump.values[:0]
	return dst
}

// dumps looks after the hexdict elements of a line: it writes the footnotes of those that the line holds whole, and opens
// one that goes on. Inside a JSON object there is no place for footnotes.
func (f *Filter) dumps(ctx context.Context, dst []byte, p *thread, body, end []byte) []byte {
	if !bytes.Contains(body, hexdictTag) {
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
	if at := openDump(body, from); at >= 0 {
		f.dump.begin(p.process, body, at)
		return dst
	}
	return f.footnotes(ctx, dst, p, body, end)
}
