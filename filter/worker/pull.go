package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
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

// PublishOptions say what a shipper does.
type PublishOptions struct {
	Connection
	// Subject is that of lines, with {host} and {pid} in it.
	Subject string
	// Stream, if not "", is created under the wildcards of Subject where it does not exist.
	Stream string
	// Host and PID stand for what a line's prefix does not name; Host "" is this machine.
	Host, PID string
	// Partitions and Replicas are those of a stream that is created.
	Partitions, Replicas int
	// Stdin is the log.
	Stdin io.Reader
	// Asked, if not nil, is closed to ask for the end, which comes with that of the log.
	Asked <-chan struct{}
}

// Publish sends a log to a stream, line by line: each arrives, in the order of the log, and is not read before there is room for
// it. The end of ctx is taken for the end of the log. Lines that the server does not take are sent again until the end is asked
// for; then the error says how many are not stored.
func Publish(ctx context.Context, o PublishOptions) error {
	log := newLog(o.Stderr, o.LogJSON)
	if o.Host == "" {
		name, err := os.Hostname()
		if err != nil {
			return fmt.Errorf("find this machine's name: %w", err)
		}
		o.Host = name
	}
	all, err := o.check()
	if err != nil {
		return err
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	start, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	nc, js, err := o.connect(start, "qss-filter publish on "+o.Host, log, lost)
	if err != nil {
		return err
	}
	defer nc.Close()
	stream, err := insist(start, log, func(ctx context.Context) (jetstream.Stream, error) {
		return openStream(ctx, js, log, jetstream.StreamConfig{Name: o.Stream, Subjects: []string{all.wildcard()},
			SubjectTransform: &jetstream.SubjectTransformConfig{Source: all.wildcard(), Destination: all.partitioned(o.Partitions)},
			AllowDirect:      true, AllowAtomicPublish: true, Replicas: o.Replicas, Duplicates: duplicateWindow})
	})
	if err != nil {
		return err
	}
	limit, err := target(nc, stream, o.filled("*", "*"), leastPart)
	if err != nil {
		return err
	}
	asked, ask := context.WithCancel(ctx)
	defer ask()
	go func() {
		select {
		case <-o.Asked:
			ask()
		case <-asked.Done():
		}
	}()
	s := &shipper{opt: &o, nc: nc, log: log, session: nuid.Next(), limit: limit, asked: asked.Done(), wait: shipWait}
	err = s.run(ctx)
	if nc.IsClosed() {
		err = errors.Join(err, closed(nc))
	}
	return err
}

// shipWait is how long lines are sent again once the end was asked for.
const shipWait = 20 * time.Second

// check returns the pattern of all subjects that lines may have.
func (o *PublishOptions) check() (all pattern, err error) {
	fixed, _, _ := strings.Cut(o.Subject, "{")
	one := o.filled("h", "p")
	if all, err = parsePattern(one + ".*"); err != nil || one == o.Subject || !strings.HasSuffix(fixed, ".") || strings.ContainsAny(one, "*>{}") {
		return all, wrong("Subject", o.Subject, "want a subject such as logs.{host}.{pid}")
	}
	if o.Partitions < 1 || o.Partitions > maxPartitions {
		return all, wrong("Partitions", "", "want 1 to 1024")
	}
	if o.Replicas < 1 {
		return all, wrong("Replicas", "", "want a positive value")
	}
	return parsePattern(fixed + ">")
}

// filled returns the subject of a process.
func (o *PublishOptions) filled(host, pid string) string {
	return strings.ReplaceAll(strings.ReplaceAll(o.Subject, "{host}", host), "{pid}", pid)
}
