package filter

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter/match"
	"qss-filter/filter/stream"
)

// heldBack is the part that a stream.Liner which holds lines back has in common with others: what follows such lines stays after them.
type heldBack struct {
	to stream.Liner // what the lines go to
	// release appends the output of the lines that are held back.
	release func(ctx context.Context, dst []byte) []byte
	lines   [][]byte
	bytes   int
}

// holding reports whether lines are held back.
func (h *heldBack) holding() bool { return len(h.lines) > 0 }

// hold holds a line back.
func (h *heldBack) hold(line []byte) {
	h.lines = append(h.lines, bytes.Clone(line))
	h.bytes += len(line)
}

// take returns the lines that were held back, and holds none.
func (h *heldBack) take() [][]byte {
	lines := h.lines
	h.lines, h.bytes = nil, 0
	return lines
}

// Arrive notes that more of the log has come.
func (h *heldBack) Arrive() { h.to.Arrive() }

// MaxLine returns the length of the longest line, in bytes, that is looked at.
func (h *heldBack) MaxLine() int { return h.to.MaxLine() }

// Scan returns nil while lines are held back: all lines after them must come.
func (h *heldBack) Scan() *match.Scan {
	if h.holding() {
		return nil
	}
	return h.to.Scan()
}

// Skip releases the lines before lines that mean nothing.
func (h *heldBack) Skip(dst, lines []byte) (out []byte, same bool) {
	return h.to.Skip(h.release(context.Background(), dst), lines)
}

// Part releases the lines before a piece of a line.
func (h *heldBack) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	return h.to.Part(h.release(context.Background(), dst), text, first, last)
}

// Torn releases the lines before the beginning of a line.
func (h *heldBack) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	return h.to.Torn(ctx, h.release(ctx, dst), begin, waited)
}

// Flush appends all that is held back.
func (h *heldBack) Flush(dst []byte) []byte {
	return h.to.Flush(h.release(context.Background(), dst))
}
