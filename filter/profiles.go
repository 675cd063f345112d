package filter

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter/guard"
	"qss-filter/filter/mappings"
	"qss-filter/filter/match"
	"qss-filter/filter/resolve"
	"qss-filter/filter/scan"
)

// profiles is a stream.Liner around that of a filter. It holds back the lines of an OpenTelemetry profile in JSON that has a line for each member,
// from the beginning of its tables to their end: its locations refer to the tables around them.
type profiles struct {
	heldBack
	f    *liner
	text mappings.ProfileText
	// of is the process whose profile is open, nil if none is.
	of *resolve.Process
}

// profileWords are in the lines that open the tables of a profile.
var profileWords = match.Subscribe(`"dictionary":`, `"mappingTable":`)

// openProfile notes that the tables of a profile may begin with a line. The first time, it puts the Liner around the others that handles them.
func (l *liner) openProfile(line []byte) {
	if l.profiles == nil {
		p := &profiles{f: l}
		p.heldBack = heldBack{to: l.held, release: p.leave}
		l.profiles = p
		if l.ahead != nil {
			l.ahead.to = p
		} else if l.traces != nil {
			l.traces.to = p
		} else {
			l.splits.Liner = p
		}
	}
	if p := l.profiles; !p.holding() && p.of == nil {
		p.of = l.resolver.Processes.Unnamed.Process
		p.text.Open(line)
	}
}

// Scan returns nil while a profile is open.
func (p *profiles) Scan() *match.Scan {
	if p.of != nil {
		return nil
	}
	return p.heldBack.Scan()
}

// Lines holds the first line of b back, or appends what becomes of it and of the lines that have waited for it.
func (p *profiles) Lines(ctx context.Context, dst, b []byte) (out []byte, n int) {
	n = bytes.IndexByte(b, '\n') + 1
	if n == 0 {
		n = len(b)
	}
	if p.of == nil || n > p.MaxLine() {
		return p.to.Lines(ctx, p.leave(ctx, dst), b[:n])
	}
	done, ok := p.note(b[:n])
	if !ok {
		return p.to.Lines(ctx, p.leave(ctx, dst), b[:n])
	}
	p.hold(b[:n])
	if done != nil {
		p.of.SetProfile(done)
	}
	if done != nil || p.bytes > maxAheadBytes {
		dst = p.leave(ctx, dst)
	}
	return dst, n
}

// note adds a line to the text of the profile. One over which the program panics is none of it.
func (p *profiles) note(line []byte) (done *mappings.Profile, ok bool) {
	defer func() {
		if cause := recover(); cause != nil {
			p.f.broken(p.f.line+len(p.lines)+1, guard.Fault(cause))
			done, ok = nil, false
		}
	}()
	body, _ := scan.CutEnd(line)
	return p.text.Line(body)
}

// leave lets the held lines go, and ends the profile.
func (p *profiles) leave(ctx context.Context, dst []byte) []byte {
	if p.of == nil {
		return dst
	}
	of := p.of
	for _, line := range p.take() {
		if search := p.to.Scan(); search != nil && search.Next(line, 0) < 0 && p.f.joints[p.f.held.next()] == nil {
			var same bool
			if dst, same = p.to.Skip(dst, line); same {
				dst = append(dst, line...)
			}
			continue
		}
		dst, _ = p.to.Lines(ctx, dst, line)
	}
	p.of = nil
	of.SetProfile(nil)
	p.f.rescan()
	return dst
}

// Pending reports whether something is held back, and for how long it may be while the log pauses.
func (p *profiles) Pending() (patience time.Duration, held bool) {
	if p.holding() {
		return pause, true
	}
	return p.to.Pending()
}
