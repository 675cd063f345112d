package print

import (
	"context"
	"crypto/sha256"
	"strconv"

	"qss-filter/filter/parse"
	"qss-filter/filter/record"
	"qss-filter/filter/resolve"
	"qss-filter/filter/triage"
	"qss-filter/symsrc"
)

// Repeats is a printer that holds the lines of the stack at hand back, to put one line in their place if the same stack was there
// before: the same places of the same modules, in the same order. Another printer writes the lines.
type Repeats struct {
	Printer
	opt Options
	// objects is set if lines leave as JSON.
	objects bool

	// lines is the text of the open stack, of which frames have been seen; key names their places.
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

	// now is the line at hand, and the frame that it is, if it is one.
	now struct {
		lineAtHand
		before   []byte
		frame    uint64 // its number
		numbered bool
		key      []byte
		frames   []triage.Frame
	}
	// signature is that of the open stack, and input the name of the input at hand, which begins after before lines.
	signature triage.Signature
	input     string
	inputFrom int
	single    [1]symsrc.Frame
	seen      map[[sha256.Size]byte]firstSeen
	stacks    int
	text      []byte
}

// firstSeen is where a stack stood first: its number among the stacks of the log, and the line of its first frame in an input.
type firstSeen struct {
	stack, line int
	input       string
}

// maxStacks bounds the stacks remembered, maxStackBytes the text of one that is held back: a longer one is taken for two.
const (
	maxStacks     = 1 << 16
	maxStackBytes = 1 << 20
)

// NewRepeats returns a printer around out. o says how text is written; objects is set if out writes JSON.
func NewRepeats(out Printer, o Options, objects bool) *Repeats {
	return &Repeats{Printer: out, opt: o, objects: objects, seen: map[[sha256.Size]byte]firstSeen{}}
}

// Pending reports whether lines are held back.
func (d *Repeats) Pending() bool { return d.frames > 0 }

// Weight returns about how many bytes of memory the stacks take that are remembered.
func (d *Repeats) Weight() int { return len(d.seen) * 200 }

// Input begins another input, after that number of lines.
func (d *Repeats) Input(name string, lines int) { d.input, d.inputFrom = name, lines }

// Begin begins a line.
func (d *Repeats) Begin(dst []byte, number int, line []byte) []byte {
	d.now.begin(dst, number, line)
	return d.Printer.Begin(dst, number, line)
}

// Items notes a line that is one frame.
func (d *Repeats) Items(ctx context.Context, dst []byte, t *resolve.Thread, s parse.Segment, items []Item, alone int) []byte {
	if alone >= 0 && !s.Quoted() && (d.opt.Style != Append || items[alone].Element != nil && !d.opt.Observed) {
		d.note(t, s.Text, &items[alone])
	}
	return d.Printer.Items(ctx, dst, t, s, items, alone)
}

// note notes that the line is one frame.
func (d *Repeats) note(t *resolve.Thread, text []byte, it *Item) {
	fr, a := &d.now, it.Answer
	before, words := text, []byte(nil)
	if it.Element != nil {
		before, fr.frame, fr.numbered = text[:it.Element.Start], it.Element.BTFields.Num, true
	} else {
		before, fr.frame, fr.numbered = text[:it.Frame.Whole.Start], it.Frame.Number, !it.Frame.Num.Empty()
		words = text[max(it.Frame.Addr.End, it.Frame.Gap.Start):it.Frame.Whole.End]
	}
	fr.of = t
	fr.before = append(fr.before[:0], before...)
	fr.key = fr.key[:0]
	if a != nil && a.Module != nil && a.Java == nil {
		fr.key = append(append(append(fr.key, a.Module.Name...), 0), a.Module.BuildID...)
		fr.key = strconv.AppendUint(append(fr.key, 0), a.Offset, 16)
	} else {
		fr.key = append(fr.key, words...)
	}
	fr.key = append(fr.key, '\n')
	fr.frames = fr.frames[:0]
	o := it.Observation(fr.number, t, text, true)
	for _, of := range o.Functions(&d.single) {
		fr.frames = append(fr.frames, triage.Frame{Func: of.Func, File: of.File, Line: of.Line, Module: o.Module.Name, At: o.At + o.Back, Located: o.Located, Foreign: of.Foreign})
	}
}

// End ends the line: it leaves, or is held back with those of its stack.
func (d *Repeats) End(dst []byte) []byte {
	n := &d.now
	dst = d.Printer.End(dst)
	if !n.open {
		return dst
	}
	n.open = false
	d.text = append(d.text[:0], dst[n.start:]...)
	dst = dst[:n.start]
	text := d.text
	if n.of == nil {
		return append(d.flush(dst), text...)
	}
	if n.flushed > 0 { // context that stood before the frame
		dst, text = append(d.flush(dst), text[:n.flushed]...), text[n.flushed:]
	}
	if d.frames > 0 && (n.of != d.of || n.numbered != d.numbered || n.numbered && n.frame <= d.number) {
		dst = d.flush(dst)
	}
	if d.frames == 0 {
		d.before, d.end, d.line = append(d.before[:0], n.before...), append(d.end[:0], n.end...), n.number
	}
	d.frames++
	for i := range n.frames {
		d.signature.Add(&n.frames[i], &d.opt.Names.Own)
	}
	d.of, d.number, d.numbered = n.of, n.frame, n.numbered
	d.key = append(d.key, n.key...)
	d.lines = append(d.lines, text...)
	if len(d.lines)+len(d.key) > maxStackBytes {
		dst = d.flush(dst)
	}
	return dst
}

// Abandon appends a line as it came, after what is held back.
func (d *Repeats) Abandon(dst []byte, number int, line []byte) []byte {
	return d.now.abandon(d.Printer, d.flush, dst, number, line)
}

// Flush appends what is held back, within a line only what the other printer does.
func (d *Repeats) Flush(dst []byte) []byte {
	return d.now.flush(d.Printer, d.flush, dst)
}

// flush ends the open stack.
func (d *Repeats) flush(dst []byte) []byte {
	if d.frames == 0 {
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
		d.seen[sum] = firstSeen{d.stacks, d.line - d.inputFrom, d.input}
		if d.objects {
			dst = record.Sign(dst, d.lines, d.signature.String())
		} else {
			dst = append(dst, d.lines...)
		}
	case d.objects:
		l := record.Line{Number: d.line - d.inputFrom, Input: d.input, Signature: d.signature.String(),
			Repeats: record.Repeats{Stack: first.stack, Line: first.line, Lines: d.frames}}
		if first.input != d.input {
			l.Repeats.Input = first.input
		}
		dst = l.Append(dst)
	default:
		dst = append(append(dst, d.before...), "[same as stack "...)
		dst = strconv.AppendInt(dst, int64(first.stack), 10)
		dst = append(dst, ", line "...)
		dst = strconv.AppendInt(dst, int64(first.line), 10)
		if signature := d.signature.String(); signature != "" {
			dst = symsrc.AppendVisible(append(dst, ": "...), signature)
		}
		dst = append(append(dst, ']'), d.end...)
	}
	d.frames, d.lines, d.key, d.signature = 0, d.lines[:0], d.key[:0], triage.Signature{}
	return dst
}
