package filter

import (
	"bytes"
	"context"
	"io"
	"sync/atomic"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

var _ stream.Liner = (*liner)(nil)

// liner is a filter as a stream.Liner: it finds the lines that may mean something, and knows those that were seen before.
type liner struct {
	*Filter
	known      known
	candidates *match.Scan
	scans      [match.States]*match.Scan // by the states that they are for
	state      match.When                // the one that candidates is for
	reached    progress
	held       *proving  // around this liner
	ahead      *ahead    // around these; nil if no frame waits for mappings or a sum
	profiles   *profiles // around held; nil before the first profile
	tails      knownJava
	native     match.When // the state without frames of Java
	traces     *traces    // around these; nil if there are no maps of names of Java
	excerpts   *excerpts  // around these; nil if there are no source maps
	splits     *splits    // around all
}

// init makes it that of a filter.
func (l *liner) init(of *Filter) {
	l.Filter = of
	l.known.init(l)
	l.held = newProving(l)
	if l.opt.Lookahead != (Lookahead{}) || l.opt.Board != nil && !l.opt.Board.Hosted {
		l.ahead = newAhead(l, l.held, l.opt.Lookahead)
	}
	if l.java() != nil {
		l.traces = newTraces(l, l.afterTraces())
		l.tails.init(l)
	}
	if l.opt.Scripts != nil {
		l.excerpts = newExcerpts(l, l.afterExcerpts())
	}
	l.splits = newSplits(l, l.afterSplits())
	l.rescan()
}

// Stream returns a stream of the filter, which must be used in no other way then.
func (f *Filter) Stream() *stream.Stream { return stream.New(f.liner.outermost(), f.streamed()) }

// Feed returns a feed of the filter, which must be used in no other way then.
func (f *Filter) Feed() *stream.Feed { return stream.NewFeed(f.liner.outermost(), f.streamed()) }

// streamed returns how the log is read and written.
func (f *Filter) streamed() stream.Options {
	return stream.Options{Narrow: f.opt.Narrow || f.objects != nil}
}

// Input begins another input of several: where lines become objects, these have its name, and numbers counted from 1.
func (f *Filter) Input(name string) {
	if f.objects == nil {
		return
	}
	f.objects.Input(name, f.line)
	f.liner.known.init(&f.liner) // what is known has the input's name in it
	if f.repeats != nil {
		f.repeats.Input(name, f.line)
	}
}

// Written says when all of the log that follows was written, at the latest; the zero Time says that it is not known. From then on, lines of
// files that no build ID verifies are marked where these may be newer than the log.
func (f *Filter) Written(at time.Time) {
	f.resolver.Written(at)
	f.liner.known.init(&f.liner)
}

// Run carries a log from in to out, as stream.Stream.Run does.
func (f *Filter) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return f.Stream().Run(ctx, in, out)
}

// outermost returns what handles the lines of a stream.
func (l *liner) outermost() stream.Liner {
	if l.brief != nil && l.only == nil {
		return newGoroutines(l, l.splits)
	}
	return l.splits
}

// afterSplits returns what handles the lines after the parts among them are known.
func (l *liner) afterSplits() stream.Liner {
	if l.excerpts != nil {
		return l.excerpts
	}
	return l.afterExcerpts()
}

// afterExcerpts returns what handles the lines that wait for no excerpt of a script.
func (l *liner) afterExcerpts() stream.Liner {
	if l.traces != nil {
		return l.traces
	}
	return l.afterTraces()
}

// afterTraces returns what handles the lines that wait for no line of their trace.
func (l *liner) afterTraces() stream.Liner {
	if l.ahead != nil {
		return l.ahead
	}
	if l.profiles != nil {
		return l.profiles
	}
	return l.held
}

// holding reports whether lines are held back.
func (l *liner) holding() bool {
	return l.excerpts != nil && l.excerpts.holding() || l.traces != nil && l.traces.holding() || l.ahead != nil && l.ahead.holding() || l.profiles != nil && l.profiles.holding() || l.held.holding()
}

// next is the number of the next line of the log, after those that are held back.
func (l *liner) next() int {
	n := l.line + 1
	if l.excerpts != nil {
		n += len(l.excerpts.lines)
	}
	if l.traces != nil {
		n += len(l.traces.lines)
	}
	n += len(l.held.lines)
	if l.ahead != nil {
		n += len(l.ahead.lines)
	}
	if l.profiles != nil {
		n += len(l.profiles.lines)
	}
	return n
}

// Arrive notes that more of the log has come: files may have changed since.
func (l *liner) Arrive() {
	l.resolver.Arrive()
}

// Scan returns the search for the lines that mean something now, nil if every line may.
func (l *liner) Scan() *match.Scan {
	if l.dump.open || l.window > 0 || l.brief != nil && l.brief.Pending() {
		return nil
	}
	return l.candidates
}

// rescan chooses the literals for the state the filter is in.
func (l *liner) rescan() {
	state := match.Always
	if l.opt.Palette != nil || l.opt.StripSGR {
		state |= match.Coloring
	}
	if l.numbers() {
		state |= match.Renumbering
	}
	if l.absolutes() {
		state |= match.Absolute
	}
	if l.resolver.Processes.Stacked(l.line) {
		state |= match.Stacked
	}
	l.native = state
	if l.parser.InXML() {
		state |= match.Document
	}
	if j := l.java(); j != nil {
		state |= j.State()
	}
	if l.candidates != nil && l.state == state {
		return
	}
	l.candidates, l.state = l.scan(state), state
	l.resolver.Prefetch.Search(l.scan(l.native), l.absolutes())
}

// scan returns the search for the literals of a state.
func (l *liner) scan(state match.When) *match.Scan {
	if l.scans[state] == nil {
		of := &scans[state]
		if of.Load() == nil {
			of.Store(match.NewScan(literals, state))
		}
		l.scans[state] = of.Load()
	}
	return l.scans[state]
}

// scans are the searches that filters have needed, by the states that they are for: a tree has a filter for each of its logs.
var scans [match.States]atomic.Pointer[match.Scan]

// MaxLine returns the length of the longest line, in bytes, that is looked at.
func (l *liner) MaxLine() int { return stream.MaxLine }

// Lines appends what becomes of the first line of b, and of those after it that are known.
func (l *liner) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	if out, n = l.repeated(dst, b); n > 0 {
		return out, n
	}
	return l.new(ctx, out, b)
}

// repeated appends what becomes of the lines at the beginning of b that are known.
func (l *liner) repeated(dst, b []byte) (out []byte, n int) {
	l.reach(dst, 0)
	defer l.rescueLines(&out, &n, b)
	if bytes.IndexByte(b, '\n') < 0 {
		return dst, 0
	}
	return l.known.run(dst, b)
}

// new appends what becomes of the first line of b.
func (l *liner) new(ctx context.Context, dst, b []byte) (out []byte, n int) {
	l.reach(dst, 0)
	defer l.rescueLines(&out, &n, b)
	end := bytes.IndexByte(b, '\n') + 1
	if end == 0 {
		end = len(b)
	}
	if end > stream.MaxLine {
		out, same := l.Skip(dst, b[:end])
		if same {
			out = append(out, b[:end]...)
		}
		return out, end
	}
	return l.first(ctx, dst, b, end), end
}

// first appends what becomes of the first line of b, of n bytes. Answers for those after it may be prefetched.
func (l *liner) first(ctx context.Context, dst, b []byte, n int) []byte {
	l.resolver.Prefetch.Ahead(b[n:], l.resolver.Processes.Unnamed)
	dst = l.known.line(ctx, dst, b[:n])
	l.resolver.Prefetch.Ahead(nil, nil)
	l.rescan()
	return dst
}

// Skip appends what is held back, which must stand before lines that mean nothing, and leaves these to the caller unless lines
// become objects.
func (l *liner) Skip(dst, lines []byte) (out []byte, same bool) {
	l.text.Fold.Mark()
	dst = l.Flush(dst)
	defer func() {
		if cause := recover(); cause != nil {
			l.broken(l.line, guard.Fault(cause))
			out, same = dst, l.objects == nil
		}
	}()
	out = dst
	if l.opt.Read != nil {
		l.opt.Read(l.line+1, lines)
	}
	if l.objects != nil {
		out = l.objects.Texts(dst, l.line+1, lines)
	}
	l.resolver.Processes.Pass(lines)
	n := bytes.Count(lines, newline)
	l.parser.Skip(lines, l.line+1, n)
	l.line += n
	if l.parser.InXML() != (l.state&match.Document != 0) || l.state&match.Stacked != 0 {
		l.rescan()
	}
	if l.only != nil {
		l.only.gap = true
		return out, false
	}
	return out, l.objects == nil
}

// Part is Skip for a piece of a line.
func (l *liner) Part(dst, text []byte, first, last bool) (out []byte, same bool) {
	if first {
		l.line++
		l.parser.Unread(l.line)
		dst = l.Flush(dst)
	}
	switch {
	case l.only != nil:
		l.only.gap = true
		return dst, false
	case l.objects == nil:
		return dst, true
	}
	return l.objects.Piece(dst, l.line, text, last), false
}

// patience is how long the beginning of a line waits for its rest if it may have the beginning of a frame: a machine may be busy. Other
// text, such as a prompt, does not wait for it.
const patience = time.Second

// Torn appends what becomes of the beginning of a line whose rest may come late. It is annotated unless its rest could still change
// what it says: inside an element, or where a module's build ID may follow.
func (l *liner) Torn(ctx context.Context, dst, begin []byte, waited time.Duration) (out []byte, more time.Duration) {
	open, begun := l.unfinished(begin)
	if left := patience - waited; left > 0 && (open || begun) {
		return dst, left
	}
	if open {
		out, same := l.Part(dst, begin, true, false)
		if same {
			out = append(out, begin...)
		}
		return out, 0
	}
	if l.objects != nil {
		l.objects.Torn = true
	}
	return l.Flush(l.Line(ctx, dst, begin)), 0
}

// unfinished reports of the beginning of a line whether the meaning of what it has is open until the rest is there, and whether it may
// have begun something that has no meaning yet.
func (l *liner) unfinished(begin []byte) (open, begun bool) {
	defer func() {
		if cause := recover(); cause != nil {
			l.broken(l.line, guard.Fault(cause))
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
	for _, fr := range l.readFrames(parse.Segment{Text: begin}, false) {
		if found = true; len(fr.BuildIDText) == 0 {
			return true, false
		}
	}
	return false, !found && (l.candidates.Next(begin, 0) >= 0 || l.candidates.Begins(begin) || hasBegun(begin))
}

// hasBegun reports whether text has what most frames begin with, before any of the literals: `#` and a digit, or an address.
func hasBegun(text []byte) bool {
	for rest := text; ; {
		i := bytes.IndexByte(rest, '#')
		if i < 0 || i+1 == len(rest) {
			break
		}
		if scan.IsDigit(rest[i+1]) {
			return true
		}
		rest = rest[i+1:]
	}
	for at := 0; ; at += len(addressStart) {
		i := bytes.Index(text[at:], addressStart)
		if i < 0 {
			return false
		}
		at += i
		if before, digits := at-1, text[at+len(addressStart):]; (before < 0 || !isWordByte(text[before])) && len(digits) >= 2 && scan.IsHex(digits[0]) && scan.IsHex(digits[1]) {
			return true
		}
	}
}

// addressStart begins an address.
var addressStart = []byte("0x")

// isWordByte reports whether a byte may be part of a name or a number.
func isWordByte(c byte) bool { return scan.IsLetter(c) || scan.IsDigit(c) || c == '_' }

// pause is how long folded context, and a stack that may be one of those before or that is to prove its files, are held back while the
// log pauses. An emitter that writes line by line is not slower: what leaves does not depend on how busy it is.
const pause = 250 * time.Millisecond

// Pending reports whether something is held back.
func (l *liner) Pending() (patience time.Duration, held bool) {
	return pause, l.text.Fold.Pending() || l.repeats != nil && l.repeats.Pending() || l.brief != nil && l.brief.Pending()
}

// Flush appends what Line has held back: the folded context, and a stack that may be one of those before.
func (f *Filter) Flush(dst []byte) []byte { return f.out.Flush(dst) }

var newline = []byte{'\n'}

// Resume appends lines of markup after which a new filter, of the same options, writes of all that follows what this one
// does; none where it does so at once. ok is false if the log has left more than modules and mappings behind: a line or
// a color that is open, a list of mappings, a header that says whose lines follow, frames of threads that are told apart in no
// simple way. Then only the log itself, from an earlier place where ok was true, brings a filter here.
func (f *Filter) Resume(dst []byte) (lines []byte, ok bool) {
	if f.objects != nil || f.repeats != nil || f.brief != nil || f.liner.holding() || f.text.Fold.Pending() || f.dump.open || f.window > 0 ||
		f.opt.DumpContext != nil || !f.text.Color.Plain() || f.parser.Long || f.parser.InXML() {
		return dst, false
	}
	return f.resolver.Resume(dst, f.line, f.opt.Lookahead != (Lookahead{}))
}
