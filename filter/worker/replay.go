package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// How a stream is read again: at most so many lines in advance; a server may forget a reader that is silent for so long, and
// one that has nothing to say for replayWait has nothing left.
const (
	replayAhead   = 500
	replayForgets = 30 * time.Second
	replayWait    = 5 * time.Second
)

// What keeps a stream from being read again.
var (
	errSilent = errors.New("no more lines come")
	errMissed = errors.New("lines have not come")
)

// replay reads the lines of a subject from a sequence on, in their order, until each is false. It gives up with an error
// where the line until does not come, unless that has aged out of the stream.
func (s *streams) replay(ctx context.Context, nc *nats.Conn, subject string, from, until uint64, each func(*line) (more bool, err error)) error {
	c, err := s.in.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), InactiveThreshold: replayForgets,
		MemoryStorage: true, Replicas: 1})
	if err != nil {
		return fmt.Errorf("read %s again: %w", subject, err)
	}
	name := c.CachedInfo().Name
	defer func() { _ = s.in.DeleteConsumer(ctx, name) }() // or the server forgets it
	a, err := ask(nc, c.CachedInfo().Stream, name, "", replayAhead)
	if err != nil {
		return err
	}
	defer a.end()
	r := reader{asking: a, share: s.share()}
	for {
		m, err := r.next(ctx)
		if errors.Is(err, errSilent) {
			info, failed := s.in.Info(ctx)
			if failed == nil && info.State.FirstSeq > until {
				return nil
			}
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w", subject, err)
		}
		l, meta, err := lineOf(m)
		if err != nil {
			return err
		}
		if r.number++; meta.Sequence.Consumer != r.number {
			return fmt.Errorf("read %s again: %w", subject, errMissed)
		}
		if more, err := each(l); err != nil || !more {
			return err
		}
	}
}

// reader reads what a consumer has, somewhat in advance.
type reader struct {
	*asking
	share  int // bytes that are read in advance
	ready  []*nats.Msg
	size   int    // of these, in bytes
	number uint64 // of the last delivery that was looked at
}

// next returns the next message. The error is errSilent where none comes for replayWait.
func (r *reader) next(ctx context.Context) (*nats.Msg, error) {
	silent := time.NewTimer(replayWait)
	defer silent.Stop()
	for {
		if !r.open && len(r.ready) < replayAhead/2 && r.size < r.share/2 && !(r.long && len(r.ready) > 0) {
			n, bytes := replayAhead, r.share-r.size
			if r.long {
				n, bytes = 1, 0
			}
			if err := r.request(n, bytes, replayWait); err != nil {
				return nil, err
			}
		}
		var over, end <-chan time.Time
		if len(r.ready) == 0 {
			end = silent.C
			if r.open {
				over = r.late
			}
		} else if len(r.arrived) == 0 {
			m := r.ready[0]
			r.ready[0], r.ready = nil, r.ready[1:]
			r.size -= m.Size()
			return m, nil
		}
		select {
		case m := <-r.arrived:
			is, err := r.see(m)
			if err != nil {
				return nil, err
			}
			if is {
				r.ready, r.size = append(r.ready, m), r.size+m.Size()
			}
		case <-over: // it was lost
			r.open = false
		case <-end:
			return nil, errSilent
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lineOf returns the line that a message is.
func lineOf(m *nats.Msg) (*line, *nats.MsgMetadata, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, nil, fmt.Errorf("message of %s: %w", m.Subject, err)
	}
	return &line{seq: meta.Sequence.Stream, subject: m.Subject, data: m.Data, part: m.Header.Get(headerPart) != "",
		last: meta.NumPending == 0, stored: meta.Timestamp}, meta, nil
}
