package llvm

import (
	"bytes"
	"context"
	"math"
	"sync"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/match"
	"qss-filter/filter/stream"
)

var _ stream.Liner = (*Filter)(nil)

// candidates returns the search for lines with markup or colors.
var candidates = sync.OnceValue(func() *match.Scan {
	return match.NewScan([]match.Literal{{Text: "{{{", When: match.Always}, {Text: "\x1b[", When: match.Always}}, match.Always)
})

// Stream returns a stream of the filter, which must not be used in any other way then.
func (l *Filter) Stream() *stream.Stream { return stream.New(l, l.streamed()) }

// Feed returns a feed of the filter, which must not be used in any other way then.
func (l *Filter) Feed() *stream.Feed { return stream.NewFeed(l, l.streamed()) }

// streamed returns how the log is read and written.
func (l *Filter) streamed() stream.Options { return stream.Options{Bytes: true, BeforeWrite: l.report} }

// Arrive does nothing: files that were found are not checked again.
func (l *Filter) Arrive() {}

// Scan returns the search for lines with markup or colors.
func (l *Filter) Scan() *match.Scan { return candidates() }

// MaxLine returns the length of the longest line, in bytes, that is looked at.
func (l *Filter) MaxLine() int { return l.longest }

// Lines appends the output of the first line of b, and of those after it that are in the cache.
func (l *Filter) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	l.reach(dst, 0)
	defer l.rescue(&out, &n, b)
	end := bytes.IndexByte(b, '\n') + 1
	if end > 0 {
		if dst, n = l.known.run(ctx, dst, b); n > 0 {
			l.lines += bytes.Count(b[:n], newline)
			return dst, n
		}
	} else {
		end = len(b)
	}
	if end > l.longest {
		out, _ = l.Skip(dst, b[:end])
		return append(out, b[:end]...), end
	}
	l.lines++
	return l.Line(ctx, dst, b[:end]), end
}

// Skip appends what must stand before lines that are copied as they are: the end of the open line, with the line end of the first
// of them.
func (l *Filter) Skip(dst, lines []byte) (out []byte, same bool) {
	l.lines += bytes.Count(lines, newline)
	if l.info.open || !l.sgr.plain() {
		l.crlf = bytes.HasSuffix(lines[:bytes.IndexByte(lines, '\n')+1], []byte("\r\n"))
		dst = l.sgr.reset(dst)
		dst = l.endInfo(dst)
	}
	return dst, true
}

// Part is Skip for a piece of a line. The last line of the log gets an end.
func (l *Filter) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	if first {
		dst, _ = l.Skip(dst, nil)
	}
	if last && !bytes.HasSuffix(text, newline) {
		return append(append(dst, text...), '\n'), false
	}
	return dst, true
}

// Torn makes the beginning of a line wait: an element in the rest of the line may remove it.
func (l *Filter) Torn(_ context.Context, dst, _ []byte, _ time.Duration) (out []byte, more time.Duration) {
	return dst, math.MaxInt64
}

// Pending returns false: the open line may wait for any time.
func (l *Filter) Pending() (patience time.Duration, held bool) { return 0, false }

// Flush appends the end of the open line, with the line end of the line before.
func (l *Filter) Flush(dst []byte) []byte {
	l.report()
	dst = l.endInfo(dst)
	return l.sgr.reset(dst)
}

// reach notes how far Lines has come. It is called before each line.
func (l *Filter) reach(out []byte, n int) {
	l.info.mark()
	l.reached.out, l.reached.n = out, n
}

// rescue is deferred in Lines. After a panic the line reached leaves as it came, after the text that was held back before it.
func (l *Filter) rescue(out *[]byte, n *int, b []byte) {
	cause := recover()
	if cause == nil {
		l.reached.out = nil // the caller may need its memory no longer
		return
	}
	l.known.off = true
	if !l.warned && l.opt.Warn != nil {
		l.warned = true
		l.opt.Warn(guard.Message(l.lines, guard.Fault(cause)))
	}
	at := &l.reached
	end := bytes.IndexByte(b[at.n:], '\n') + 1
	dst := l.salvage(at.out)
	if end == 0 {
		*out, *n = append(append(dst, b[at.n:]...), '\n'), len(b)
		return
	}
	*out, *n = append(dst, b[at.n:at.n+end]...), at.n+end
}

// Count returns the number of lines so far.
func (l *Filter) Count() int { return l.lines }

// Footprint returns about how many bytes of memory the filter keeps between lines.
func (l *Filter) Footprint() int64 {
	const answerWeight, fileWeight, itself = 640, 600, 8 << 10
	return int64(itself + l.known.footprint() + len(l.memo.answers)*answerWeight + len(l.memo.files)*fileWeight)
}

var newline = []byte{'\n'}
