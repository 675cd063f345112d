package child

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// Forever as Options.Linger waits until the last process that holds the output has closed it.
	Forever time.Duration = math.MaxInt64
	// DefaultLinger is long enough for the last words of what ends together with the command.
	DefaultLinger = 2 * time.Second
)

const (
	// patience is the time after which it is said what is waited for; where the wait is brief by itself it comes on top of that.
	patience = time.Second
	brief    = 10 * time.Second
	// again is how soon an output that is being passed on is looked at again at least.
	again = 10 * time.Millisecond
)

// epoch is what clock counts from: times of the monotonic clock fit in an atomic integer so.
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

// sayAfter is how long after the command's end it is said what is waited for.
func (l *lingering) sayAfter() time.Duration {
	if o := l.o.Linger; o <= brief {
		return o + patience
	}
	return patience
}

// look reports whether the wait is over, after telling so, and otherwise sets the timer.
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

// say says which processes hold the output.
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

// ended is the time since which an output waits that has come to its end.
const ended time.Duration = -1

// remaining returns how much of the silence is left, of outputs that wait for more since the given times: 0 for one that is being
// passed on, which is no silence however long that takes.
func remaining(linger, now, begin time.Duration, waits []time.Duration) time.Duration {
	for _, since := range waits {
		if since == 0 {
			return linger
		}
		begin = max(begin, since)
	}
	return linger - max(0, now-begin) // another one may have begun to wait since
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
