package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// puller asks for the lines of a partition, ahead of those who take them. It goes on asking, for one line at a time, while
// nobody takes any: a server gives the partition to another worker when it hears nothing.
type puller struct {
	consumer jetstream.Consumer
	log      *slog.Logger
	lines    chan []jetstream.Msg
	lost     chan struct{} // told when another worker has got the partition
	rest     chan struct{} // told when another worker should have it
	rested   chan struct{} // told then, once all that has come is taken
	failed   func()        // told that the server could not be asked
}

const (
	// pullLines is how many lines are asked for at once, and pullAhead how many that lie there are enough.
	pullLines = 256
	pullAhead = 256
	// pullPause is how long a server that cannot be asked is left alone, and pullRest how long others may take the partition.
	pullPause = 200 * time.Millisecond
	pullRest  = 2 * time.Second
)

func newPuller(c jetstream.Consumer, log *slog.Logger, failed func()) *puller {
	return &puller{c, log, make(chan []jetstream.Msg), make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}), failed}
}

// run asks until the end of ctx.
func (p *puller) run(ctx context.Context) {
	defer close(p.lines)
	var ready []jetstream.Msg
	pulled := make(chan []jetstream.Msg)
	asked := make(chan int) // how many lines to ask for
	go p.ask(ctx, asked, pulled)
	defer close(asked)
	asking := false
	late := time.NewTicker(pullWait)
	defer late.Stop()
	isLate := false
	rest := false                // ask no more
	var resting <-chan time.Time // until when
	for {
		var ask chan<- int
		n := pullLines
		if !asking && !rest && (len(ready) < pullAhead || isLate) {
			ask = asked
			if len(ready) >= pullAhead {
				n = 1
			}
		}
		var give chan<- []jetstream.Msg
		if len(ready) > 0 {
			give = p.lines
		}
		var rested chan<- struct{}
		if rest && resting == nil && !asking && len(ready) == 0 {
			rested = p.rested
		}
		select {
		case <-ctx.Done():
			return
		case ask <- n:
			asking, isLate = true, false
		case give <- ready:
			ready = nil
		case some, ok := <-pulled:
			if !ok {
				return
			}
			asking = len(some) > 0 // nothing ends what was asked for
			ready = append(ready, some...)
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

// ask fetches what run asks for. What is there at once is one piece; a wait for more would hold it up.
func (p *puller) ask(ctx context.Context, asked <-chan int, pulled chan<- []jetstream.Msg) {
	defer close(pulled)
	for n := range asked {
		batch, err := p.consumer.Fetch(n, jetstream.FetchMaxWait(pullWait), jetstream.FetchPriorityGroup(group))
		for err == nil {
			var some []jetstream.Msg
			m, ok := <-batch.Messages()
			if !ok {
				err = batch.Error()
				break
			}
			for ok {
				some = append(some, m)
				select {
				case m, ok = <-batch.Messages():
				default:
					ok = false
				}
			}
			select {
			case pulled <- some:
			case <-ctx.Done():
				return
			}
		}
		switch {
		case errors.Is(err, jetstream.ErrPinIDMismatch):
			select {
			case p.lost <- struct{}{}:
			default: // it is known already
			}
		case err != nil && ctx.Err() == nil:
			p.log.Warn("pull lines", "error", err)
			p.failed()
			select {
			case <-time.After(pullPause):
			case <-ctx.Done():
				return
			}
		}
		select {
		case pulled <- nil:
		case <-ctx.Done():
			return
		}
	}
}
