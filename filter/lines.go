package filter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// maxLine is the longest line that is looked at; a longer one streams through untouched.
	maxLine = 1 << 20
	// idle is how long a line without its end is held back while no more of it arrives, mostIdle how long in all: a slow
	// serial line brings a frame within that, and a progress bar is not seen to be late.
	idle     = 50 * time.Millisecond
	mostIdle = 250 * time.Millisecond
	// outLimit bounds the output collected before it is written.
	outLimit = 1 << 20
)

// Run carries a stream from in to out until its end. Text in UTF-16 leaves as it came, but for JSON and where Options.Narrow is
// set. It gives the error of a failed read or write, of which only the
// writes are of the kind *WriteError; what was read before a failed read is written.
func (f *Filter) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	r := &stream{f: f, out: out, buf: make([]byte, bufferSize)}
	text := &transcoder{pauser: pauses(in), decided: f.llvm != nil, narrow: f.opt.Narrow || f.recorder != nil}
	r.in = yielding{text, &f.busy}
	defer r.in.stop()
	f.busy.Lock()
	defer f.busy.Unlock()
	f.current = r
	defer func() { f.current = nil }()
	for {
		if err := r.rest(ctx); err != nil {
			return err
		}
		first := !text.decided
		n, err := r.in.Read(r.buf[r.end:])
		if first {
			r.out = text.writer(out)
		}
		r.fresh, r.end = r.end, r.end+n
		r.f.piece++
		r.f.moved.Read += int64(n)
		if werr := r.lines(ctx); werr != nil {
			return werr
		}
		if err != nil {
			if werr := r.finish(ctx); werr != nil {
				return werr
			}
			if werr := text.finish(r.out); werr != nil {
				return werr
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("read: %w", err)
		}
	}
}

// WriteError is a failed write: the output is lost from there on.
type WriteError struct{ Err error }

func (e *WriteError) Error() string { return "write: " + e.Err.Error() }
func (e *WriteError) Unwrap() error { return e.Err }

// stream is one run. buf[start:end] is what has arrived and not left.
type stream struct {
	f          *Filter
	in         pauser
	out        io.Writer
	buf        []byte
	start, end int
	// waiting is when the line without its end was first waited for, zero before.
	waiting time.Time
	// fresh is where the piece begins that was read last: what stands before it has no line end.
	fresh int
	// raw is set while the rest of a line passes untouched, since its beginning has left already.
	raw  bool
	text []byte
}

// rest writes what may not wait while the input pauses: at once the folded context, after a short time a line without its
// end, even if more of it trickles in. In the style of llvm such a line waits: what follows may remove what stands on it.
func (r *stream) rest(ctx context.Context) error {
	if r.f.ahead.holding() && !r.in.ready(r.f.ahead.remaining()) {
		r.text = r.f.release(ctx, r.text)
		if err := r.write(); err != nil {
			return err
		}
	}
	if r.f.holds() && !r.in.ready(0) {
		r.text = r.f.Flush(r.text)
		if err := r.write(); err != nil {
			return err
		}
	}
	if r.start == r.end || r.raw || r.f.llvm != nil {
		return nil
	}
	if r.waiting.IsZero() {
		r.waiting = time.Now()
	}
	if !r.in.ready(max(0, min(idle, mostIdle-time.Since(r.waiting)))) {
		return r.torn(ctx)
	}
	return nil
}

// torn lets the beginning of an unfinished line go; its rest passes untouched. It is annotated unless its rest could
// still change what it says: inside an element, or where a module's build ID may follow.
func (r *stream) torn(ctx context.Context) error {
	r.raw, r.waiting = true, time.Time{}
	b := r.buf[r.start:r.end]
	if !r.f.settled(b) {
		r.f.line++
		r.text = r.f.Flush(r.text)
		return r.pass(r.end)
	}
	if r.f.recorder != nil {
		r.f.recorder.torn = true
	}
	r.text = r.f.Flush(r.f.Line(ctx, r.text, b))
	r.start, r.end = 0, 0
	return r.write()
}

// pass writes buf[start:to] untouched.
func (r *stream) pass(to int) error {
	b := r.buf[r.start:to]
	r.start = to
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	if r.f.recorder != nil && len(b) > 0 {
		r.text = r.f.part(r.text, b, bytes.HasSuffix(b, newline))
		return r.write()
	}
	if len(r.text) == 0 {
		return r.writeAll(b)
	}
	r.text = append(r.text, b...)
	return r.write()
}

// lines handles every complete line in the buffer and writes the outcome.
func (r *stream) lines(ctx context.Context) error {
	if r.raw {
		nl := bytes.IndexByte(r.buf[r.start:r.end], '\n')
		if nl < 0 {
			return r.pass(r.end)
		}
		r.raw = false
		if err := r.pass(r.start + nl + 1); err != nil {
			return err
		}
	}
	fresh := max(r.start, r.fresh)
	if nl := bytes.LastIndexByte(r.buf[fresh:r.end], '\n'); nl >= 0 {
		from := r.start
		r.start = fresh + nl + 1
		r.waiting = time.Time{}
		if err := r.chunk(ctx, r.buf[from:r.start]); err != nil {
			return err
		}
	}
	if r.start == r.end {
		r.start, r.end = 0, 0
		r.fit()
		return nil
	}
	if r.end-r.start > r.f.longest() {
		r.text = r.f.pass(r.text, nil)
		r.raw, r.waiting = true, time.Time{}
		r.f.line++
		return r.pass(r.end)
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	r.fit()
	return nil
}

// chunk handles b, a run of complete lines: those with an anchor go through Line, the others are copied as they are.
func (r *stream) chunk(ctx context.Context, b []byte) error {
	pos := 0
	r.f.scout.chunk()
	defer r.f.scout.at(nil, nil)
	for pos < len(b) {
		next := r.step(ctx, b, pos)
		if next == pos {
			break
		}
		pos = next
		if len(r.text) >= outLimit {
			if err := r.write(); err != nil {
				return err
			}
		}
	}
	if pos == 0 && len(r.text) == 0 && !r.f.pending() && r.f.recorder == nil {
		r.f.line += bytes.Count(b, newline)
		r.f.origins.passed(b)
		return r.writeAll(b)
	}
	if pos < len(b) {
		r.between(b[pos:])
	}
	return r.write()
}

// step handles the first line of b[pos:] that has an anchor, with what stands before it and with the known lines that follow,
// and returns where it ended; that is pos where no line has one.
func (r *stream) step(ctx context.Context, b []byte, pos int) (next int) {
	f, at := r.f, pos
	f.mark()
	f.reached = progress{base: pos, out: r.text, line: f.line}
	defer r.rescue(&next, b)
	if !f.watching() {
		if at = f.scan.next(b, pos); at < 0 {
			return pos
		}
	}
	begin := bytes.LastIndexByte(b[pos:at], '\n') + 1 + pos
	if begin > pos {
		r.between(b[pos:begin])
		f.mark()
		f.reached = progress{base: begin, out: r.text, line: f.line}
	}
	var known int
	if r.text, known = f.run(ctx, r.text, b[begin:]); known > 0 {
		return begin + known
	}
	end := at + bytes.IndexByte(b[at:], '\n') + 1
	if end-begin > f.longest() {
		r.between(b[begin:end])
		return end
	}
	f.scout.at(b[end:], f.origins.nobody)
	r.text = f.Line(ctx, r.text, b[begin:end])
	f.rescan()
	return end
}

// between copies lines without an anchor.
func (r *stream) between(b []byte) {
	r.text = r.f.pass(r.text, b)
	if r.f.recorder != nil {
		r.text = r.f.texts(r.text, b)
	} else {
		r.text = append(r.text, b...)
	}
	r.f.line += bytes.Count(b, newline)
	r.f.origins.passed(b)
}

var newline = []byte{'\n'}

// finish handles a last line without an end.
func (r *stream) finish(ctx context.Context) error {
	switch {
	case r.raw && r.f.recorder != nil:
		r.text = r.f.part(r.text, r.buf[r.start:r.end], true)
		return r.write()
	case r.raw:
		r.text = append(r.text, r.buf[r.start:r.end]...)
		if r.f.llvm != nil { // that ends every line
			r.text = append(r.text, '\n')
		}
		r.start, r.end = 0, 0
		return r.write()
	case r.start < r.end:
		r.text = r.f.Line(ctx, r.text, r.buf[r.start:r.end])
		r.start, r.end = 0, 0
	}
	r.text = r.f.Flush(r.text)
	return r.write()
}

func (r *stream) write() error {
	if r.f.llvm != nil {
		r.f.llvm.report()
	}
	b := r.text
	r.text = r.text[:0]
	if cap(r.text) > 8*outLimit {
		r.text = nil
	}
	return r.writeAll(b)
}

func (r *stream) writeAll(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := r.out.Write(b)
	r.f.moved.Written += int64(n)
	if err != nil {
		return &WriteError{err}
	}
	return nil
}
