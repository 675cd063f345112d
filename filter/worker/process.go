package worker

import (
	"bytes"
	"context"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// line is one message of the input: a line, several of them, or a part of one.
type line struct {
	seq     uint64 // in the stream of the lines
	subject string // with the partition in front
	// process has all subjects of the line's process, with the partition in front; "" where the line is of none.
	process string
	data    []byte
	part    bool // the next message goes on with it
	last    bool // there are no others yet
	ended   bool // data ends with a newline; known once the line was fed
	stored  time.Time
	// of is the line's process, once that is in memory. raw says why the line leaves as it came, "" where it does not; fresh is set
	// where not even what is held back before it can leave.
	of    *process
	raw   string
	fresh bool
}

// process is a process of the log, with its filter. Each of its lines becomes one message; while text is held back, the message
// of the last line waits, to carry that text if no other line comes.
type process struct {
	subject string // of its lines, with wildcards where that varies; the partition is in front
	out     string // of its annotated lines
	name    string // in the bucket of states
	filter  *filter.Filter
	feed    *stream.Feed
	// weight is about how many bytes of memory the process takes, as of when it was weighed last.
	weight int64
	// renew makes a filter.
	renew func() *filter.Filter
	// counted are the frames up to the last line that is counted; fresh is set once there was one that was not published.
	counted resolve.Tally
	fresh   bool
	used    time.Time // when its last line came
	// fed is the last line that the filter has seen.
	fed uint64
	// published is the last line whose message is stored, and outSeq the sequence of that message; clear is the last line after
	// whose message nothing was held back.
	published, outSeq, clear uint64
	// waiting is the line whose message waits, with its own text.
	waiting *line
	text    []byte
	// since counts lines since the place where the process can be taken up, and tried those of which a later place was looked for.
	since, tried int
}

// message is what is published for a line, or a piece of it where it is too long for one.
type message struct {
	of     *process
	seq    uint64 // of the line
	data   []byte
	held   bool   // text is held back after it
	clear  uint64 // the last line before it after which none was
	more   bool   // the next message goes on with it
	raw    string // why the line left as it came
	piece  int
	stored time.Time // when the line was
}

// add feeds a line to the filter, and adds the messages that are complete by that to out.
func (p *process) add(ctx context.Context, out []message, l *line, limit int) []message {
	p.fed = l.seq
	p.since++
	before := p.text
	if p.waiting == nil {
		before = nil
	}
	l.ended = bytes.HasSuffix(l.data, newline)
	data := l.data
	if !l.ended && !l.part {
		data = append(data[:len(data):len(data)], '\n')
	}
	l.data = nil // a line may wait for long
	if !p.fresh && l.seq > p.published {
		p.fresh, p.counted = true, p.filter.Tally()
	}
	text := p.annotate(ctx, l, data)
	if !l.ended && !l.part {
		text = bytes.TrimSuffix(text, newline)
	}
	if l.seq <= p.published { // again, after another worker
		if l.seq == p.clear {
			p.feed.Flush(nil) // as it did
		}
		return out
	}
	if p.waiting != nil {
		out = p.emit(out, p.waiting, before, true, limit)
		p.waiting, p.text = nil, nil
	}
	if p.feed.Holds() {
		p.waiting, p.text = l, text
		return out
	}
	return p.emit(out, l, text, false, limit)
}

var newline = []byte{'\n'}

// annotate feeds a line to the filter and returns what that writes. What would follow a line that was not looked at although it may
// have said something of modules could get wrong names: nothing is known from there on.
func (p *process) annotate(ctx context.Context, l *line, data []byte) []byte {
	if l.raw == "" {
		faults := p.filter.Faults()
		text := p.feed.Add(ctx, nil, data)
		if p.filter.Faults() > faults {
			l.raw = whyPanic
		}
		return text
	}
	if l.fresh {
		p.restart()
	}
	doubtful := l.part || p.feed.Unfinished() || bytes.Contains(data, braces)
	text := p.feed.Raw(nil, data)
	if doubtful && !l.part {
		p.restart()
	}
	return text
}

var braces = []byte("{{{")

// restart forgets all that the filter knows.
func (p *process) restart() {
	p.filter = p.renew()
	p.feed, p.counted = p.filter.Feed(), resolve.Tally{}
}

// rest lets go what is held back, with the message that waits. Of an unfinished line, whose rest may never come, the message
// leaves alone.
func (p *process) rest(out []message, limit int) []message {
	text, held := p.text, p.feed.Unfinished()
	if !held {
		text = p.feed.Flush(text)
		if !p.waiting.ended {
			text = bytes.TrimSuffix(text, newline)
		}
	}
	out = p.emit(out, p.waiting, text, held, limit)
	p.waiting, p.text = nil, nil
	return out
}

// emit adds the message of a line, in pieces of at most limit bytes.
func (p *process) emit(out []message, l *line, text []byte, held bool, limit int) []message {
	m := message{of: p, seq: l.seq, stored: l.stored, held: held, raw: l.raw, clear: p.clear}
	if !held {
		p.clear = l.seq
	}
	for ; len(text) > limit; m.piece++ {
		m.data, text, m.more = text[:limit], text[limit:], true
		out = append(out, m)
	}
	m.data, m.more = text, false
	return append(out, m)
}

// partWait is how long the rest of a line is waited for before lines of other processes may be acknowledged past it.
const partWait = 10 * time.Second

// resting reports whether what is held back has waited long enough.
func (p *process) resting(now time.Time, idle time.Duration) bool {
	if p.waiting != nil && p.feed.Unfinished() {
		idle = max(idle, partWait)
	}
	return p.waiting != nil && now.Sub(p.used) >= idle
}
