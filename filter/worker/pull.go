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

// puller requests the lines of a partition in advance. While none are taken, it continues with requests for fewer bytes than any line
// has, because a server assigns the partition to another worker when it receives no requests.
type puller struct {
	asking *asking
	share  int // bytes of lines that may wait here
	log    *slog.Logger
	lines  chan []*nats.Msg
	lost   chan struct{} // signaled when another worker has got the partition
	rest   chan struct{} // signaled when another worker should get it
	rested chan struct{} // signaled after that, when all received lines are taken
	failed func()        // called when a request failed
}

const (
	// pullLines is how many lines a request asks for, and pullAhead how many waiting lines are enough.
	pullLines = 256
	pullAhead = 256
	// pullPause is the pause after a failed request, and pullRest the time in which other workers may take the partition.
	pullPause = 200 * time.Millisecond
	pullRest  = 2 * time.Second
)

func newPuller(a *asking, share int, log *slog.Logger, failed func()) *puller {
	return &puller{a, share, log, make(chan []*nats.Msg), make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}), failed}
}

// run requests lines until the end of ctx.
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
			default: // signaled already
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
			case enough: // shorter than any line
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
			for more := true; more; { // lines that are there together form one piece
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

// pause reports a failed request, and returns a channel that is signaled at the time of the next one.
func (p *puller) pause(err error) <-chan time.Time {
	p.log.Warn("pull lines", "error", err)
	p.failed()
	return time.After(pullPause)
}

// asking requests messages from a consumer, bounded by number and bytes, with one request at a time. The caller must receive messages
// from arrived and pass them to see. All requests share one subscription, so that late messages are not lost.
//
// Only messages have a reply subject; it distinguishes them from a server's status of a request. Headers of messages may have any values.
type asking struct {
	nc    *nats.Conn
	next  string // the subject for requests
	group string // of those that share it; "" for none
	pin   string // identifies the member that gets messages
	inbox string
	sub   *nats.Subscription
	// arrived receives what the server sends.
	arrived chan *nats.Msg
	// open is set while the last request may get more, up to number messages and bytes, until late.
	open        bool
	number      int
	left, bytes int
	late        <-chan time.Time
	// long is set if it got nothing because the next message is too long for it; got counts its messages.
	long bool
	got  int
}

const (
	// headerPin is the header with a client's pin, after all others.
	headerPin = "Nats-Pin-Id"
	// lateAnswer is how long after a request's end its status may arrive.
	lateAnswer = time.Second
)

// errPin is the answer to a request of a worker that does not have the pin any more.
var errPin = errors.New("another worker has the partition")

// ask subscribes for requests to a consumer, for at most most messages at once.
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

// request requests n messages of at most so many bytes together, 0 for any number, within wait.
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

// see handles what has arrived. It reports whether that is a message; a server's status of a request may be an error.
func (a *asking) see(m *nats.Msg) (isMessage bool, err error) {
	if m.Reply != "" {
		if pins := m.Header[headerPin]; len(pins) > 0 {
			a.pin = pins[len(pins)-1]
		}
		a.got++
		a.left--
		if a.bytes > 0 {
			if a.bytes -= m.Size(); a.bytes <= 0 { // the server counts slightly less
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
	if status == "100" { // a heartbeat
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

// PublishOptions are the options of Publish.
type PublishOptions struct {
	Connection
	// Subject is the subject of lines, with {host} and {pid} in it.
	Subject string
	// Stream, if not "", is created with the wildcards of Subject if it does not exist.
	Stream string
	// Host and PID are for lines whose prefix does not name them; Host "" is this machine.
	Host, PID string
	// Partitions and Replicas are those of a stream that is created.
	Partitions, Replicas int
	// Stdin is the log.
	Stdin io.Reader
	// Asked, if not nil, is closed to ask for the end; Publish then ends at the end of the log.
	Asked <-chan struct{}
}

// Publish sends a log to a stream, line by line, in the order of the log. It does not read a line before there is room for
// it. The end of ctx counts as the end of the log. Lines that the server does not accept are sent again until the end is asked
// for; the error then says how many are not stored.
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

// shipWait bounds the time in which lines are sent again after the end was asked for.
const shipWait = 20 * time.Second

// check checks the options, and returns the pattern of all subjects of lines.
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
