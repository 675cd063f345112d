package filter

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

// excerpts is a stream.Liner around that of a filter. Node.js writes above an exception that nothing has caught where it was thrown, without a
// column:
//
//	/srv/app/dist/app.js:7
//	    throw new RangeError("negative price");
//	    ^
//
// Node.js writes all of it at once. The place waits for the lines below it, which say the column and prove the script: they must have the very
// line of the one that is here. Without a map for it, nothing waits.
type excerpts struct {
	heldBack
	f *liner
	// found are the places of which the column is known, by the numbers of their lines.
	found map[int]*excerpt
	open  excerpt // the one whose lines are held back
}

// excerpt is what is known of one.
type excerpt struct {
	frame.Excerpt
	// at is where its segment begins in the line of that number, and prefix what loggers have written before its words.
	at, number int
	prefix     []byte
	code       []byte // the line of the script
	seen       bool   // the log has it, too
	column     uint64
}

// newExcerpts returns one around a filter, whose lines go to another Liner.
func newExcerpts(f *liner, to stream.Liner) *excerpts {
	x := &excerpts{f: f, found: map[int]*excerpt{}}
	x.heldBack = heldBack{to: to, release: x.leave}
	return x
}

// maxExcerpt bounds the first line of an excerpt, in bytes.
const maxExcerpt = 4 << 10

// maxFoundExcerpts bounds the places whose lines have not left yet.
const maxFoundExcerpts = 64

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (x *excerpts) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if !x.holding() && (b[0] == ' ' || b[0] == '\t' || b[0] == '#') {
		return x.to.Lines(ctx, dst, b)
	}
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	line := b[:n]
	if x.holding() {
		switch goesOn, ends := x.next(line); {
		case ends:
			x.hold(line)
			return x.leave(ctx, dst), n
		case goesOn:
			x.hold(line)
			return dst, n
		}
		dst = x.leave(ctx, dst)
	}
	if n > maxExcerpt || !frame.MayHoldExcerpt(line) || !x.begins(ctx, line) {
		return x.to.Lines(ctx, dst, b)
	}
	x.hold(line)
	return dst, n
}

// begins reports whether an excerpt begins in a line. One over which the program panics has none.
func (x *excerpts) begins(ctx context.Context, line []byte) (is bool) {
	defer x.guard(&is)
	l := x.f.parser.Line(x.f.uncolored(line))
	for x.f.parser.Next(l) {
		if l.Bare || l.Left > 0 || l.JSON && bytes.IndexByte(l.Text, '\\') >= 0 {
			continue
		}
		place, ok := frame.ReadExcerpt(l.Text[:max(l.End, l.Start)], l.Start)
		if !ok {
			continue
		}
		script := x.f.opt.Scripts.Script(ctx, string(place.Module.Of(l.Text)))
		if script == nil {
			continue
		}
		code, ok := script.Line(int(place.Line))
		if !ok || len(code) > x.MaxLine() || len(bytes.TrimSpace(code)) == 0 {
			continue
		}
		x.open = excerpt{Excerpt: place, at: l.Offset(), number: x.f.next(), prefix: bytes.Clone(l.Text[:l.Start]), code: bytes.Clone(code)}
		return true
	}
	return false
}

// next reports whether a line goes on with the excerpt, and whether that ends with it. One over which the program panics does neither.
func (x *excerpts) next(line []byte) (goesOn, ends bool) {
	defer x.guard(&goesOn)
	l := x.f.parser.Line(x.f.uncolored(line))
	for x.f.parser.Next(l) {
		text, ok := x.words(l)
		switch {
		case !ok:
		case !x.open.seen:
			if x.open.seen = bytes.Equal(bytes.TrimSuffix(text, []byte("\r")), x.open.code); x.open.seen {
				return true, false
			}
		default:
			if x.open.column, ok = columnOf(text, x.open.code); ok {
				if len(x.found) >= maxFoundExcerpts {
					clear(x.found) // those of lines in which something else was read
				}
				open := x.open
				x.found[open.number] = &open
				return true, true
			}
		}
	}
	return false, false
}

// words returns the segment at hand without what loggers have written before it. ok is false if that is not as long as in the first line, or
// differs in more than its numbers: spaces may be of both.
func (x *excerpts) words(l *parse.Line) (text []byte, ok bool) {
	text = l.Text
	if l.JSON && bytes.IndexByte(text, '\\') >= 0 {
		var plain string
		if json.Unmarshal(append(append([]byte{'"'}, text...), '"'), &plain) != nil {
			return nil, false
		}
		text = []byte(plain)
	}
	if len(text) < len(x.open.prefix) || l.Bare || l.Left > 0 {
		return nil, false
	}
	for i, c := range x.open.prefix {
		if text[i] != c && !(scan.IsDigit(text[i]) && scan.IsDigit(c)) {
			return nil, false
		}
	}
	return text[len(x.open.prefix):], true
}

// columnOf returns the column of the sign in the last line of an excerpt: one byte stands before it for each UTF-16 unit of the line of code.
func columnOf(text, code []byte) (column uint64, ok bool) {
	at := scan.Spaces(text, 0)
	signs := bytes.TrimRight(text[at:], " \r")
	if len(signs) == 0 || len(bytes.TrimLeft(signs, "^")) > 0 {
		return 0, false
	}
	units := 0
	for i := 0; i < len(code) && units <= at; {
		r, size := utf8.DecodeRune(code[i:])
		units += utf16.RuneLen(r)
		i += size
	}
	return uint64(at), units > at
}

// guard has a panic end what is held back.
func (x *excerpts) guard(is *bool) {
	if cause := recover(); cause != nil {
		x.f.broken(x.f.next(), guard.Fault(cause))
		*is = false
	}
}

// leave lets the held lines go.
func (x *excerpts) leave(ctx context.Context, dst []byte) []byte {
	for _, line := range x.take() {
		dst, _ = x.to.Lines(ctx, dst, line)
	}
	return dst
}

// Pending reports whether something is held back, and for how long it may be while the log pauses.
func (x *excerpts) Pending() (patience time.Duration, held bool) {
	if x.holding() {
		return pause, true
	}
	return x.to.Pending()
}

// excerptAt returns the frame that the segment at hand is, the first line of an excerpt.
func (f *Filter) excerptAt(l *parse.Line) (fr parse.Frame, ok bool) {
	if f.liner.excerpts == nil {
		return fr, false
	}
	x := f.liner.excerpts.found[f.line]
	if x == nil || x.at != l.Offset() || l.Left > 0 {
		return fr, false
	}
	delete(f.liner.excerpts.found, f.line)
	return parse.Frame{Frame: x.Frame(x.column), ModuleText: x.Module.Of(l.Text)}, true
}
