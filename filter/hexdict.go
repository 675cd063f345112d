package filter

import (
	"bytes"
	"context"
	"strings"

	"qss-filter/filter/frame"
	"qss-filter/filter/prefix"
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
}

type hexValue struct {
	key  string
	addr uint64
}

var hexdictTag = []byte("hexdict:")

// begin looks for a hexdict element that text opens and does not close.
func (h *hexdict) begin(of *process, text []byte) {
	for _, mark := range [...][]byte{openBraces, openAngles} {
		i := bytes.LastIndex(text, mark)
		if i < 0 || !bytes.HasPrefix(text[i+len(mark):], hexdictTag) {
			continue
		}
		alias := mark[0] == '<'
		if bytes.Contains(text[i:], closing(alias)) {
			continue
		}
		*h = hexdict{open: true, of: of, alias: alias, values: h.values[:0]}
		h.collect(text[i+len(mark)+len(hexdictTag):])
	}
}

func closing(alias bool) []byte {
	if alias {
		return []byte(">>>")
	}
	return []byte("}}}")
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
		addr, end := hexAddress(text, at)
		if start < i && addr != 0 {
			pairs = append(pairs, hexPair{hexValue{string(text[start:i]), addr}, at, end})
			i = end - 1
		}
	}
}

func isKeyByte(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// hexAddress reads 0x and up to 16 digits at text[at:]; 0 where there is no such number.
func hexAddress(text []byte, at int) (addr uint64, end int) {
	if !bytes.HasPrefix(text[at:], []byte("0x")) {
		return 0, at
	}
	end = at + 2
	for ; end < len(text); end++ {
		d := strings.IndexByte("0123456789abcdef", text[end]|0x20)
		if text[end] < '0' || d < 0 {
			break
		}
		if addr>>60 != 0 {
			return 0, at
		}
		addr = addr<<4 | uint64(d)
	}
	return addr, end
}

// dumpLine handles a line inside an open hexdict element. ok is false where the line is none of the dump: another element
// or a frame begins, or it has gone on for too long; the line is then like any other.
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
		return dst, false
	}
	h.collect(text)
	dst = f.highlight(ctx, dst, p, text)
	dst = append(append(dst, rest...), end...)
	if at >= 0 {
		h.open = false
		dst = f.footnotes(ctx, dst, p, body, at, end)
	}
	return dst, true
}

// highlight writes a line of a dump, with the values that a footnote explains in colour where colours are written.
func (f *Filter) highlight(ctx context.Context, dst []byte, p *thread, text []byte) []byte {
	if f.opt.Palette == nil {
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

// point gives what a value of a dump points at: a function if its mapping is executable, else a variable; nil where it
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

// footnotes writes a line for each value of the dump that points at something: `  [RIP] func file:line`, with the prefix of
// the line that closed the dump. A last line without its end keeps none.
func (f *Filter) footnotes(ctx context.Context, dst []byte, p *thread, body []byte, at int, end []byte) []byte {
	cut, _ := prefix.Split(body, at)
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
		dst = append(dst, body[:cut]...)
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
	for from := 0; ; {
		e, ok := markup.Next(body, from)
		if !ok {
			break
		}
		from = e.End
		if e.Tag == markup.Hexdict {
			f.dump.values = f.dump.values[:0]
			f.dump.collect(e.Body)
			dst = f.footnotes(ctx, dst, p, body, e.Start, end)
		}
	}
	f.dump.begin(p.process, body)
	return dst
}
