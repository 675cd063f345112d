package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errGone is a stream, or a consumer of one, that was there when the worker began and is no more. To work on without it makes
// no sense: lines, their order and where each process can be taken up begin anew.
var errGone = errors.New("is gone")

// lookPause is the time between two looks for what is gone.
const lookPause = time.Second

// check asks the server for the streams. The error is errGone where one does not exist, or is another one of its name.
func (s *streams) check(ctx context.Context, js jetstream.JetStream) error {
	for _, was := range s.all {
		name := was.CachedInfo().Config.Name
		is, err := js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound) || err == nil && !is.CachedInfo().Created.Equal(was.CachedInfo().Created):
			return fmt.Errorf("stream %s %w: a worker that starts now creates it anew", name, errGone)
		case err != nil:
			return fmt.Errorf("look for stream %s: %w", name, err)
		}
	}
	return nil
}

// failed tells that something of a partition has failed, perhaps because it is gone. Nobody waits for the answer.
func (w *worker) failed(partition int) {
	select {
	case w.failures <- partition:
	default: // it is being looked for
	}
}

// look finds out whether what has failed is gone, until the end of ctx or until it is. The error is errGone then.
func (w *worker) look(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case partition := <-w.failures:
			if err := w.missing(ctx, partition); errors.Is(err, errGone) {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookPause):
		}
	}
}

// missing looks for all that a partition needs.
func (w *worker) missing(ctx context.Context, partition int) error {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	if err := w.streams.check(ctx, w.js); err != nil {
		return err
	}
	name := w.opt.Durable + "-" + strconv.Itoa(partition)
	_, err := w.streams.in.Consumer(ctx, name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return fmt.Errorf("consumer %s %w: a worker that starts now creates it anew", name, errGone)
	}
	return err
}
