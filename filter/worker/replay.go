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

// replay reads the lines of a subject from a sequence on, in their order, until each is false. It gives up with an error
// where the line until does not come, unless that has aged out of the stream.
func (s *streams) replay(ctx context.Context, subject string, from, until uint64, each func(*line) (more bool, err error)) error {
	c, err := s.in.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject},
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), InactiveThreshold: replayForgets})
	if err != nil {
		return fmt.Errorf("read %s again: %w", subject, err)
	}
	messages, err := c.Messages(jetstream.PullMaxMessages(replayAhead))
	if err != nil {
		return fmt.Errorf("read %s again: %w", subject, err)
	}
	defer func() {
		messages.Stop()
		if info := c.CachedInfo(); info != nil {
			_ = s.in.DeleteConsumer(ctx, info.Name) // or the server forgets it
		}
	}()
	for ctx.Err() == nil {
		m, err := messages.Next(jetstream.NextMaxWait(replayWait))
		if errors.Is(err, nats.ErrTimeout) {
			info, failed := s.in.Info(ctx)
			if failed == nil && info.State.FirstSeq > until {
				return nil
			}
			err = errors.Join(err, failed)
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w", subject, err)
		}
		l, _, err := lineOf(m)
		if err != nil {
			return err
		}
		if more, err := each(l); err != nil || !more {
			return err
		}
	}
	return ctx.Err()
}

// lineOf gives the line that a message is.
func lineOf(m jetstream.Msg) (*line, *jetstream.MsgMetadata, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, nil, fmt.Errorf("message of %s: %w", m.Subject(), err)
	}
	return &line{seq: meta.Sequence.Stream, subject: m.Subject(), data: m.Data(), part: m.Headers().Get(headerPart) != "",
		last: meta.NumPending == 0, stored: meta.Timestamp}, meta, nil
}
