package filter

import (
	"context"
	"crypto/sha256"
	"strconv"

	"qss-filter/filter/print"

	"qss-filter/filter/parse"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
)

// dedupe holds the lines of the stack at hand back, to put one line in their place where the same stack was there before:
// the same places of the same modules, in the same order.
type dedupe struct {
	// lines is the annotated text of the open stack, of which frames have been seen; key names their places.
	lines  []byte
	frames int
	key    []byte
	// before is what precedes the first frame of the stack on its line, and end is the end of the line.
	before, end []byte
	// line is the number of the first frame's line; of and number are the last frame's thread and number.
	line     int
	of       *resolve.Thread
	number   uint64
	numbered bool

	// frame is what Line has noted of the line at hand, where that is one frame.
	frame struct {
		of       *resolve.Thread
		before   []byte
		number   uint64
		numbered bool
		key      []byte
	}
	// objects is set where lines leave as JSON.
	objects bool
	seen    map[[sha256.Size]byte]firstSeen
	stacks  int
	text    []byte
}

// firstSeen is where a stack stood first: its number among the stacks of the log, and the line of its first frame.
type firstSeen struct{ stack, line int }

// maxStacks bounds the stacks remembered, maxStackBytes the text of one that is held back: a longer one is taken for two.
const (
	maxStacks     = 1 << 16
	maxStackBytes = 1 << 20
)

// note notes that a line is one frame.
func (d *dedupe) note(t *resolve.Thread, text []byte, it *print.Item) {
	fr, a := &d.frame, it.Answer
	before, words := text, []byte(nil)
	if it.Element != nil {
		before, fr.number, fr.numbered = text[:it.Element.Start], it.Element.BTFields.Num, true
	} else {
		before, fr.number, fr.numbered = text[:it.Frame.Whole.Start], it.Frame.Number, !it.Frame.Num.Empty()
		words = text[max(it.Frame.Addr.End, it.Frame.Gap.Start):it.Frame.Whole.End]
	}
	fr.of = t
	fr.before = append(fr.before[:0], before...)
	fr.key = fr.key[:0]
	if a != nil && a.Module != nil {
		fr.key = append(append(append(fr.key, a.Module.Name...), 0), a.Module.BuildID...)
		fr.key = strconv.AppendUint(append(fr.key, 0), a.Offset, 16)
	} else {
		fr.key = append(fr.key, words...)
	}
	fr.key = append(fr.key, '\n')
}

// deduped is Line where stacks that repeat are wanted once.
func (f *Filter) deduped(ctx context.Context, dst, line []byte) []byte {
	d := f.dedupe
	fr := &d.frame
	fr.of, f.text.Fold.Wrote = nil, 0
	d.text = f.annotated(ctx, d.text[:0], line)
	text := d.text
	if fr.of == nil {
		return append(d.flush(dst), text...)
	}
	if n := f.text.Fold.Wrote; n > 0 { // context that stood before the frame
		dst, text = append(d.flush(dst), text[:n]...), text[n:]
	}
	if d.frames > 0 && (fr.of != d.of || fr.numbered != d.numbered || fr.numbered && fr.number <= d.number) {
		dst = d.flush(dst)
	}
	if d.frames == 0 {
		_, end := parse.CutEnd(line)
		d.before, d.end, d.line = append(d.before[:0], fr.before...), append(d.end[:0], end...), f.line
	}
	d.frames++
	d.of, d.number, d.numbered = fr.of, fr.number, fr.numbered
	d.key = append(d.key, fr.key...)
	d.lines = append(d.lines, text...)
	if len(d.lines)+len(d.key) > maxStackBytes {
		dst = d.flush(dst)
	}
	return dst
}

// flush ends the open stack.
func (d *dedupe) flush(dst []byte) []byte {
	if d == nil || d.frames == 0 {
		return dst
	}
	d.stacks++
	sum := sha256.Sum256(d.key)
	first, again := d.seen[sum]
	switch {
	case d.frames < 2 || !again:
		if len(d.seen) >= maxStacks {
			clear(d.seen)
		}
		d.seen[sum] = firstSeen{d.stacks, d.line}
		dst = append(dst, d.lines...)
	case d.objects:
		l := record.Line{Number: d.line, Repeats: record.Repeats{Stack: first.stack, Line: first.line, Lines: d.frames}}
		dst = l.Append(dst)
	default:
		dst = append(append(dst, d.before...), "[same as stack "...)
		dst = strconv.AppendInt(dst, int64(first.stack), 10)
		dst = append(dst, ", line "...)
		dst = strconv.AppendInt(dst, int64(first.line), 10)
		dst = append(append(dst, ']'), d.end...)
	}
	d.frames, d.lines, d.key = 0, d.lines[:0], d.key[:0]
	return dst
}
