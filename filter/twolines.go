package filter

import (
	"bytes"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
)

// twoLines knows the frames whose module stands on the writer's next line, those of compute-sanitizer. The first line has left when the second
// one comes, which becomes the end of the frame. Writers that nothing tells apart may write such frames at once: from the second one that is
// open on, their lines are counted until as many modules have come, and belong to nothing.
type twoLines struct {
	f    *liner
	open map[*resolve.Thread]*firstLine
	// at is where the last line was, in the bytes of the log.
	at int
}

// firstLine is the first line of a frame of two.
type firstLine struct {
	// text is the frame, as JSON has it if json is set.
	text []byte
	json bool
	// n is how many are open of a writer.
	n int
}

// maxOpenFrames bounds the writers with such a frame, and maxAwaited how far from the first line the second one may be, in bytes.
const (
	maxOpenFrames = 64
	maxAwaited    = 4 << 10
)

// awaits reports whether the second line of a frame is awaited.
func (w *twoLines) awaits() bool { return len(w.open) > 0 }

// drop ends all that is open.
func (w *twoLines) drop() { clear(w.open) }

// candidate returns the first line of b if it may open such a frame, or end one that is open, nil if not. What begins with a number sign, markup, or
// a tab that no quote follows, is a frame of another format, most often one that is known: that costs nothing.
func (w *twoLines) candidate(b []byte) []byte {
	waits := w.awaits()
	if !waits {
		i := 0
		for i < len(b) && b[i] == ' ' {
			i++
		}
		if i == len(b) || b[i] == '#' || bytes.HasPrefix(b, parse.OpenBraces) {
			return nil
		}
		if b[i] == '\t' {
			for i < len(b) && b[i] == '\t' {
				i++
			}
			if i == len(b) || b[i] != '"' {
				return nil
			}
		}
	}
	line := b
	if end := bytes.IndexByte(b, '\n') + 1; end > 0 {
		line = b[:end]
	}
	if waits || frame.MayOpenHostFrame(line) {
		return line
	}
	return nil
}

// look notes whether a line of a number, which stands at an offset in the log, opens or ends a frame. One over which the program panics does
// neither.
func (w *twoLines) look(line []byte, at, number int) {
	defer func() {
		if cause := recover(); cause != nil {
			w.f.broken(number, guard.Fault(cause))
			w.drop()
		}
	}()
	if at-w.at > maxAwaited || w.f.dump.open {
		w.drop()
	}
	if !frame.MayOpenHostFrame(line) && (!w.awaits() || !frame.MayCloseHostFrame(line)) {
		return
	}
	w.at = at
	l := w.f.parser.Line(w.f.uncolored(line))
	var t *resolve.Thread
	for w.f.parser.Next(l) {
		if l.Left > 0 { // of the string at hand
			w.closes(t, true)
			continue
		}
		words := l.Text[l.Start:l.End]
		t = w.f.writer(l)
		if first, ok := frame.OpensHostFrame(words); ok {
			w.opens(t, first.Of(words), l.JSON)
		} else if at, ok := frame.ClosesHostFrame(words); ok {
			w.join(l, at, w.closes(t, l.JSON), number)
		}
	}
}

// opens notes the first line of a writer's frame.
func (w *twoLines) opens(t *resolve.Thread, text []byte, json bool) {
	if len(w.open) >= maxOpenFrames {
		w.drop()
	}
	if w.open == nil {
		w.open = map[*resolve.Thread]*firstLine{}
	}
	if e := w.open[t]; e != nil {
		e.n++
		e.text = nil
		return
	}
	w.open[t] = &firstLine{bytes.Clone(text), json, 1}
}

// closes returns what has left of the writer's frame that a second line ends, nil if nothing says which one it is.
func (w *twoLines) closes(t *resolve.Thread, json bool) []byte {
	e := w.open[t]
	if e == nil {
		return nil
	}
	if e.n--; e.n == 0 {
		delete(w.open, t)
	}
	if e.json != json {
		return nil
	}
	return e.text
}

// join lets the segment at hand end a frame, from an offset in its words on.
func (w *twoLines) join(l *parse.Line, at int, left []byte, number int) {
	if left == nil || w.f.joints[number] != nil {
		return
	}
	if w.f.joints == nil {
		w.f.joints = joints{}
	}
	w.f.joints[number] = &parse.Joint{Before: left, From: l.Offset() + l.Start + at, To: l.Offset() + l.End}
}
