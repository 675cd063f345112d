package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// newLog returns the logger of diagnostics: lines of JSON, or `qss-filter: message name=value`.
func newLog(out io.Writer, asJSON bool) *slog.Logger {
	if asJSON {
		return slog.New(&seldomHandler{slog.NewJSONHandler(out, nil), &said{}})
	}
	return slog.New(&seldomHandler{&plainHandler{mu: &sync.Mutex{}, out: out}, &said{}})
}

// Tell writes what ended a part of a fleet to its log.
func (c *Connection) Tell(err error) { newLog(c.Stderr, c.LogJSON).Error(err.Error()) }

// seldomHandler leaves out faults that were reported already: what tries again, all partitions at once, has nothing new to say.
type seldomHandler struct {
	slog.Handler
	said *said
}

// said are the faults that were reported since another one was, and when.
type said struct {
	mu   sync.Mutex
	when map[fault]time.Time
}

// fault is a message and what the matter is at bottom.
type fault struct{ message, cause string }

// sayAgain is how long a fault is not reported again.
const sayAgain = time.Minute

// Handle writes one line, if it is news.
func (h *seldomHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.said.before(&r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// before reports whether a record is about a fault that was reported a short time ago, or about the want of a connection, of which
// the connection itself has reported.
func (s *said) before(r *slog.Record) bool {
	f := fault{message: r.Message}
	r.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		for ; err != nil; err = errors.Unwrap(err) {
			f.cause = err.Error()
		}
		return true
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.cause == "" {
		clear(s.when)
		return false
	}
	if f.cause == nats.ErrReconnectBufExceeded.Error() {
		return true
	}
	last, ok := s.when[f]
	if ok && r.Time.Sub(last) < sayAgain {
		return true
	}
	if s.when == nil {
		s.when = map[fault]time.Time{}
	}
	s.when[f] = r.Time
	return false
}

// WithAttrs returns a handler that adds attrs to every line.
func (h *seldomHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &seldomHandler{h.Handler.WithAttrs(attrs), h.said}
}

// WithGroup returns a handler that puts the attrs of every line in a group.
func (h *seldomHandler) WithGroup(name string) slog.Handler {
	return &seldomHandler{h.Handler.WithGroup(name), h.said}
}

// plainHandler writes lines for people.
type plainHandler struct {
	mu    *sync.Mutex
	out   io.Writer
	attrs string
}

// Enabled leaves out what is for the eyes of a debugger.
func (h *plainHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle writes one line.
func (h *plainHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString("qss-filter: " + r.Message + h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		writeAttr(&b, a)
		return true
	})
	b.WriteByte('\n')
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(h.out, b.String())
	return err
}

// WithAttrs returns a handler that adds attrs to every line.
func (h *plainHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	b.WriteString(h.attrs)
	for _, a := range attrs {
		writeAttr(&b, a)
	}
	return &plainHandler{h.mu, h.out, b.String()}
}

// WithGroup leaves groups out.
func (h *plainHandler) WithGroup(string) slog.Handler { return h }

func writeAttr(b *strings.Builder, a slog.Attr) {
	value := a.Value.String()
	if strings.ContainsAny(value, " \t\r\n\"") {
		value = fmt.Sprintf("%q", value)
	}
	b.WriteString(" " + a.Key + "=" + value)
}
