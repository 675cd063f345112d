package filter

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"qss-filter/filter/frame"
	"qss-filter/filter/parse"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
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

// ahead holds lines back, from a frame on that lacks its process's mappings to the end of the list that brings them.
type ahead struct {
	limit Lookahead
	lines [][]byte
	bytes int
	since time.Time
	first int // the number of the first line
	// of is the process whose list is waited for, listing is set within that list.
	of      *resolve.Process
	listing bool
}

// holding reports whether lines are held back.
func (a *ahead) holding() bool { return a != nil && len(a.lines) > 0 }

// remaining is how much longer the lines may wait.
func (a *ahead) remaining() time.Duration { return max(0, a.limit.Time-time.Since(a.since)) }

// lookingAhead is Line where frames wait for the mappings below them.
func (f *Filter) lookingAhead(ctx context.Context, dst, line []byte) []byte {
	a := f.ahead
	body, _ := scan.CutEnd(line)
	t, pre := f.of(nil, nil, body)
	text := body[pre.Start:pre.End]
	if !a.holding() {
		if !f.lacksMappings(t, body) {
			return f.finished(ctx, dst, line)
		}
		a.of, a.listing, a.since, a.first = t.Process, false, time.Now(), f.line
	}
	listed := t.Process == a.of && resolve.ReadMapping(t.Space, text, f.line)
	if a.listing && !listed && t.Process == a.of {
		dst = f.release(ctx, dst)
		return f.lookingAhead(ctx, dst, line)
	}
	a.listing = a.listing || listed
	a.lines = append(a.lines, append([]byte(nil), line...))
	a.bytes += len(line)
	over := a.limit.Lines > 0 && len(a.lines) > a.limit.Lines && !a.listing
	if over || a.bytes > maxAheadBytes || a.remaining() == 0 {
		dst = f.release(ctx, dst)
	}
	return dst
}

// lacksMappings reports whether a line has a frame that the process's mappings would resolve, and there are none.
func (f *Filter) lacksMappings(t *resolve.Thread, body []byte) bool {
	if !f.resolver.LacksMappings(t) {
		return false
	}
	for _, fr := range f.frames(parse.Segment{Text: body, End: f.parser.Prefix.End}, false) {
		if fr.Base == frame.Absolute && !fr.Done {
			return true
		}
	}
	return false
}

// release lets the held lines go.
func (f *Filter) release(ctx context.Context, dst []byte) []byte {
	a := f.ahead
	if !a.holding() {
		return dst
	}
	lines, last := a.lines, f.line
	a.lines, a.bytes, a.of, a.listing = nil, 0, nil, false
	f.line = a.first - 1
	for _, line := range lines {
		f.line++
		dst = f.finished(ctx, dst, line)
	}
	f.line = last
	return dst
}
