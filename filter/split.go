package filter

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/prefix"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

// joints say which lines are one part of several of a line that a logger has split, by their numbers.
type joints map[int]*parse.Joint

// forget drops what is known of a line that has left.
func (j joints) forget(line int) {
	if len(j) > 0 {
		delete(j, line)
	}
}

// splits is a stream.Liner around that of a filter. It knows the lines that are one part of several. No part waits for another: the end of
// those that have left is read again with the next one, and what is added stands there. Three loggers split lines:
//
//   - A container runtime (CRI) marks the parts with P, and the last one with F. containerd and CRI-O split at 16 KiB, CRI-O also where
//     a program pauses.
//   - docker's json-file has objects whose "log" does not end in \n, of 16 KiB. What other loggers write in such objects has no \n either.
//   - logcat's entries have 4,068 bytes at most (LOGGER_ENTRY_MAX_PAYLOAD). What is longer is split by those who write it, at that length or a
//     shorter one. No mark says so: lines of one thread and tag are parts only if a frame or an element begins in one and ends in the next.
type splits struct {
	stream.Liner
	f    *liner
	open map[string]*openLine
	// active is how many of them await a part, and due for how many of these every line is looked at. at counts the bytes of the log, in which
	// none of them was last at a place before oldest.
	active, due int
	at, oldest  int
	key         []byte
	// last is the line that was asked for last, and lastKey its key.
	last    *openLine
	lastKey []byte
	frames  twoLines
	again   again
}

// openLine is what is known of the parts of a line that have left.
type openLine struct {
	// text is the end of what they say, settled up to where that is done, unread if that is not known yet. whole is set if text is all of it.
	text    []byte
	settled int
	whole   bool
	// object, quoted and escaped are as in parse.Joint.
	object          []byte
	quoted, escaped bool
	// active is set until the next part has come or is overdue, due if every line is looked at for it. end is where the last part ended in the log.
	active, due bool
	end         int
	// time is that of the last part, as logcat writes it.
	time []byte
}

const (
	// maxOpen bounds the lines that are open at once, and maxOpenText the text that is remembered of each, in bytes.
	maxOpen     = 64
	maxOpenText = 4 << 10
	// maxBetween is how many bytes of other lines may stand between two parts: one part of the program's other output, and some lines.
	maxBetween = 20 << 10
	// maxEntry is the length of logcat's longest entry, which has entryBytes besides the tag and the text: a priority and two NULs. wrapped is the
	// length at which most of those who split texts do that: Timber, Logger.
	maxEntry   = 4068
	entryBytes = 3
	wrapped    = 4000
	// longEntry is the length from which on a line of logcat may have been split, in bytes: some devices and libraries do that at 1,000.
	longEntry = 1000 - 24
	// maxHead is how much of the beginning of an object is remembered, which may say whose it is.
	maxHead = 512
)

// unread stands for a place that is found when it matters.
const unread = -1

// newSplits returns one around a filter, whose lines go to another Liner.
func newSplits(f *liner, to stream.Liner) *splits {
	return &splits{Liner: to, f: f, frames: twoLines{f: f}}
}

// Scan returns nil while a part is awaited.
func (h *splits) Scan() *match.Scan {
	if h.due > 0 || h.frames.awaits() {
		return nil
	}
	return h.Liner.Scan()
}

// Lines notes whether the first line of b is a part, unless it is the last one again.
func (h *splits) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	quiet := h.waitsForNone()
	if quiet {
		if out, n = h.repeat(dst, b); n > 0 {
			return out, n
		}
		if out, n = h.known(ctx, dst, b); n > 0 {
			h.again.forget()
			return out, n
		}
	}
	if h.due > 0 || mayBePart(b) {
		end := bytes.IndexByte(b, '\n') + 1
		if end == 0 {
			end = len(b)
		}
		if line := b[:end]; h.active > 0 || isPart(line) || !isMarked(line) && unfinished(line) {
			if b = line; end <= h.MaxLine() {
				h.look(b, h.f.next())
			}
		}
	}
	if line := h.frames.candidate(b); line != nil && len(line) <= h.MaxLine() {
		b = line
		h.frames.look(line, h.at, h.f.next())
	}
	before := h.begins(dst, quiet)
	out, n = h.Liner.Lines(ctx, dst, b)
	h.ended(&before, out, b[:n])
	h.pass(n)
	return out, n
}

// known handles the lines at the start of b that are known, while no part is awaited and nothing is held back.
func (h *splits) known(ctx context.Context, dst, b []byte) (out []byte, n int) {
	k := &h.f.known
	switch {
	case k.kind(b) != otherLine:
		if out, n = h.f.repeated(dst, b); n > 0 {
			h.f.held.pass(b[k.last:n])
			h.pass(n)
		}
	case len(k.heads) > 0 && k.takesText():
		out, n = k.behind(h, dst, b)
	}
	if n > 0 && h.f.traces != nil {
		h.f.traces.lookAhead(ctx)
	}
	return out, n
}

// Skip looks for parts at the end of lines that mean nothing.
func (h *splits) Skip(dst, lines []byte) (out []byte, same bool) {
	if !mayBePart(lines) || h.due == 0 && len(lines) < longEntry && !isMarked(lines) {
		h.pass(len(lines))
		return h.Liner.Skip(dst, lines)
	}
	begin := max(0, len(lines)-maxBetween)
	begin = bytes.LastIndexByte(lines[:begin], '\n') + 1
	h.pass(begin)
	for b := lines[begin:]; len(b) > 0; {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			n = len(b)
		}
		if h.due > 0 || isPart(b[:n]) {
			h.look(b[:n], 0)
		}
		h.pass(n)
		b = b[n:]
	}
	return h.Liner.Skip(dst, lines)
}

// Part ends what is open: a piece of a line is not looked at.
func (h *splits) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	h.drop()
	return h.Liner.Part(dst, text, first, last)
}

// Torn ends what is open, too.
func (h *splits) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	out, more = h.Liner.Torn(ctx, dst, begin, waited)
	if more == 0 {
		h.drop()
	}
	return out, more
}

// drop ends all that is open.
func (h *splits) drop() {
	clear(h.open)
	h.again.forget()
	h.last = nil
	h.frames.drop()
	h.active, h.due = 0, 0
}

// pass notes that some bytes of the log have passed. Parts that are overdue by them are not awaited any more.
func (h *splits) pass(n int) {
	h.at += n
	if h.active == 0 || h.at-h.oldest <= maxBetween {
		return
	}
	h.oldest = h.at
	for _, o := range h.open {
		switch {
		case o.active && h.at-o.end > maxBetween:
			h.close(o)
		case o.active:
			h.oldest = min(h.oldest, o.end)
		}
	}
}

// close ends the wait for the next part.
func (h *splits) close(o *openLine) {
	if o.active {
		h.active--
	}
	if o.due {
		h.due--
	}
	o.active, o.due = false, false
}

// dockerHead begins an object of docker's json-file.
var dockerHead = []byte(`{"log":"`)

// mayBePart reports, at little cost, whether a log may have parts of lines, by one of its lines: that of CRI begins with a date, logcat's with a
// date or a priority, and docker's is an object.
func mayBePart(line []byte) bool {
	if len(line) < len(dockerHead) {
		return false
	}
	switch c := line[0]; {
	case c == '{':
		return bytes.HasPrefix(line, dockerHead)
	case scan.IsDigit(c):
		return line[4] == '-' || line[2] == '-' && line[5] == ' '
	case 'A' <= c && c <= 'Z':
		return line[1] == '/' || line[1] == '('
	}
	return false
}

// criTime is the length of the shortest time that CRI writes, `2026-11-20T15:58:12Z`.
const criTime = 20

// isMarked reports whether a line, of which mayBePart has returned true, is in a format with a mark for its parts: that of CRI or docker's.
func isMarked(line []byte) bool {
	return line[0] == '{' || len(line) > criTime && line[10] == 'T'
}

// isPart reports whether a line may be a part that another one follows: of CRI by its mark, of others by its length.
func isPart(line []byte) bool {
	if !mayBePart(line) {
		return false
	}
	if line[0] == '{' {
		return len(line) >= dockerPart
	}
	if len(line) > criTime && line[10] == 'T' {
		space := bytes.IndexByte(line[criTime-1:min(len(line), 2*criTime)], ' ') + criTime - 1
		return space >= criTime && len(line) > space+8 && line[space+1] == 's' && line[space+8] == 'P'
	}
	return len(line) >= longEntry
}

// look notes whether a line is a part, for the line of that number, 0 for none. A line over which the program panics is none.
func (h *splits) look(line []byte, number int) {
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(number, guard.Fault(cause))
			h.drop()
		}
	}()
	if h.f.dump.open {
		h.drop()
		return
	}
	l := h.f.parser.Line(h.f.uncolored(line))
	p := h.f.parser.Prefix
	switch {
	case p.Outer == prefix.CRI:
		h.cri(l, number, &p)
	case l.Object != nil && bytes.HasPrefix(l.Object, dockerHead):
		h.docker(l, number, &p)
	case prefix.LogcatBrief <= p.Outer && p.Outer <= prefix.LogcatThreadtime:
		h.logcat(l.Body, number, &p)
	}
}

// cri looks at a line of a container runtime.
func (h *splits) cri(l *parse.Line, number int, p *prefix.Prefix) {
	h.key = append(append(h.key[:0], 'c'), p.Stream.Of(l.Body)...)
	j := &parse.Joint{From: int(p.Part), To: len(l.Body), More: p.Partial}
	o := h.next(j)
	if o == nil {
		return
	}
	text := l.Body[j.From:j.To]
	if len(j.Before) == 0 && !o.active && bytes.HasPrefix(bytes.TrimLeft(text, " "), []byte(`{"`)) {
		o.object = append([]byte{}, text[:min(len(text), maxHead)]...)
	}
	j.Object, j.Quoted, j.Escaped = o.object, o.quoted, o.escaped
	switch {
	case o.object != nil:
		h.object(o, j, text)
	case len(j.Before) > 0:
		h.settle(o, j, parse.Segment{Text: append(bytes.Clone(j.Before), text...)}, 0)
	default:
		h.settle(o, j, parse.Segment{Text: l.Body, Start: p.Start, End: p.End}, j.From)
	}
	h.note(o, j, number, len(l.Body)+1)
}

// object looks at a part of an object.
func (h *splits) object(o *openLine, j *parse.Joint, text []byte) {
	spans, open, cut := parse.PartStrings(text, j.Quoted, j.Escaped)
	if o.quoted, o.escaped = open, cut; !open {
		o.text, o.settled, o.whole = o.text[:0], 0, true
		return
	}
	last := spans[len(spans)-1]
	if len(spans) > 1 || !j.Quoted {
		own := *j
		own.Before, own.Settled, o.whole = nil, 0, true
		h.settle(o, &own, parse.Segment{Text: text[last.Start:last.End], JSON: true}, 0)
		j.Wait = own.Wait
		return
	}
	h.settle(o, j, parse.Segment{Text: append(bytes.Clone(j.Before), text[last.Start:last.End]...), JSON: true}, 0)
}

// dockerPart is the length of docker's parts, in bytes (defaultBufSize of its copier).
const dockerPart = 16 << 10

// docker looks at an object of docker's json-file.
func (h *splits) docker(l *parse.Line, number int, p *prefix.Prefix) {
	j := &parse.Joint{From: p.Start + len(dockerHead)}
	spans, open, _ := parse.PartStrings(l.Body[j.From:], true, false)
	after := j.From
	for i := range spans {
		end := j.From + spans[i].End
		if end < len(l.Body) && l.Body[end] == '"' {
			spans, after = spans[:i+1], end
			break
		}
	}
	stream, named := bytes.CutPrefix(l.Body[after:], []byte(`","stream":"`))
	if open || !named {
		return
	}
	stream, _, _ = bytes.Cut(stream, []byte{'"'})
	last := spans[len(spans)-1]
	j.To, j.More = after, after-j.From >= dockerPart && !last.Empty() && len(parse.Outside(l.Body[j.From:after], true)) >= dockerPart
	h.key = append(append(h.key[:0], 'd'), stream...)
	for i := range l.Owner.Units() {
		h.key = append(append(h.key, 0), l.Owner.Unit(i).Of(l.Object)...)
	}
	o := h.next(j)
	if o == nil {
		return
	}
	if text := l.Body[j.From+last.Start : after]; len(spans) == 1 {
		h.settle(o, j, parse.Segment{Text: append(bytes.Clone(j.Before), text...), JSON: true}, 0)
	} else {
		own := *j
		own.Before, own.Settled, o.whole = nil, 0, true
		h.settle(o, &own, parse.Segment{Text: text, JSON: true}, 0)
		j.Wait = own.Wait
	}
	h.note(o, j, number, len(l.Body)+1)
}

// passes looks at a line of that number, which is short and has a frame that is known, while no part is due. It reports whether no more is to be
// done for it.
func (h *splits) passes(line []byte, p *prefix.Prefix, number int) bool {
	switch {
	case !mayBePart(line) || h.active == 0 && isMarked(line):
	case p.Outer == prefix.CRI:
		return false
	case p.Outer == prefix.LogcatThreadtime:
		p.End = len(line) - 1
		h.logcat(line[:p.End], number, p)
	}
	return true
}

// logcat looks at a line of logcat, which is a part if a frame or an element goes on in it. Most lines with a frame are short and whole, and
// the next one has a frame of its own: what they leave open is not read then.
func (h *splits) logcat(line []byte, number int, p *prefix.Prefix) {
	head, text := line[:p.Part], line[p.Part:max(int(p.Part), p.End)]
	time := timeOf(head)
	h.key = append(append(h.key[:0], 'l'), head[time:]...)
	o := h.of()
	own := parse.Segment{Text: line, Start: int(p.Part), End: p.End}
	if o != nil && o.active && (o.due || bytes.Equal(o.time, head[:time]) && !beginsFrame(text) && h.read(o)) {
		alone := h.f.parser.Settle(own, false)
		whole := h.f.parser.Settle(parse.Segment{Text: append(bytes.Clone(o.text), text...), Left: len(o.text), Settled: o.settled}, false)
		if whole.Joined && !beginsFrame(text) || !whole.Joined && o.due && !whole.Same(&alone) {
			h.join(&parse.Joint{Before: bytes.Clone(o.text), Settled: o.settled, Whole: o.whole, From: int(p.Part), To: p.End}, number)
		}
	}
	if o != nil {
		h.close(o)
	}
	long, full := len(line) >= longEntry, isFull(p, text)
	if !long && !unfinished(text) {
		return
	}
	if !long && !full {
		h.leave(text, unread, head[:time], false, len(line)+1)
		return
	}
	r := h.f.parser.Settle(own, full)
	done := max(0, r.Done-int(p.Part))
	if rest := text[done:]; len(rest) == 0 || !long && !unfinished(rest) {
		return
	}
	if full && number > 0 && h.f.joints[number] == nil {
		h.join(&parse.Joint{From: int(p.Part), To: p.End, More: true, Wait: r.Wait}, number)
	}
	h.leave(text, done, head[:time], long, len(line)+1)
}

// leave opens a line of logcat, of n bytes, that the next one may go on with.
func (h *splits) leave(text []byte, settled int, time []byte, due bool, n int) {
	o := h.opened()
	o.whole, o.time = true, append(o.time[:0], time...)
	o.keep(text, settled)
	h.await(o, due, n)
}

// read finds out how far a short line is settled. It reports whether it may have the beginning of a frame or an element after that.
func (h *splits) read(o *openLine) bool {
	if o.settled == unread {
		r := h.f.parser.Settle(parse.Segment{Text: o.text, End: len(o.text)}, false)
		o.settled = r.Done
	}
	return unfinished(o.text[o.settled:])
}

// timeOf returns where the date and the time at the beginning of a prefix of logcat end, 0 if there are none.
func timeOf(head []byte) (end int) {
	for range 2 {
		if end == len(head) || !scan.IsDigit(head[end]) {
			return 0
		}
		n := bytes.IndexByte(head[end:], ' ')
		if n < 0 {
			return 0
		}
		end = scan.Spaces(head, end+n)
	}
	return end
}

// isFull reports whether a line of logcat is as long as an entry can be, or as those are who split texts.
func isFull(p *prefix.Prefix, text []byte) bool {
	return len(text) == wrapped || len(text)+int(p.Tag.End-p.Tag.Start)+entryBytes >= maxEntry
}

// beginsFrame reports whether a text begins with a frame of its own.
func beginsFrame(text []byte) bool {
	text = scan.TrimLeft(text)
	return len(text) > 1 && text[0] == '#' && scan.IsDigit(text[1]) || bytes.HasPrefix(text, parse.OpenBraces)
}

// unfinished reports whether a text may have the beginning of a frame or an element.
func unfinished(text []byte) bool {
	return hasBegun(text) || parse.HasMarkup(text)
}

// next returns the line that a part may begin or go on with, nil if it does neither, and what has left of it.
func (h *splits) next(j *parse.Joint) *openLine {
	o := h.of()
	switch {
	case o != nil && o.active:
		j.Before, j.Settled, j.Whole = bytes.Clone(o.text), o.settled, o.whole
		return o
	case !j.More:
		return nil
	case o == nil:
		o = h.opened()
	}
	*o = openLine{whole: true, text: o.text[:0]}
	return o
}

// of returns the line of the key at hand, nil if there is none.
func (h *splits) of() *openLine {
	if h.last != nil && bytes.Equal(h.key, h.lastKey) {
		return h.last
	}
	h.last, h.lastKey = h.open[string(h.key)], append(h.lastKey[:0], h.key...)
	return h.last
}

// opened returns the line of the key at hand, which may be new. If too many are open, others end, those last of which the next part is due.
func (h *splits) opened() *openLine {
	o := h.of()
	if o != nil {
		return o
	}
	h.last = nil
	if len(h.open) >= maxOpen {
		for key, o := range h.open {
			if !o.due {
				h.close(o)
				delete(h.open, key)
			}
		}
	}
	if len(h.open) >= maxOpen {
		h.drop()
	}
	if h.open == nil {
		h.open = map[string]*openLine{}
	}
	o = new(openLine)
	h.open[string(h.key)] = o
	return o
}

// settle keeps a text, of which what has left of the parts before is the beginning. from is where the line's own text begins in it.
func (h *splits) settle(o *openLine, j *parse.Joint, s parse.Segment, from int) {
	s.Left, s.Settled = len(j.Before), j.Settled
	r := h.f.parser.Settle(s, j.More)
	j.Wait = r.Wait
	o.keep(s.Text[from:], max(0, r.Done-from))
}

// keep keeps the end of a text that is settled up to a place.
func (o *openLine) keep(text []byte, settled int) {
	if n := len(text) - maxOpenText; n > 0 {
		text, settled, o.whole = text[n:], max(0, settled-n), false // short lines, of which that is not known, are kept whole
	}
	o.text, o.settled = append(o.text[:0], text...), settled
}

// note lets the line of a number be a part, of n bytes, and awaits the next one.
func (h *splits) note(o *openLine, j *parse.Joint, number, n int) {
	h.join(j, number)
	h.close(o)
	if j.More {
		h.await(o, true, n)
	}
}

// join lets the line of a number be a part.
func (h *splits) join(j *parse.Joint, number int) {
	if number == 0 {
		return
	}
	if h.f.joints == nil {
		h.f.joints = joints{}
	}
	h.f.joints[number] = j
}

// await awaits the part after one of n bytes. due is set if every line is looked at for it.
func (h *splits) await(o *openLine, due bool, n int) {
	if h.active++; h.active == 1 {
		h.oldest = h.at + n
	}
	if o.active, o.due, o.end = true, due, h.at+n; due {
		h.due++
	}
}
