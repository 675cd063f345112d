package child

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// Forever as Options.Linger waits until the last process has closed the output.
	Forever time.Duration = math.MaxInt64
	// DefaultLinger is long enough for the last output of processes that end together with the command.
	DefaultLinger = 2 * time.Second
)

const (
	// patience is the time after which Left is called. If Linger is brief, patience is added to it.
	patience = time.Second
	brief    = 10 * time.Second
	// again is the shortest time between two looks at an output that is being passed on.
	again = 10 * time.Millisecond
)

// epoch is what clock counts from, so that times of the monotonic clock fit in an atomic integer.
var epoch = time.Now()

// clock returns the time since the start of the program, which is never 0.
func clock() time.Duration { return time.Since(epoch) + 1 }

// lingering waits for the processes that the command has left behind.
type lingering struct {
	o       *Options
	streams []*passage
	ended   time.Duration // when the command did
	said    bool
	timer   *time.Timer // when to look again
}

func newLingering(p *plumbing, o *Options) *lingering {
	l := &lingering{o: o, streams: p.streams, ended: clock()}
	l.timer = time.NewTimer(min(l.sayAfter(), o.Linger))
	return l
}

// sayAfter returns how long after the command's end Left is called.
func (l *lingering) sayAfter() time.Duration {
	if o := l.o.Linger; o <= brief {
		return o + patience
	}
	return patience
}

// look reports whether the wait is over, and calls Left then. Otherwise it sets the timer.
func (l *lingering) look() (over bool) {
	now := clock()
	waits := make([]time.Duration, len(l.streams))
	quiet := true
	for i, s := range l.streams {
		waits[i] = time.Duration(s.in.since.Load())
		quiet = quiet && (waits[i] == ended || s.in.quiet())
	}
	left := remaining(l.o.Linger, now, l.ended, waits)
	if left <= 0 && quiet {
		l.say(false)
		return true
	}
	if !l.said && now-l.ended >= l.sayAfter() && quiet {
		l.said = true
		l.say(true)
	}
	if !l.said {
		left = min(left, l.sayAfter())
	}
	l.timer.Reset(max(left, again))
	return false
}

// say calls Left with the processes that hold the output.
func (l *lingering) say(waiting bool) {
	if l.o.Left == nil {
		return
	}
	var files []string
	for _, s := range l.streams {
		if time.Duration(s.in.since.Load()) != ended {
			files = append(files, s.in.link)
		}
	}
	l.o.Left(named(holders(files)), waiting)
}

// ended stands for the time of an output that has ended.
const ended time.Duration = -1

// remaining returns how much of the silence is left. waits are the times since which the outputs wait for more: 0 for one that is being
// passed on, which is not silence, however long it takes.
func remaining(linger, now, begin time.Duration, waits []time.Duration) time.Duration {
	for _, since := range waits {
		if since == 0 {
			return linger
		}
		begin = max(begin, since)
	}
	return linger - max(0, now-begin) // another output may have begun to wait after now
}

// holder is a process that can write to an output.
type holder struct {
	pid  int
	name string
}

// maxNamed bounds the processes that one line names.
const maxNamed = 5

// named returns processes as a line names them, "" for none.
func named(all []holder) string {
	slices.SortFunc(all, func(a, b holder) int { return a.pid - b.pid })
	var names []string
	for _, h := range all[:min(len(all), maxNamed)] {
		names = append(names, h.name+" (PID "+strconv.Itoa(h.pid)+")")
	}
	if more := len(all) - maxNamed; more > 0 {
		names = append(names, strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ")
}
