package filter

import (
	"bytes"
	"context"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
)

// longLog is after how many calls of Lines and Skip maps are searched for without a line of Java: most often there are none, and then no
// line need be looked at.
const longLog = 256

// lookAhead has maps searched for in the background of a long log.
func (h *traces) lookAhead(ctx context.Context) {
	if h.calls++; h.calls%longLog == 0 && h.f.java().LookAhead(ctx) {
		h.f.rescan()
	}
}

// Skip releases the lines before lines that mean nothing but that the last ones of them may name exceptions.
func (h *traces) Skip(dst, lines []byte) (out []byte, same bool) {
	ctx := context.Background()
	dst = h.leave(ctx, dst)
	h.lookAhead(ctx)
	if h.f.java().State() == 0 {
		return h.to.Skip(dst, lines)
	}
	tail := len(lines)
	for n := 0; n < maxApart && tail > 0; n++ {
		tail = bytes.LastIndexByte(lines[:tail-1], '\n') + 1
	}
	if h.f.parser.Long && tail > 0 { // headers above say whose lines these are
		if dst, same = h.to.Skip(dst, lines[:tail]); same {
			dst = append(dst, lines[:tail]...)
		}
		lines, tail = lines[tail:], 0
	}
	from := tail + h.thrown(ctx, lines[tail:])
	if from == len(lines) {
		out, again := h.to.Skip(dst, lines)
		if again && same {
			return append(out, lines...), false
		}
		return out, again && !same
	}
	if from > 0 {
		if dst, same = h.to.Skip(dst, lines[:from]); same {
			dst = append(dst, lines[:from]...)
		}
	}
	for line := range bytes.Lines(lines[from:]) {
		if _, holds := h.mayHold(ctx, line); holds {
			h.hold(line)
			continue
		}
		dst, _ = h.to.Lines(ctx, dst, line)
	}
	return dst, false
}

// thrown returns where the first of some lines begins that may name an exception, and is the last one of its thread.
func (h *traces) thrown(ctx context.Context, lines []byte) (from int) {
	from = len(lines)
	defer func() {
		if cause := recover(); cause != nil {
			h.f.broken(h.f.line, guard.Fault(cause))
			from = len(lines)
		}
	}()
	var waiting map[*resolve.Thread]int
	at, headers := 0, h.f.parser.Long || bytes.Contains(lines, headerWord) // which say whose lines follow
	for line := range bytes.Lines(lines) {
		if len(waiting) == 0 && !headers && !h.mayThrow(ctx, line) {
			at += len(line)
			continue
		}
		l := h.f.parser.Line(h.f.uncolored(line))
		var named *resolve.Thread
		for h.f.parser.Next(l) {
			names := h.mayName(ctx, l)
			if !names && (len(waiting) == 0 || h.isHeader(l)) {
				continue
			}
			t := h.thread(l)
			if delete(waiting, t); names {
				named = t
			}
		}
		if named != nil {
			if waiting == nil {
				waiting = map[*resolve.Thread]int{}
			}
			waiting[named] = at
		}
		at += len(line)
	}
	for _, at := range waiting {
		from = min(from, at)
	}
	return from
}

// headerWord begins a header of logcat -v long.
var headerWord = []byte("[ ")

// mayThrow reports, at little cost, whether a line may name an exception that a map knows: a name stands before a colon or a bracket, or at its end.
func (h *traces) mayThrow(ctx context.Context, line []byte) bool {
	line, _ = scan.CutEnd(line)
	if bytes.IndexByte(line, '{') >= 0 || bytes.IndexByte(line, 0x1b) >= 0 {
		return true
	}
	if len(line) > 0 && line[len(line)-1] == ')' { // logcat -v process has its tag there
		if tag := bytes.LastIndex(line, tagMark); tag >= 0 && h.isThrown(ctx, line[:tag]) {
			return true
		}
	}
	return h.isThrown(ctx, line) || h.throwsBefore(ctx, line, ':') || h.throwsBefore(ctx, line, ']')
}

// tagMark stands before a tag that follows the text.
var tagMark = []byte("  (")

// throwsBefore is mayThrow for the names before a byte.
func (h *traces) throwsBefore(ctx context.Context, line []byte, end byte) bool {
	for {
		i := bytes.IndexByte(line, end)
		if i < 0 || h.isThrown(ctx, line[:i]) {
			return i >= 0
		}
		line = line[i+1:]
	}
}

// longName is how long a name is with which the end of a prefix may have merged: logcat cuts its own without a space.
const longName = 64

// isThrown reports whether a text ends in the name of a class that a map knows, or, while no map was looked for, that may be one.
func (h *traces) isThrown(ctx context.Context, text []byte) bool {
	name := frame.LastJavaName(text)
	return len(name) > longName || len(name) > 0 && (h.f.java().Knows(ctx, name) || h.f.java().State() == match.Seeking && bytes.IndexByte(name, '.') > 0)
}

// mayName reports whether a segment may name an exception that a map knows.
func (h *traces) mayName(ctx context.Context, l *parse.Line) bool {
	if l.Bare || l.Start >= l.End {
		return false
	}
	var fr frame.Frame
	_, ok := frame.ReadThrown(l.Text[:l.End], l.Start, &fr)
	if !ok {
		return false
	}
	class := fr.Whole.Of(l.Text)
	if bytes.IndexByte(class, '.') > 0 {
		h.f.java().Look(ctx)
	}
	return h.f.java().Knows(ctx, class)
}
