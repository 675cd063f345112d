package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// cacheCounter is a source of symbols with a cache that counts.
type cacheCounter interface {
	// Hits gives how many questions the cache was asked, and how many it has answered.
	Hits() (asked, answered int64)
}

// askWait is how long the brokers may take to tell of the lag.
const askWait = 2 * time.Second

// serve answers for metrics and health at the address, until the end of ctx.
func (w *worker) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", w.opt.Metrics)
	if err != nil {
		return fmt.Errorf("serve metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_ = w.counts.write(rw, w.gauges(r.Context())) // nobody is there to be told
	})
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, r *http.Request) {
		if status := w.nc.Status(); status != nats.CONNECTED {
			http.Error(rw, "not connected to a broker: "+status.String(), http.StatusServiceUnavailable)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), askWait)
		defer cancel()
		if err := w.streams.check(ctx, w.js); err != nil {
			http.Error(rw, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(rw, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	w.log.Info("metrics", "address", listener.Addr().String())
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			w.log.Error("serve metrics", "error", err)
		}
	}()
	context.AfterFunc(ctx, func() { server.Close() })
	return nil
}

// gauges asks for what is not counted.
func (w *worker) gauges(ctx context.Context) (g gauges) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	g.lagKnown = true
	for n := range w.streams.partitions {
		c, err := w.streams.in.Consumer(ctx, w.opt.Durable+"-"+strconv.Itoa(n))
		if err != nil {
			g.lagKnown = false
			break
		}
		info := c.CachedInfo()
		g.lag += int64(info.NumPending) + int64(info.NumAckPending)
	}
	g.partitions, g.processes, g.stuck = w.balance.ours(), w.held.Load(), w.stuck.Load()
	if counter, ok := w.opt.Filter.Symbols.(cacheCounter); ok {
		g.cacheAsked, g.cached = counter.Hits()
		g.caching = true
	}
	return g
}
