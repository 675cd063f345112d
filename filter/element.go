package filter

import (
	"bytes"
	"context"
	"errors"

	"qss-filter/filter/parse"
	"qss-filter/filter/print"
	"qss-filter/filter/resolve"
	"qss-filter/markup"
)

// markup handles a line that holds `{{{` or `<<<`.
func (f *Filter) markup(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) []byte {
	if len(end) > 0 && f.opt.Style != print.Append {
		if out, ok := f.context(dst, p, body, end); ok {
			return out
		}
	}
	return f.ordinary(ctx, f.out.Flush(dst), p, body, end)
}

// parse reads the elements of a text, and says which are malformed.
func (f *Filter) parse(text []byte) []parse.Element {
	f.parser.ReadElements(text, f.faults.left(f.line, f.objects != nil))
	for i := range f.parser.Elements {
		if err := f.parser.Elements[i].Err; err != nil && f.malformed(text, err) {
			f.out.Malformed(err)
		}
	}
	return f.parser.Elements
}

// malformed warns of a bad element, with line, column, and a caret under it: once per cause, since a log repeats itself. explained is
// false for one of too many.
func (f *Filter) malformed(text []byte, err error) (explained bool) {
	if errors.Is(err, markup.ErrMalformed) || f.faults.left(f.line, f.objects != nil) <= 0 {
		return false
	}
	f.faults.explained(f.line)
	cause := err.Error()
	var fe *markup.FieldError
	if errors.As(err, &fe) {
		cause = fe.Msg
	}
	f.warn(cause, markup.Explain(f.line, text, err))
	return true
}

// faults counts the malformed elements that were explained, in all and of one line: an explanation costs a thousand times what
// the element does. It counts the bytes of long mangled names of a line, too, whose time grows with the square of their length.
type faults struct{ all, line, ofLine, mangledLine, mangled int }

const (
	maxFaults       = 10_000 // of a stream, where they are said once per cause
	maxFaultsOfLine = 16
	longMangled     = 512
	maxMangled      = 32 << 10 // of the long names of a line
)

// demangles reports whether one more mangled name of a line, of n bytes, is made readable, and counts it.
func (c *faults) demangles(line, n int) bool {
	if n <= longMangled {
		return true
	}
	if c.mangledLine != line {
		c.mangledLine, c.mangled = line, 0
	}
	c.mangled += n
	return c.mangled <= maxMangled
}

// left returns how many more malformed elements of a line are explained. In records each line has its own.
func (c *faults) left(line int, recorded bool) int {
	n := maxFaultsOfLine
	if c.line == line {
		n -= c.ofLine
	}
	if !recorded {
		n = min(n, maxFaults-c.all)
	}
	return n
}

// explained counts an explanation.
func (c *faults) explained(line int) {
	if c.line != line {
		c.line, c.ofLine = line, 0
	}
	c.all++
	c.ofLine++
}

// bareFrame handles the line that markup is full of, a bt element and nothing else, without the checks that other
// lines need. ok is false for any other line.
func (f *Filter) bareFrame(ctx context.Context, dst []byte, p *resolve.Thread, body, end []byte) (out []byte, ok bool) {
	start := 0
	for start < len(body) && (body[start] == ' ' || body[start] == '\t') {
		start++
	}
	if !bytes.HasPrefix(body[start:], parse.OpenBraces) || f.dump.open {
		return dst, false
	}
	e, ok := markup.Next(body, start)
	if !ok || e.Tag != markup.BT || e.Start != start || e.End != len(body) {
		return dst, false
	}
	f.parser.Elements = append(f.parser.Elements[:0], f.parser.Read(e, f.faults.left(f.line, f.objects != nil) <= 0))
	if el := &f.parser.Elements[0]; el.Keep {
		if el.Err != nil && f.malformed(body, el.Err) {
			f.out.Malformed(el.Err)
		}
		return dst, false
	}
	sep := end
	if len(sep) == 0 {
		sep = newline
	}
	text := parse.Segment{Text: body, Sep: sep}
	f.items = append(f.items[:0], f.resolveElement(ctx, p, text, &f.parser.Elements[0], true))
	dst = f.out.Items(ctx, f.out.Flush(dst), p, text, f.items, 0)
	return f.out.Text(dst, end), true
}

// context handles a line on which context elements stand alone but for loggers' prefixes: they take effect, and the line is
// folded. If one of them is malformed the line stays as it is. ok is false if the line holds anything else: then nothing has
// happened yet.
func (f *Filter) context(dst []byte, p *resolve.Thread, body, end []byte) (out []byte, ok bool) {
	pos, last := f.words(body)
	if first, ok := markup.Next(body, pos); !ok || !first.Contextual() {
		return dst, false
	}
	f.parse(body)
	if f.parser.Elements[0].Start < pos { // inside the prefix
		return dst, false
	}
	for i := range f.parser.Elements {
		e := &f.parser.Elements[i]
		if !e.Contextual() || len(bytes.TrimSpace(body[pos:e.Start])) > 0 {
			return dst, false
		}
		pos = e.End
	}
	if pos > last || len(bytes.TrimSpace(body[pos:last])) > 0 {
		return dst, false
	}
	items, _ := f.resolveElements(context.Background(), p, parse.Segment{Text: body}, f.parser.Elements)
	return f.out.Context(dst, p, body, end, last, items), true
}

// words returns where on the line at hand the words of the program begin and end. A prefix that colors what follows counts as
// one of them, and so does that of a line that goes on in the next entry.
func (f *Filter) words(body []byte) (start, end int) {
	p := &f.parser.Prefix
	if p.Partial || bytes.IndexByte(body, 0x1b) >= 0 {
		return 0, len(body)
	}
	return p.Start, p.End
}
