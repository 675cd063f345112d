package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Sizes of messages. A server must take leastPayload, and so must a stream of annotated lines, whose pieces stay together in one
// batch; a stream of lines leastPart, since parts of a line are messages like others. headerRoom of it is for headers: less than
// 520 bytes even where a stream's name has the 255 characters that it may have.
const (
	leastPayload = 64 << 10
	leastPart    = headerRoom + 224
	headerRoom   = 544
)

// target holds that messages under a subject can be stored in a stream, and gives the longest text that one can have.
func target(nc *nats.Conn, stream jetstream.Stream, subject string, least int) (limit int, err error) {
	config := stream.CachedInfo().Config
	tokens := strings.Split(subject, ".")
	limit = int(nc.MaxPayload())
	if limit < leastPayload {
		return 0, fmt.Errorf("the server takes messages of %d bytes at most: want max_payload %d or more", limit, leastPayload)
	}
	if size := int(config.MaxMsgSize); size > 0 {
		limit = min(limit, size)
	}
	switch {
	case !config.AllowAtomicPublish:
		err = fmt.Errorf("want atomic publishing (nats stream edit %s --allow-batch)", config.Name)
	case limit < least:
		err = fmt.Errorf("it takes messages of %d bytes at most: want max_msg_size %d or more", limit, least)
	case !slices.ContainsFunc(config.Subjects, func(s string) bool { return overlap(strings.Split(s, "."), tokens) }):
		err = fmt.Errorf("its subjects are %s, and none of %s", strings.Join(config.Subjects, ", "), subject)
	}
	if err != nil {
		return 0, fmt.Errorf("stream %s %w: %w", config.Name, errUnfit, err)
	}
	return limit - headerRoom, nil
}

// insist asks servers for something, again while they cannot tell: those of a cluster that begins are without a leader for a
// while, which answers nothing, and then without the others. They get more time with each try.
func insist[T any](ctx context.Context, log *slog.Logger, ask func(context.Context) (T, error)) (T, error) {
	for pause, wait := retryPause, askWait; ; pause, wait = min(2*pause, maxRetryPause), 2*wait {
		try, cancel := context.WithTimeout(ctx, wait)
		answer, err := ask(try)
		cancel()
		if err == nil || !beginning(err) || ctx.Err() != nil {
			return answer, err
		}
		log.Warn("wait for JetStream", "error", err)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return answer, err
		}
	}
}

// beginning tells the errors of servers that are about to begin.
func beginning(err error) bool {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok {
		return api.ErrorCode == errNotAvailable || api.ErrorCode == errNoPeers
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrReconnectBufExceeded)
}

// What a cluster says that has no leader, and one with less servers than are to keep something (nats-server, errors.json).
const (
	errNotAvailable = 10008
	errNoPeers      = 10005
)
