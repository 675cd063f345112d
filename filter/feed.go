package filter

import (
	"bytes"
	"context"

	"qss-filter/symsrc"
)

// Feed carries a stream that comes in pieces, as Run carries one that is read; but it knows no pauses: what is held back is
// let go when Flush says so.
type Feed struct {
	f   *Filter
	r   stream
	out appended
	// last is how long the last piece was, in bytes.
	last int
}

// appended is a writer that never fails.
type appended struct{ text []byte }

func (a *appended) Write(b []byte) (int, error) {
	a.text = append(a.text, b...)
	return len(b), nil
}

// NewFeed returns the feed of a filter, which must be used in no other way then.
func NewFeed(f *Filter) *Feed {
	d := &Feed{f: f}
	d.r = stream{f: f, out: &d.out}
	return d
}

// Add appends to dst what a run writes when b arrives, which may end anywhere.
func (d *Feed) Add(ctx context.Context, dst, b []byte) []byte {
	d.out.text, d.last = dst, len(b)
	r := &d.r
	r.f.piece++
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
		r.text, r.f.reached = nil, progress{} // which has the same room
	}
	dst, d.out.text = d.out.text, nil
	return dst
}

// keptText is how much room for output a feed keeps for the next piece: there may be thousands of feeds.
const keptText = 16 << 10

// Footprint returns about how many bytes of memory the feed keeps between pieces, beside its filter, with the last piece: what the
// filter remembers of lines may be parts of it.
func (d *Feed) Footprint() int64 { return int64(cap(d.r.buf) + cap(d.r.text) + d.last) }

// Raw appends what a run writes when b, the next line or a part of one, is not to be looked at: what is held back, the begin of an
// unfinished line as it came, and b. The rest of a line that b does not end passes untouched, too.
func (d *Feed) Raw(dst, b []byte) []byte {
	d.out.text = dst
	f, r := d.f, &d.r
	f.piece++
	f.line += max(1, bytes.Count(b, newline))
	if f.llvm != nil {
		r.text = f.pass(r.text, nil)
	} else {
		r.text = f.Flush(r.text)
	}
	r.buf = append(r.buf[:r.end], b...)
	r.end = len(r.buf)
	_ = r.pass(r.end) // the writer cannot fail
	r.raw = !bytes.HasSuffix(b, newline)
	r.buf = nil
	dst, d.out.text = d.out.text, nil
	return dst
}

// Faults counts the lines that left as they came, since the program panicked over them.
func (d *Feed) Faults() int { return d.f.rescued }

// Unfinished reports whether the last line has no end yet.
func (d *Feed) Unfinished() bool { return d.r.raw || d.r.start < d.r.end }

// Holds reports whether Flush would let text go, or the rest of an unfinished line.
func (d *Feed) Holds() bool {
	f := d.f
	return d.r.start < d.r.end || f.llvm == nil && (f.ahead.holding() || f.fold.pending() || f.dedupe != nil && f.dedupe.frames > 0)
}

// Flush appends what is held back, as a run does where its input pauses, but for an unfinished line.
func (d *Feed) Flush(dst []byte) []byte {
	if d.f.llvm != nil {
		return dst // the begin of what follows
	}
	return d.f.Flush(dst)
}

// Tally counts the frames of a stream by what became of them.
type Tally struct {
	Frames, Unresolved int
	// By counts the unresolved ones whose module is known, by the reason.
	By [symsrc.UnknownError + 1]int
}

// Tally returns the counts since the filter was made. The style of llvm is not counted.
func (f *Filter) Tally() (t Tally) {
	t = f.memo.forgotten
	for _, m := range f.memo.modules {
		t.add(m)
	}
	return t
}

// add counts the frames of a module.
func (t *Tally) add(m *module) {
	t.Frames += m.frames
	t.Unresolved += m.unresolved
	t.By[m.status()] += m.unresolved
}

// status tells why frames of the module have no name.
func (m *module) status() symsrc.Status {
	if m.files == nil {
		return symsrc.UnknownError
	}
	return m.files.Reason()
}
