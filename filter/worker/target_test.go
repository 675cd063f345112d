package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter"
)

// TestSmallMessages sends lines longer than the messages of a stream: they travel in parts.
func TestSmallMessages(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LOGS", Subjects: []string{"logs.>"}, AllowAtomicPublish: true, MaxMsgSize: leastPart})
	if err != nil {
		t.Fatal(err)
	}
	log := "short\n" + strings.Repeat("long ", 1000) + "\nend"
	publish(t, url, "1", log)
	if got := stored(t, js); got != log {
		t.Errorf("%d bytes are stored, of %d", len(got), len(log))
	}
}

// TestTarget holds that streams that can never take what is published are refused at the start.
func TestTarget(t *testing.T) {
	_, url := broker(t, brokerOptions{})
	js := client(t, url)
	for _, c := range []jetstream.StreamConfig{
		{Name: "PLAIN", Subjects: []string{"plain.>"}},
		{Name: "OTHER", Subjects: []string{"other.>", "logs.*"}, AllowAtomicPublish: true},
		{Name: "SMALL", Subjects: []string{"small.>"}, AllowAtomicPublish: true, MaxMsgSize: leastPart - 1},
	} {
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ stream, subject, want string }{
		{"PLAIN", "plain", "want atomic publishing"},
		{"OTHER", "logs", "stream OTHER cannot be used: its subjects are other.>, logs.*, and none of logs."},
		{"SMALL", "small", "it accepts messages of at most 767 bytes: want max_msg_size "},
	} {
		o := publishOptions(url, strings.NewReader("line\n"))
		o.Stream, o.Subject = c.stream, c.subject+".{host}.{pid}"
		if err := Publish(t.Context(), o); !errors.Is(err, errUnfit) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("publish to %s: %v", c.stream, err)
		}
		w := Options{Connection: Connection{URLs: url, Stderr: io.Discard}, Stream: "LOGS", In: "in.>", Out: c.subject + ".>", OutStream: c.stream,
			Durable: "d", Partitions: 2, Replicas: 1, Filters: 1, Filter: filter.Options{Symbols: offsets{}}}
		if c.stream == "OTHER" { // which has some of logs.>
			w.Out = "annotated.>"
		}
		if err := Run(t.Context(), w); !errors.Is(err, errUnfit) || !strings.Contains(err.Error(), c.want[:strings.LastIndex(c.want, " ")]) {
			t.Errorf("work for %s: %v", c.stream, err)
		}
	}
}

// TestInsist holds that what servers do not know yet is asked again, and that what they say counts.
func TestInsist(t *testing.T) {
	late := []error{context.DeadlineExceeded, nats.ErrTimeout, nats.ErrReconnectBufExceeded, &jetstream.APIError{Code: 503, ErrorCode: errNotAvailable},
		&jetstream.APIError{Code: 400, ErrorCode: errNoPeers}}
	for _, last := range []error{nil, jetstream.ErrStreamNotFound, jetstream.ErrJetStreamNotEnabled, errUnfit, context.Canceled} {
		asked := 0
		if last != nil {
			late = nil
		}
		n, err := insist(t.Context(), slog.New(slog.DiscardHandler), func(context.Context) (int, error) {
			if asked++; asked <= len(late) {
				return 0, fmt.Errorf("ask: %w", late[asked-1])
			}
			return asked, last
		})
		if n != len(late)+1 || err != last {
			t.Errorf("%v: asked %d times: %v", last, n, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := insist(ctx, slog.New(hook(func(slog.Record) { cancel() })), func(context.Context) (int, error) { return 0, nats.ErrTimeout })
	if !errors.Is(err, nats.ErrTimeout) {
		t.Errorf("at the end: %v", err)
	}
}
