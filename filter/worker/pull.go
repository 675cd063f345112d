package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// puller asks for the lines of a partition, ahead of those who take them. It goes on asking, for fewer bytes than any line has,
// while nobody takes any: a server gives the partition to another worker when it hears nothing.
type puller struct {
	asking *asking
	share  int // bytes of lines that may lie here
	log    *slog.Logger
	lines  chan []*nats.Msg
	lost   chan struct{} // told when another worker has got the partition
	rest   chan struct{} // told when another worker should have it
	rested chan struct{} // told then, once all that has come is taken
	failed func()        // told that the server could not be asked
}

const (
	// pullLines is how many lines are asked for at once, and pullAhead how many that lie there are enough.
	pullLines = 256
	pullAhead = 256
	// pullPause is how long a server that cannot be asked is left alone, and pullRest how long others may take the partition.
	pullPause = 200 * time.Millisecond
	pullRest  = 2 * time.Second
)

func newPuller(a *asking, share int, log *slog.Logger, failed func()) *puller {
	return &puller{a, share, log, make(chan []*nats.Msg), make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}), failed}
}

// run asks until the end of ctx.
func (p *puller) run(ctx context.Context) {
	defer close(p.lines)
	a := p.asking
	defer a.end()
	var ready []*nats.Msg
	size := 0 // of these, in bytes
	late := time.NewTicker(pullWait)
	defer late.Stop()
	isLate := false
	rest := false                         // ask no more
	var resting, pausing <-chan time.Time // until when
	see := func(m *nats.Msg) {
		is, err := a.see(m)
		switch {
		case is:
			ready, size = append(ready, m), size+m.Size()
		case errors.Is(err, errPin):
			select {
			case p.lost <- struct{}{}:
			default: // it is known already
			}
		case err != nil:
			pausing = p.pause(err)
		}
	}
	for {
		enough := len(ready) >= pullAhead || size >= p.share/2 || a.long && len(ready) > 0
		if !a.open && !rest && pausing == nil && (!enough || isLate) {
			n, bytes := pullLines, p.share-size
			switch {
			case enough: // no line is as short as that
				n, bytes = 1, 1
			case a.long:
				n, bytes = 1, 0
			}
			if err := a.request(n, bytes, pullWait); err != nil {
				pausing = p.pause(err)
			}
			isLate = false
		}
		var give chan<- []*nats.Msg
		if len(ready) > 0 {
			give = p.lines
		}
		var rested chan<- struct{}
		if rest && resting == nil && !a.open && len(ready) == 0 {
			rested = p.rested
		}
		var over <-chan time.Time
		if a.open {
			over = a.late
		}
		select {
		case <-ctx.Done():
			return
		case give <- ready:
			ready, size = nil, 0
		case m := <-a.arrived:
			see(m)
			for more := true; more; { // what is there at once is one piece
				select {
				case m := <-a.arrived:
					see(m)
				default:
					more = false
				}
			}
		case <-over: // it was lost
			a.open = false
		case <-pausing:
			pausing = nil
		case <-p.rest:
			rest = true
		case rested <- struct{}{}:
			resting = time.After(pullRest)
		case <-resting:
			rest, resting = false, nil
		case <-late.C:
			isLate = true
		}
	}
}

// pause takes note of a server that cannot be asked, and returns when it can be asked again.
func (p *puller) pause(err error) <-chan time.Time {
	p.log.Warn("pull lines", "error", err)
	p.failed()
	return time.After(pullPause)
}
