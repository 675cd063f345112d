package worker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
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
		if err := w.stalled(ctx); err != nil {
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

// consumers asks for those of all partitions, by their numbers.
func (w *worker) consumers(ctx context.Context) (map[int]*jetstream.ConsumerInfo, error) {
	all := map[int]*jetstream.ConsumerInfo{}
	list := w.streams.in.ListConsumers(ctx)
	for info := range list.Info() {
		number, ok := strings.CutPrefix(info.Name, w.opt.Durable+"-")
		if n, err := strconv.Atoi(number); ok && err == nil && n < w.streams.partitions {
			all[n] = info
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("look at the partitions: %w", err)
	}
	for n := range w.streams.partitions {
		if all[n] == nil {
			return nil, fmt.Errorf("consumer %s-%d %w", w.opt.Durable, n, errGone)
		}
	}
	return all, nil
}

// waiting is how many lines of a partition are not annotated yet.
func waiting(info *jetstream.ConsumerInfo) int64 {
	return int64(info.NumPending) + int64(info.NumAckPending)
}

// stallAfter is how long lines of a partition may wait, beyond the time that text is held back, while none is done.
const stallAfter = 30 * time.Second

// stalls is what was seen of the partitions when they were last looked at.
type stalls struct {
	mu sync.Mutex
	of map[int]stall
}

// stall is a partition in which nothing has moved since a time.
type stall struct {
	floor uint64 // all lines up to it are done
	since time.Time
}

// stalled looks whether lines wait while none is done, in the partitions that this worker has and in those that none has. The error
// says where.
func (w *worker) stalled(ctx context.Context) error {
	infos, err := w.consumers(ctx)
	if err != nil {
		return err
	}
	now := w.now()
	w.stalls.mu.Lock()
	defer w.stalls.mu.Unlock()
	if w.stalls.of == nil {
		w.stalls.of = map[int]stall{}
	}
	for n, info := range infos {
		pinned := slices.ContainsFunc(info.PriorityGroups, func(g jetstream.PriorityGroupState) bool { return g.PinnedClientID != "" })
		before, seen := w.stalls.of[n]
		if !seen || waiting(info) == 0 || info.AckFloor.Stream != before.floor || pinned && !w.balance.isOurs(n) {
			w.stalls.of[n] = stall{info.AckFloor.Stream, now}
			continue
		}
		if took := now.Sub(before.since); took >= stallAfter+w.opt.Idle {
			return fmt.Errorf("partition %d: %d lines wait, and none was done for %v", n, waiting(info), took.Round(time.Second))
		}
	}
	return nil
}

// gauges asks for what is not counted.
func (w *worker) gauges(ctx context.Context) (g gauges) {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	g.lagKnown = true
	infos, err := w.consumers(ctx)
	g.lagKnown = err == nil
	for _, info := range infos {
		g.lag += waiting(info)
	}
	g.partitions, g.processes, g.memory, g.stuck = w.balance.ours(), w.held.Load(), w.memory.Load(), w.stuck.Load()
	if counter, ok := w.opt.Filter.Symbols.(cacheCounter); ok {
		g.cacheAsked, g.cached = counter.Hits()
		g.caching = true
	}
	return g
}
