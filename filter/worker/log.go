package worker

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// newLog gives the logger of diagnostics: lines of JSON, or `qss-filter: message name=value`.
func newLog(out io.Writer, asJSON bool) *slog.Logger {
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, nil))
	}
	return slog.New(&plainHandler{mu: &sync.Mutex{}, out: out})
}

// plainHandler writes what a person reads.
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

// WithAttrs gives a handler that adds attrs to every line.
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
