package filter

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/guard"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
	"qss-filter/filter/stream"
)

// Lookahead bounds how long frames that only a list of mappings can resolve wait for one below them. The zero
// value does not wait.
type Lookahead struct {
	Lines int
	Time  time.Duration
}

// patienceAhead bounds the wait where only lines are given, maxAheadBytes the memory.
const (
	patienceAhead = 5 * time.Second
	maxAheadBytes = 16 << 20
)

// String returns the value as the command line has it.
func (l Lookahead) String() string {
	if l.Lines > 0 {
		return strconv.Itoa(l.Lines)
	}
	return l.Time.String()
}

// Set reads a number of lines, or a time such as 500ms.
func (l *Lookahead) Set(s string) error {
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		*l = Lookahead{Lines: n, Time: patienceAhead}
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return fmt.Errorf("want a number of lines, or a time such as 500ms")
	}
	*l = Lookahead{Time: d}
	return nil
}

// ahead is a stream.Liner around that of a filter. It holds lines back, from a frame on that lacks its process's mappings to the end of the
// list that brings them.
type ahead struct {
	heldBack
	f     *liner
	limit Lookahead
	since time.Time
	// pausing is set if the lines wait until the log pauses, however long that takes.
	pausing bool
	// of is the process whose list is waited for, listing is set within that list. images is set if its first frame is one of a report
	// with a list of images below, which counts for that report only.
	of      *resolve.Process
	listing bool
	images  bool
	apple   mappings.AppleList // of a report in JSON
	// above is set if the list stands above the frames, and whole once the report has ended.
	above, whole bool
	// parted is set in a list that has several parts, with other lines between them.
	parted bool
}

// maxReport bounds, in lines, how far below its first frame a board's report of a fault has the sum of its program.
const maxReport = 32

// newAhead returns one around a filter, whose lines go to another Liner. Without a limit they wait as all others do that are held back.
func newAhead(f *liner, to stream.Liner, limit Lookahead) *ahead {
	a := &ahead{f: f, limit: limit, pausing: limit == Lookahead{}}
	if a.pausing {
		a.limit = Lookahead{Lines: maxReport, Time: pause}
	}
	a.heldBack = heldBack{to: to, release: a.leave}
	return a
}

// remaining is how much longer the lines may wait.
func (a *ahead) remaining() time.Duration {
	if a.pausing {
		return a.limit.Time
	}
	return max(0, a.limit.Time-time.Since(a.since))
}

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (a *ahead) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	if n > a.MaxLine() {
		return a.to.Lines(ctx, a.leave(ctx, dst), b[:n])
	}
	before, passes := a.mayHold(b[:n])
	if before {
		dst = a.leave(ctx, dst)
		_, passes = a.mayHold(b[:n])
	}
	if passes {
		return a.to.Lines(ctx, dst, b[:n])
	}
	over := a.limit.Lines > 0 && len(a.lines) > a.limit.Lines && !a.listing
	if over || a.bytes > maxAheadBytes || a.remaining() == 0 {
		dst = a.leave(ctx, dst)
	}
	return dst, n
}

// mayHold holds a line back, unless it passes: it needs not wait. before is set, and nothing is done, if those held back must leave before
// it: their list has ended. A line over which the program panics passes.
func (a *ahead) mayHold(line []byte) (before, passes bool) {
	defer func() {
		if cause := recover(); cause != nil {
			a.f.broken(a.f.line+len(a.lines)+1, guard.Fault(cause))
			before, passes = a.holding(), true
		}
	}()
	body, _ := scan.CutEnd(line)
	p := a.f.parser.ReadPrefix(body)
	t := a.f.resolver.Processes.Thread(p, nil, nil, body, match.Look(body))
	text := body[p.Start:p.End]
	if _, whole := mappings.WholeImages(text); whole { // the line is a report of its own
		return a.holding(), !a.holding()
	}
	if !a.holding() {
		stacks := false
		if a.above, stacks = a.opensReport(t, body); !a.above && !stacks && !a.lacksMappings(t, body) {
			return false, true
		}
		a.of, a.listing, a.whole, a.since = t.Process, false, false, time.Now()
		a.images = a.images || a.above || stacks
	}
	if a.whole || a.above && len(a.lines) > 0 && t.Process == a.of && mappings.OpensImages(text) {
		return true, false
	}
	a.whole = a.above && a.apple.Done && string(text) == "}"
	if t.Process == a.of && (mappings.BoundsImages(text) || len(a.lines) > 0 && mappings.BoundsApple(text)) {
		return true, false
	}
	if t.Process == a.of && t.NoteSum(text) {
		a.listing = true
		a.hold(line)
		return false, false
	}
	at := a.f.line + len(a.lines) + 1
	listed := t.Process == a.of && (resolve.ReadMapping(t.Space, text, at) || a.images && resolve.ReadImage(t.Space, imageOf(text), at) || a.loaded(t, text) || a.images && a.numbered(t, body, at))
	if t.Process == a.of && !listed {
		a.parted = a.parted || a.images && bytes.HasPrefix(text, mappings.ApplePart)
		if a.listing && !a.above && !(a.parted && (len(text) == 0 || bytes.HasPrefix(text, mappings.ApplePart))) {
			return true, false
		}
	}
	a.listing = a.listing || listed
	a.hold(line)
	return false, false
}

// opensReport reports whether a line begins the images of a report in JSON whose frames stand below, or has stacks as texts and the images
// stand below.
func (a *ahead) opensReport(t *resolve.Thread, line []byte) (above, stacks bool) {
	if a.pausing || !a.f.resolver.LacksMappings(t) {
		return false, false
	}
	return mappings.OpensImages(line), parse.HoldsStacks(line)
}

// lacksMappings reports whether a line has a frame that the process's mappings would resolve, and there are none, or one whose build ID
// or sum stands below it.
func (a *ahead) lacksMappings(t *resolve.Thread, body []byte) bool {
	waits := !a.pausing
	unmapped, unstated := waits && a.f.resolver.LacksMappings(t), waits && !t.KnowsBuildIDs()
	unsummed := a.f.opt.Board != nil && !a.f.opt.Board.Hosted && !t.SumStated()
	if !unmapped && !unstated && !unsummed {
		return false
	}
	for _, fr := range a.f.readFrames(parse.Segment{Text: body, Start: a.f.parser.Prefix.Start, End: a.f.parser.Prefix.End}, false) {
		if (unmapped && fr.Base == frame.Absolute && fr.Machines == 0 || fr.Later && a.awaits(&fr, unstated, unsummed)) && !fr.Done {
			a.images = fr.Later && (fr.Base == frame.Absolute || fr.Arch != "" || fr.ImageIndex > 0) && fr.Machines == 0
			return true
		}
	}
	return false
}

// awaits reports whether what the log says of a frame's file below it is missing: its build ID, or the sum of the board's program.
func (a *ahead) awaits(fr *parse.Frame, unstated, unsummed bool) bool {
	if fr.Machines != 0 {
		return unsummed && a.f.resolver.OfBoard(fr)
	}
	return unstated
}

// numbered notes the images of a report in JSON, of which a line may have some.
func (a *ahead) numbered(t *resolve.Thread, line []byte, at int) bool {
	listed := a.apple.Line(line)
	if listed && a.apple.Done {
		t.SetImages(a.apple.Images)
		resolve.AddImages(t.Space, a.apple.Mapped, at)
	}
	return listed
}

// loaded notes the build ID of the module that a line may be, of a list that follows the frames that are held back.
func (a *ahead) loaded(t *resolve.Thread, text []byte) bool {
	name, id, ok := mappings.Loaded(text)
	if ok && id != "" {
		a.f.resolver.Processes.AddLoaded(t.Process, string(name), id)
	}
	return ok
}

// leave lets the held lines go.
func (a *ahead) leave(ctx context.Context, dst []byte) []byte {
	if !a.holding() {
		return dst
	}
	of := a.of
	a.of, a.listing, a.parted = nil, false, false
	for _, line := range a.take() {
		dst, _ = a.to.Lines(ctx, dst, line)
	}
	a.f.resolver.Processes.DropLoaded(of)
	if a.images {
		forgetImages(of)
		a.apple = mappings.AppleList{}
	}
	a.f.rescan()
	return dst
}

// Pending reports whether something is held back, and for how long it may be while the log pauses: frames that wait for mappings as
// long as they are to wait, everything else as it does without them.
func (a *ahead) Pending() (patience time.Duration, held bool) {
	if a.holding() {
		return a.remaining(), true
	}
	return a.to.Pending()
}
