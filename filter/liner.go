package filter

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"slices"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/linecache"
	"qss-filter/filter/mappings"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

var _ stream.Liner = (*Filter)(nil)

// Stream returns a stream of the filter, which must be used in no other way then.
func (f *Filter) Stream() *stream.Stream { return stream.New(f.liner(), f.streamed()) }

// Feed returns a feed of the filter, which must be used in no other way then.
func (f *Filter) Feed() *stream.Feed { return stream.NewFeed(f.liner(), f.streamed()) }

// liner returns what handles the lines of a stream: the filter, or what holds lines back before it.
func (f *Filter) liner() stream.Liner {
	if f.ahead != nil {
		return f.ahead
	}
	return f.beyond()
}

// beyond returns what handles the lines that wait for no mappings.
func (f *Filter) beyond() stream.Liner {
	if f.held != nil {
		return f.held
	}
	return f
}

// mayNeedProof reports whether a line of markup may hold a frame without a build ID.
func (f *Filter) mayNeedProof(line []byte) bool {
	return f.held != nil && (f.unidentified || f.resolver.Mapped) && bytes.Contains(line, linecache.BTStart[1:])
}

// streamed returns how the log is read and written.
func (f *Filter) streamed() stream.Options {
	return stream.Options{Narrow: f.opt.Narrow || f.objects != nil}
}

// Run carries a log from in to out, as stream.Stream.Run does.
func (f *Filter) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return f.Stream().Run(ctx, in, out)
}

// Arrive notes that more of the log has come: files may have changed since.
func (f *Filter) Arrive() {
	f.resolver.Arrive()
}

// Scan returns the search for the lines that mean something now, nil if every line may.
func (f *Filter) Scan() *stream.Scan {
	if f.dump.open || f.window > 0 {
		return nil
	}
	return f.candidates
}

// MaxLine returns the length of the longest line, in bytes, that is looked at.
func (f *Filter) MaxLine() int { return stream.MaxLine }

// Lines appends what becomes of the first line of b, and of those after it that are known.
func (f *Filter) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if out, n = f.repeated(dst, b); n > 0 {
		return out, n
	}
	return f.new(ctx, out, b)
}

// repeated appends what becomes of the lines at the beginning of b that are known.
func (f *Filter) repeated(dst, b []byte) (out []byte, n int) {
	f.reach(dst, 0)
	defer f.rescueLines(&out, &n, b)
	if bytes.IndexByte(b, '\n') < 0 {
		return dst, 0
	}
	return f.known.run(dst, b)
}

// new appends what becomes of the first line of b.
func (f *Filter) new(ctx context.Context, dst, b []byte) (out []byte, n int) {
	f.reach(dst, 0)
	defer f.rescueLines(&out, &n, b)
	end := bytes.IndexByte(b, '\n') + 1
	if end == 0 {
		end = len(b)
	}
	if end > stream.MaxLine {
		out, same := f.Skip(dst, b[:end])
		if same {
			out = append(out, b[:end]...)
		}
		return out, end
	}
	return f.first(ctx, dst, b, end), end
}

// first appends what becomes of the first line of b, of n bytes. Answers for those after it may be prefetched.
func (f *Filter) first(ctx context.Context, dst, b []byte, n int) []byte {
	f.resolver.Prefetch.Ahead(b[n:], f.resolver.Processes.Unnamed)
	dst = f.known.line(ctx, dst, b[:n])
	f.resolver.Prefetch.Ahead(nil, nil)
	f.rescan()
	return dst
}

// Skip appends what is held back, which must stand before lines that mean nothing, and leaves these to the caller unless lines
// become objects.
func (f *Filter) Skip(dst, lines []byte) (out []byte, same bool) {
	f.text.Fold.Mark()
	dst = f.Flush(dst)
	defer func() {
		if cause := recover(); cause != nil {
			f.broken(f.line, guard.Fault(cause))
			out, same = dst, f.objects == nil
		}
	}()
	out = dst
	if f.objects != nil {
		out = f.objects.Texts(dst, f.line+1, lines)
	}
	f.line += bytes.Count(lines, newline)
	f.parser.Skip(lines)
	return out, f.objects == nil
}

// Part is Skip for a piece of a line.
func (f *Filter) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	if first {
		f.line++
		dst = f.Flush(dst)
	}
	if f.objects == nil {
		return dst, true
	}
	return f.objects.Piece(dst, f.line, text, last), false
}

// patience is how long the beginning of a line waits for its rest if it may have the beginning of a frame: a machine may be busy. Other
// text, such as a prompt, does not wait for it.
const patience = time.Second

// Torn appends what becomes of the beginning of a line whose rest may come late. It is annotated unless its rest could still change
// what it says: inside an element, or where a module's build ID may follow.
func (f *Filter) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	open, begun := f.unfinished(begin)
	if left := patience - waited; left > 0 && (open || begun) {
		return dst, left
	}
	if open {
		out, same := f.Part(dst, begin, true, false)
		if same {
			out = append(out, begin...)
		}
		return out, 0
	}
	if f.objects != nil {
		f.objects.Torn = true
	}
	return f.Flush(f.Line(ctx, dst, begin)), 0
}

// unfinished reports of the beginning of a line whether the meaning of what it has is open until the rest is there, and whether it may
// have begun something that has no meaning yet.
func (f *Filter) unfinished(begin []byte) (open, begun bool) {
	defer func() {
		if cause := recover(); cause != nil {
			f.broken(f.line, guard.Fault(cause))
			open = true
		}
	}()
	found := false
	for _, mark := range [...][2]string{{"{{{", "}}}"}, {"<<<", ">>>"}} {
		if at := bytes.LastIndex(begin, []byte(mark[0])); at >= 0 {
			if found = true; !bytes.Contains(begin[at:], []byte(mark[1])) {
				return true, false
			}
		}
	}
	for _, fr := range f.readFrames(parse.Segment{Text: begin}, false) {
		if found = true; len(fr.BuildIDText) == 0 {
			return true, false
		}
	}
	return false, !found && (f.candidates.Next(begin, 0) >= 0 || frameNumber.Match(begin))
}

// frameNumber matches what most frames begin with, before any of the literals: a number, or an address.
var frameNumber = regexp.MustCompile(`#[0-9]|\b0x[0-9a-f]{2}`)

// pause is how long folded context, and a stack that may be one of those before or that is to prove its files, are held back while the
// log pauses. An emitter that writes line by line is not slower: what leaves does not depend on how busy it is.
const pause = 250 * time.Millisecond

// Pending reports whether something is held back.
func (f *Filter) Pending() (patience time.Duration, held bool) {
	return pause, f.text.Fold.Pending() || f.repeats != nil && f.repeats.Pending()
}

// Flush appends what Lines has held back: the folded context, and a stack that may be one of those before.
func (f *Filter) Flush(dst []byte) []byte { return f.out.Flush(dst) }

var newline = []byte{'\n'}

// Resume appends lines of markup after which a new filter, of the same options, writes of all that follows what this one
// does; none where it does so at once. ok is false if the log has left more than modules and mappings behind: a line or
// a color that is open, a list of mappings, a header that says whose lines follow, frames of threads that are told apart in no
// simple way. Then only the log itself, from an earlier place where ok was true, brings a filter here.
func (f *Filter) Resume(dst []byte) (lines []byte, ok bool) {
	if f.objects != nil || f.repeats != nil || f.ahead != nil && f.ahead.holding() || f.held != nil && f.held.holding() || f.text.Fold.Pending() || f.dump.open || f.window > 0 ||
		f.opt.DumpContext != nil || !f.text.Color.Plain() || f.parser.Long {
		return dst, false
	}
	return f.resolver.Resume(dst, f.line, f.opt.Lookahead != (Lookahead{}))
}

// literals are what the recognizers rely on: those of frames, of lists of mappings, and of all else that a line may mean.
var literals = slices.Concat(frame.Literals(), mappings.Literals(), []scan.Literal{
	{Text: "{{{", Pair: 0, Set: 0, When: scan.Always},
	{Text: "<<<", Pair: 0, Set: 1, When: scan.Always},
	{Text: "Sanitizer", Pair: 0, Set: 3, When: scan.Always},
	{Text: "runtime error:", Pair: 7, Set: 4, When: scan.Always},
	{Text: "shard ", Pair: 1, Set: 6, When: scan.Always},
	{Text: " at pc=0x", Pair: 4, Set: 5, When: scan.Always},
	{Text: "Native frames: (J=", Pair: 0, Set: 3, When: scan.Always},
	{Text: " Stack (depth: ", Pair: 6, Set: 0, When: scan.Absolute},
	{Text: "Crash Information", Pair: 0, Set: 3, When: scan.Always},
	{Text: "[ RUN      ] ", Pair: 3, Set: 7, When: scan.Absolute},
	{Text: "[==========] Running ", Pair: 0, Set: 1, When: scan.Absolute},
	{Text: " (core dumped)", Pair: 0, Set: 0, When: scan.Absolute},
	{Text: "Backtrace:", Pair: 0, Set: 3, When: scan.Always},
	{Text: "<signal handler called>", Pair: 8, Set: 6, When: scan.Absolute},
	{Text: "\x1b[", Pair: 0, Set: 7, When: scan.Coloring},
})
