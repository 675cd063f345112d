package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter/resolve"
	"qss-filter/symsrc"
)

// cacheCounter is a source of symbols with a cache that counts.
type cacheCounter interface {
	// Hits returns how many questions the cache was asked, and how many it has answered.
	Hits() (asked, answered int64)
}

// askWait is how long the brokers may take to report the lag.
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
		_ = w.counts.write(rw, w.gauges(r.Context())) // the reader is gone
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

// latencies are the upper bounds of the buckets of the latency, in seconds.
var latencies = [...]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// counts are what a worker has done since its start.
type counts struct {
	lines, bytes, restored, replayed, retries atomic.Int64

	mu     sync.Mutex
	raw    map[string]int64 // lines that left as they came, by the reason
	frames resolve.Tally
	// latency counts lines by the bucket that the time from their coming into the stream to their being stored lies in; the
	// last one has no bound.
	latency [len(latencies) + 1]int64
	seconds float64
}

// stored counts messages that are stored.
func (c *counts) stored(messages []message) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range messages {
		m := &messages[i]
		c.bytes.Add(int64(len(m.data)))
		if m.more {
			continue
		}
		c.lines.Add(1)
		if m.raw != "" {
			if c.raw == nil {
				c.raw = map[string]int64{}
			}
			c.raw[m.raw]++
		}
		took := now.Sub(m.stored).Seconds()
		bucket := 0
		for bucket < len(latencies) && took > latencies[bucket] {
			bucket++
		}
		c.latency[bucket]++
		c.seconds += took
	}
}

// tally counts the frames of a process since it was asked last, all of them in lines that are stored.
func (c *counts) tally(p *process) {
	if !p.fresh {
		return
	}
	now := p.filter.Tally()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Frames >= p.counted.Frames { // otherwise the filter has begun its memory again
		c.frames.Frames += now.Frames - p.counted.Frames
		c.frames.Unresolved += now.Unresolved - p.counted.Unresolved
		for i := range now.By {
			c.frames.By[i] += now.By[i] - p.counted.By[i]
		}
	}
	p.counted = now
}

// gauges are what is asked for when metrics are.
type gauges struct {
	lag                int64 // lines that are not annotated yet
	lagKnown           bool
	partitions         int
	processes, stuck   int64
	memory             int64
	cacheAsked, cached int64
	caching            bool
}

// write writes the metrics in the text format of Prometheus.
func (c *counts) write(out io.Writer, g gauges) error {
	c.mu.Lock()
	frames, latency, seconds, raw := c.frames, c.latency, c.seconds, maps.Clone(c.raw)
	c.mu.Unlock()
	var b strings.Builder
	metric := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	one := func(name, kind, help string, value int64) {
		metric(name, kind, help)
		fmt.Fprintf(&b, "%s %d\n", name, value)
	}
	one("qss_filter_lines_total", "counter", "Lines annotated and stored.", c.lines.Load())
	one("qss_filter_bytes_total", "counter", "Bytes of annotated lines stored.", c.bytes.Load())
	one("qss_filter_frames_total", "counter", "Stack frames met whose module is known.", int64(frames.Frames))
	one("qss_filter_resolved_total", "counter", "Frames that were given a name.", int64(frames.Frames-frames.Unresolved))
	metric("qss_filter_unresolved_total", "counter", "Frames without a name, by the status of their module's files.")
	for i, n := range frames.By {
		fmt.Fprintf(&b, "qss_filter_unresolved_total{status=%q} %d\n", symsrc.Status(i).String(), n)
	}
	metric("qss_filter_raw_lines_total", "counter", "Lines that could not be annotated and left as they came, by the reason.")
	for _, why := range []string{whyCrash, whyHang, whyPanic, whySize} {
		fmt.Fprintf(&b, "qss_filter_raw_lines_total{reason=%q} %d\n", why, raw[why])
	}
	one("qss_filter_hanging_lines", "gauge", "Lines that were given up and are still being annotated.", g.stuck)
	one("qss_filter_restored_total", "counter", "Processes whose state was restored from their log.", c.restored.Load())
	one("qss_filter_replayed_lines_total", "counter", "Lines read again for that.", c.replayed.Load())
	one("qss_filter_retries_total", "counter", "Pieces of work begun again, after another worker or a fault.", c.retries.Load())
	one("qss_filter_partitions", "gauge", "Partitions that this worker has.", int64(g.partitions))
	one("qss_filter_processes", "gauge", "Processes whose filters are in memory.", g.processes)
	one("qss_filter_processes_bytes", "gauge", "Bytes that they take, about.", g.memory)
	if g.lagKnown {
		one("qss_filter_lag_lines", "gauge", "Lines in the stream that are not acknowledged, of all partitions.", g.lag)
	}
	if g.caching {
		one("qss_filter_cache_requests_total", "counter", "Questions that the cache was asked.", g.cacheAsked)
		one("qss_filter_cache_hits_total", "counter", "Questions that the cache answered.", g.cached)
	}
	metric("qss_filter_latency_seconds", "histogram", "Time from a line's storage in the stream to that of its annotated form.")
	sum := int64(0)
	for i, bound := range latencies {
		sum += latency[i]
		fmt.Fprintf(&b, "qss_filter_latency_seconds_bucket{le=\"%g\"} %d\n", bound, sum)
	}
	sum += latency[len(latencies)]
	fmt.Fprintf(&b, "qss_filter_latency_seconds_bucket{le=\"+Inf\"} %d\nqss_filter_latency_seconds_sum %g\nqss_filter_latency_seconds_count %d\n", sum, seconds, sum)
	_, err := io.WriteString(out, b.String())
	return err
}
