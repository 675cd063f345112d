package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// puller asks for the lines of a partition, ahead of those that take them. It goes on asking, for fewer bytes than any line has,
// while none are taken: a server gives the partition to another worker when it hears nothing.
type puller struct {
	asking *asking
	share  int // bytes of lines that may lie here
	log    *slog.Logger
	lines  chan []*nats.Msg
	lost   chan struct{} // signaled when another worker has got the partition
	rest   chan struct{} // signaled when another worker should have it
	rested chan struct{} // signaled then, once all that has come is taken
	failed func()        // called when the server could not be asked
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

// asking asks a consumer for messages, by their number and their bytes at once, with one request at a time. What comes is to be received
// from arrived and given to see. All requests share one subscription: what comes late comes nevertheless.
//
// A message is distinguished from what a server says of a request by its reply, which only messages have: their headers may be anything.
type asking struct {
	nc    *nats.Conn
	next  string // the subject that the consumer is asked under
	group string // of those that share it; "" for none
	pin   string // by which the server knows the one of them that gets messages
	inbox string
	sub   *nats.Subscription
	// arrived has what the server has sent.
	arrived chan *nats.Msg
	// open is set while more may come of the last request, of which number, messages and bytes are left, until late.
	open        bool
	number      int
	left, bytes int
	late        <-chan time.Time
	// long is set where nothing came of it since the next message is longer than it allowed; got counts what has come of it.
	long bool
	got  int
}

const (
	// headerPin is the header by which a server names a client's pin, after all others.
	headerPin = "Nats-Pin-Id"
	// lateAnswer is how much longer than a request lasts its end may take to be heard of.
	lateAnswer = time.Second
)

// errPin is the answer to a request of a worker that does not have the pin any more.
var errPin = errors.New("another worker has the partition")

// ask begins to ask a consumer, for at most most messages at once.
func ask(nc *nats.Conn, stream, consumer, group string, most int) (*asking, error) {
	a := &asking{nc: nc, next: "$JS.API.CONSUMER.MSG.NEXT." + stream + "." + consumer, group: group, inbox: nc.NewInbox(),
		arrived: make(chan *nats.Msg, 4*most)}
	var err error
	a.sub, err = nc.ChanSubscribe(a.inbox+".*", a.arrived)
	if err != nil {
		return nil, fmt.Errorf("ask for lines: %w", err)
	}
	return a, nil
}

// request asks for n messages that have so many bytes together, 0 for any, and come within wait.
func (a *asking) request(n, bytes int, wait time.Duration) error {
	request, err := json.Marshal(struct {
		Batch    int           `json:"batch"`
		MaxBytes int           `json:"max_bytes,omitempty"`
		Expires  time.Duration `json:"expires"`
		Group    string        `json:"group,omitempty"`
		Pin      string        `json:"id,omitempty"`
	}{n, bytes, wait, a.group, a.pin})
	if err != nil {
		return err
	}
	a.number++
	if err := a.nc.PublishRequest(a.next, a.inbox+"."+strconv.Itoa(a.number), request); err != nil {
		return err
	}
	a.open, a.left, a.bytes, a.long, a.got, a.late = true, n, bytes, false, 0, time.After(wait+lateAnswer)
	return nil
}

// see looks at what has arrived. It reports whether that is a message; what a server says of a request may be an error.
func (a *asking) see(m *nats.Msg) (isMessage bool, err error) {
	if m.Reply != "" {
		if pins := m.Header[headerPin]; len(pins) > 0 {
			a.pin = pins[len(pins)-1]
		}
		a.got++
		a.left--
		if a.bytes > 0 {
			if a.bytes -= m.Size(); a.bytes <= 0 { // of which the server counts a little less
				a.open = false
			}
		}
		a.open = a.open && a.left > 0
		return true, nil
	}
	if m.Subject != a.inbox+"."+strconv.Itoa(a.number) {
		return false, nil // of a request that is over
	}
	status, said := m.Header.Get("Status"), m.Header.Get("Description")
	if status == "100" { // it is still there
		return false, nil
	}
	a.open = false
	switch {
	case status == "423":
		a.pin = ""
		return false, errPin
	case status == "404", status == "408", strings.EqualFold(said, "Batch Completed"):
		return false, nil
	case strings.EqualFold(said, "Message Size Exceeds MaxBytes"):
		a.long = a.got == 0
		return false, nil
	}
	return false, fmt.Errorf("ask for lines: %s", strings.TrimSpace(status+" "+said))
}

// end ends all requests.
func (a *asking) end() { _ = a.sub.Unsubscribe() } // the connection may be gone
