// Package stream carries the bytes of a log through a Liner, which turns lines into output. It is live: all complete lines that
// have arrived are written before the next read.
//
//	Run, Feed: bytes → lines → Liner → bytes
//
// A Stream is a prefilter, too: it searches large chunks for the literals without which a line means nothing to its Liner, and
// copies the lines between them. Lines that are too long, and lines whose end does not come, pass without being looked at.
//
//	stream.go  reads, and writes; lines of any length; what leaves when the input pauses
//	feed.go    the same for a log that comes in pieces
//	pause.go   whether the next read would wait
//	utf16.go   logs in UTF-16
//	inputs.go  several files, one after the other
package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"qss-filter/filter/match"
)

const (
	// MaxLine is the length of the longest line, in bytes, that most Liners look at. A longer one passes untouched.
	MaxLine = 1 << 20
	// MaxOutput bounds the output, in bytes, that is collected before it is written.
	MaxOutput = 1 << 20
	// idle is how long a line without its end is held back while no more of it arrives, and mostIdle how long in all. A slow
	// serial line transfers a frame within that time, and the delay of a progress bar is not noticed.
	idle     = 50 * time.Millisecond
	mostIdle = 250 * time.Millisecond
	// bufferSize is the size of a stream's buffer: the longest line, and what comes after it.
	bufferSize = MaxLine + 64<<10
)

// Liner turns the lines of one log into output. Its methods append to dst and return the extended slice. They are called by one
// goroutine, in the order of the log.
type Liner interface {
	// Arrive is called when more of the log has come.
	Arrive()
	// Scan returns the search for the lines that must go to Lines. It is nil if all must. Any method may change it.
	Scan() *match.Scan
	// Lines appends the output of the first line of b, and of as many of those after it as need no Scan. It returns how many
	// bytes of b these are. Lines have their ends; only the last line of a log may have none.
	Lines(ctx context.Context, dst, b []byte) (out []byte, n int)
	// Skip appends what must stand before lines that need not go to Lines, and the output of these lines. If same is set, the
	// caller has to append the lines as they are.
	Skip(dst, lines []byte) (out []byte, same bool)
	// Part is Skip for a piece of a line that is too long, or whose end does not come in time. first is set for the first piece
	// of a line no part of which went to Torn. last is set for the piece that ends the line.
	Part(dst, text []byte, first, last bool) (out []byte, same bool)
	// Torn appends the output of the beginning of a line that has waited so long for its end. The rest of it goes to Part. If
	// more is not 0 the line goes on waiting, for so long at most.
	Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration)
	// Pending reports whether text is held back, and returns for how long it may be while the log pauses.
	Pending() (patience time.Duration, held bool)
	// Flush appends the text that is held back.
	Flush(dst []byte) []byte
	// MaxLine returns the length of the longest line, in bytes, that goes to Lines.
	MaxLine() int
}

// Options are how a Stream reads and writes. The zero value recognizes a log in UTF-16, and writes its output in UTF-16 again.
type Options struct {
	// Narrow writes a log in UTF-16 as UTF-8, for terminals.
	Narrow bool
	// Bytes reads a log as it is, whatever its encoding.
	Bytes bool
	// BeforeWrite, if not nil, is called before output is written.
	BeforeWrite func()
}

// Stream carries one log through a Liner.
type Stream struct {
	l     Liner
	opt   Options
	moved Stats
	// busy is held by a run except while the run waits for its input. current is the run.
	busy    sync.Mutex
	current *run
}

// Stats are the bytes that a stream has read and written.
type Stats struct{ Read, Written int64 }

// New returns a stream that carries a log through l.
func New(l Liner, o Options) *Stream { return &Stream{l: l, opt: o} }

// Stats returns the counts so far.
func (s *Stream) Stats() Stats { return s.moved }

// Run carries a log from in to out until its end. It returns the error of a failed read or write. That of a write is a
// *WriteError. All that was read before a failed read is written. Run may be called again for what follows in the log.
func (s *Stream) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	r := &run{l: s.l, s: s, out: out, buf: buffers.Get().(*[bufferSize]byte)[:]}
	defer r.free()
	text := &transcoder{pauser: pauses(in), decided: s.opt.Bytes, narrow: s.opt.Narrow}
	r.in = yielding{text, &s.busy}
	defer r.in.stop()
	s.busy.Lock()
	defer s.busy.Unlock()
	s.current = r
	defer func() { s.current = nil }()
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
		s.moved.Read += int64(n)
		s.l.Arrive()
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

// buffers are those of runs that have ended: a tree of logs has many.
var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// free leaves the buffer to the next run, unless it has grown.
func (r *run) free() {
	if len(r.buf) == bufferSize {
		buffers.Put((*[bufferSize]byte)(r.buf))
	}
}

// Abandon is called from another goroutine when the program is about to end. It writes the text that a run holds back, if
// that takes no longer than patience. The run does not go on.
func (s *Stream) Abandon(patience time.Duration) {
	written := make(chan struct{})
	go func() {
		defer close(written)
		s.busy.Lock()
		if s.current != nil {
			_ = s.current.finish(context.Background()) // the program ends, whatever becomes of it
		}
	}()
	select {
	case <-written:
	case <-time.After(patience):
	}
}

// WriteError is the error of a failed write. The output is lost from there on.
type WriteError struct{ Err error }

// Error returns the message.
func (e *WriteError) Error() string { return "write: " + e.Err.Error() }

// Unwrap returns the error of the writer.
func (e *WriteError) Unwrap() error { return e.Err }

// run is one run of a stream. buf[start:end] is what has arrived and not left.
type run struct {
	l          Liner
	s          *Stream
	in         pauser
	out        io.Writer
	buf        []byte
	start, end int
	// waiting is when the wait for the end of a line began. It is zero if there is none.
	waiting time.Time
	// fresh is where the piece begins that was read last. There is no line end between start and fresh.
	fresh int
	// raw is set while the rest of a line passes untouched because its beginning has left already.
	raw  bool
	text []byte
}

// rest writes what may not wait while the input pauses: the text that the Liner holds back, and after a short time a line
// without its end, even if more of it arrives.
func (r *run) rest(ctx context.Context) error {
	if patience, held := r.l.Pending(); held && !r.in.ready(patience) {
		r.text = r.l.Flush(r.text)
		if err := r.write(); err != nil {
			return err
		}
	}
	if r.start == r.end || r.raw {
		return nil
	}
	if r.waiting.IsZero() {
		r.waiting = time.Now()
	}
	for wait := min(idle, mostIdle-time.Since(r.waiting)); !r.in.ready(max(0, wait)); {
		r.text, wait = r.l.Torn(ctx, r.text, r.buf[r.start:r.end], time.Since(r.waiting))
		if wait == 0 {
			return r.torn()
		}
	}
	return nil
}

// torn writes the beginning of an unfinished line. The rest of the line passes untouched.
func (r *run) torn() error {
	r.raw, r.waiting = true, time.Time{}
	r.start, r.end = 0, 0
	return r.write()
}

// part writes buf[start:to], a piece of a line, untouched.
func (r *run) part(to int, first bool) error {
	b := r.buf[r.start:to]
	r.start = to
	if r.start == r.end {
		r.start, r.end = 0, 0
	}
	return r.piece(b, first, bytes.HasSuffix(b, newline))
}

// piece writes a piece of a line untouched.
func (r *run) piece(b []byte, first, last bool) error {
	if len(b) == 0 && !last {
		return r.write()
	}
	out, same := r.l.Part(r.text, b, first, last)
	r.text = out
	if same && len(r.text) == 0 {
		return r.writeAll(b)
	}
	if same {
		r.text = append(r.text, b...)
	}
	return r.write()
}

// lines handles every complete line in the buffer and writes the output.
func (r *run) lines(ctx context.Context) error {
	if r.raw {
		nl := bytes.IndexByte(r.buf[r.start:r.end], '\n')
		if nl < 0 {
			return r.part(r.end, false)
		}
		r.raw = false
		if err := r.part(r.start+nl+1, false); err != nil {
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
	if r.end-r.start > r.l.MaxLine() {
		r.raw, r.waiting = true, time.Time{}
		return r.part(r.end, true)
	}
	if r.start > 0 {
		r.end = copy(r.buf, r.buf[r.start:r.end])
		r.start = 0
	}
	r.fit()
	return nil
}

// fit makes room after the line in the buffer, and frees it again when the line is gone.
func (r *run) fit() {
	switch {
	case r.end == len(r.buf):
		r.buf = append(r.buf, make([]byte, len(r.buf))...)
	case len(r.buf) > bufferSize && r.end < bufferSize/2:
		r.buf = append(make([]byte, 0, bufferSize), r.buf[:r.end]...)[:bufferSize]
	}
}

// chunk handles b, a run of complete lines: candidates go through Lines, the others are copied as they are.
func (r *run) chunk(ctx context.Context, b []byte) error {
	for pos := 0; pos < len(b); {
		begin := len(b)
		if scan := r.l.Scan(); scan == nil {
			begin = pos
		} else if at := scan.Next(b, pos); at >= 0 {
			begin = bytes.LastIndexByte(b[pos:at], '\n') + 1 + pos
		}
		if begin > pos {
			out, same := r.l.Skip(r.text, b[pos:begin])
			switch r.text = out; {
			case !same:
			case begin-pos >= copied:
				if err := r.write(); err != nil {
					return err
				}
				if err := r.writeAll(b[pos:begin]); err != nil {
					return err
				}
			default:
				r.text = append(r.text, b[pos:begin]...)
			}
		}
		if pos = begin; pos < len(b) {
			out, n := r.l.Lines(ctx, r.text, b[pos:])
			r.text = out
			pos += n
		}
		if len(r.text) >= MaxOutput {
			if err := r.write(); err != nil {
				return err
			}
		}
	}
	return r.write()
}

// copied is how many bytes between candidates are written from where they were read: a write of their own is cheaper than to copy them.
const copied = 32 << 10

var newline = []byte{'\n'}

// finish handles a last line without an end.
func (r *run) finish(ctx context.Context) error {
	if r.raw {
		b := r.buf[r.start:r.end]
		r.start, r.end = 0, 0
		return r.piece(b, false, true)
	}
	if r.start < r.end {
		r.text, _ = r.l.Lines(ctx, r.text, r.buf[r.start:r.end])
		r.start, r.end = 0, 0
	}
	r.text = r.l.Flush(r.text)
	return r.write()
}

// write writes r.text.
func (r *run) write() error {
	if r.s.opt.BeforeWrite != nil {
		r.s.opt.BeforeWrite()
	}
	b := r.text
	r.text = r.text[:0]
	if cap(r.text) > 8*MaxOutput {
		r.text = nil
	}
	return r.writeAll(b)
}

// writeAll writes b.
func (r *run) writeAll(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := r.out.Write(b)
	r.s.moved.Written += int64(n)
	if err != nil {
		return &WriteError{err}
	}
	return nil
}
