package stream

import (
	"bytes"
	"context"
)

// Feed carries a log that comes in pieces, as a Stream carries a log that it reads. It does not know when the log pauses: text
// that is held back leaves with Flush.
type Feed struct {
	r   run
	out appended
	// last is the length of the last piece, in bytes.
	last int
}

// appended is a writer that never fails.
type appended struct{ text []byte }

// Write appends b.
func (a *appended) Write(b []byte) (int, error) {
	a.text = append(a.text, b...)
	return len(b), nil
}

// NewFeed returns a feed of l, which must not be used in any other way.
func NewFeed(l Liner, o Options) *Feed {
	d := &Feed{}
	d.r = run{l: l, s: New(l, o), out: &d.out}
	return d
}

// Add appends to dst what a run writes when b arrives. b may end anywhere.
func (d *Feed) Add(ctx context.Context, dst, b []byte) []byte {
	d.out.text, d.last = dst, len(b)
	r := &d.r
	r.l.Arrive()
	if r.start == r.end && !r.raw && len(b) > 0 && b[len(b)-1] == '\n' {
		_ = r.chunk(ctx, b) // the writer cannot fail
	} else {
		if need := r.end + len(b); need > len(r.buf) {
			r.buf = append(r.buf[:r.end], b...)
			r.buf = r.buf[:cap(r.buf)]
		} else {
			copy(r.buf[r.end:], b)
		}
		r.fresh, r.end = r.end, r.end+len(b)
		_ = r.lines(ctx)
		if r.end == 0 {
			r.buf = nil // long lines are rare
		}
	}
	if cap(r.text) > keptText {
		r.text = nil
	}
	dst, d.out.text = d.out.text, nil
	return dst
}

// keptText is how much room for output a feed keeps for the next piece, in bytes: there may be thousands of feeds.
const keptText = 16 << 10

// Footprint returns about how many bytes of memory the feed keeps between pieces, without its Liner but with the last piece:
// the Liner may remember parts of that.
func (d *Feed) Footprint() int64 { return int64(cap(d.r.buf) + cap(d.r.text) + d.last) }

// Raw appends what a run writes if b, the next line or a part of one, is not to be looked at: text that is held back, the
// beginning of an unfinished line as it came, and b. The rest of a line that b does not end passes untouched, too.
func (d *Feed) Raw(dst, b []byte) []byte {
	d.out.text = dst
	r := &d.r
	r.l.Arrive()
	begin := append(r.buf[r.start:r.end:r.end], b...)
	r.start, r.end, r.buf = 0, 0, nil
	for first := !r.raw; len(begin) > 0; first = true {
		n := bytes.IndexByte(begin, '\n') + 1
		if n == 0 {
			n = len(begin)
		}
		r.raw = begin[n-1] != '\n'
		_ = r.piece(begin[:n], first, !r.raw) // the writer cannot fail
		begin = begin[n:]
	}
	dst, d.out.text = d.out.text, nil
	return dst
}

// Unfinished reports whether the last line has no end yet.
func (d *Feed) Unfinished() bool { return d.r.raw || d.r.start < d.r.end }

// Holds reports whether text is held back, or the beginning of an unfinished line.
func (d *Feed) Holds() bool {
	_, held := d.r.l.Pending()
	return held || d.r.start < d.r.end
}

// Flush appends text that is held back, as a run does when its input pauses, except an unfinished line.
func (d *Feed) Flush(dst []byte) []byte {
	if _, held := d.r.l.Pending(); !held {
		return dst
	}
	return d.r.l.Flush(dst)
}
