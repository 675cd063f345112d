package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
)

// cacheCounter is a source of symbols with a cache that counts its hits.
type cacheCounter interface {
	// Hits returns how many queries the cache was asked, and how many it answered.
	Hits() (asked, answered int64)
}

// askWait bounds the time for the servers to report the lag.
const askWait = 2 * time.Second

// serve serves metrics and health at the address, until the end of ctx.
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
	answer := func(path string, check func(context.Context) error) {
		mux.HandleFunc("GET "+path, func(rw http.ResponseWriter, r *http.Request) {
			ctx, cancel := context.WithTimeout(r.Context(), askWait)
			defer cancel()
			if err := check(ctx); err != nil {
				http.Error(rw, err.Error(), http.StatusServiceUnavailable)
				return
			}
			fmt.Fprintln(rw, "ok")
		})
	}
	answer("/readyz", w.ready)
	answer("/healthz", func(ctx context.Context) error {
		if err := w.ready(ctx); err != nil {
			return err
		}
		return w.stalled(ctx)
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

// ready returns an error unless the worker can take lines: it is connected, and its streams are there.
func (w *worker) ready(ctx context.Context) error {
	if status := w.nc.Status(); status != nats.CONNECTED {
		return errors.New("not connected to a broker: " + status.String())
	}
	return w.streams.check(ctx, w.js)
}

// consumers returns the consumers of all partitions, by their numbers.
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

// waiting returns how many lines of a partition are not annotated yet.
func waiting(info *jetstream.ConsumerInfo) int64 {
	return int64(info.NumPending) + int64(info.NumAckPending)
}

// stallAfter bounds the time in which lines of a partition wait and none is acknowledged, in addition to the time for held text.
const stallAfter = 30 * time.Second

// stalls is the state of the partitions at the last check.
type stalls struct {
	mu sync.Mutex
	of map[int]stall
}

// stall is a partition without progress since a time.
type stall struct {
	floor uint64 // all lines up to it are acknowledged
	since time.Time
}

// stalled returns an error if lines wait while none is acknowledged, in the partitions of this worker and in those without a worker.
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
			return fmt.Errorf("partition %d: %d lines wait, and none was acknowledged for %v", n, waiting(info), took.Round(time.Second))
		}
	}
	return nil
}

// gauges asks for the values that are not counted.
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

// counts are the counters of a worker since its start.
type counts struct {
	lines, bytes, restored, replayed, retries atomic.Int64

	mu     sync.Mutex
	raw    map[string]int64 // lines that were passed on unchanged, by the reason
	frames resolve.Tally
	// latency counts lines by the bucket of the time between the storage of the line and that of its annotated form; the
	// last one has no bound.
	latency [len(latencies) + 1]int64
	seconds float64
}

// stored counts stored messages.
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

// tally counts the frames of a process since the last call, all of them in stored lines.
func (c *counts) tally(p *process) {
	if !p.fresh {
		return
	}
	now := p.filter.Tally()
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Frames >= p.counted.Frames { // otherwise the filter has reset its counters
		c.frames.Add(&now)
		c.frames.Sub(&p.counted)
	}
	p.counted = now
}

// gauges are the values that are requested together with the metrics.
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
	one("qss_filter_frames_total", "counter", "Stack frames met.", int64(frames.Frames))
	one("qss_filter_resolved_total", "counter", "Frames that were given a name.", int64(frames.By[resolve.OK]))
	metric("qss_filter_unresolved_total", "counter", "Frames without a name, by what became of them.")
	for _, o := range resolve.Outcomes() {
		if !o.Named() {
			fmt.Fprintf(&b, "qss_filter_unresolved_total{status=%q} %d\n", o.String(), frames.By[o])
		}
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
		one("qss_filter_cache_requests_total", "counter", "Queries to the cache.", g.cacheAsked)
		one("qss_filter_cache_hits_total", "counter", "Queries that the cache answered.", g.cached)
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

// newLog returns the logger of diagnostics: lines of JSON, or `qss-filter: message name=value`.
func newLog(out io.Writer, asJSON bool) *slog.Logger {
	if asJSON {
		return slog.New(&seldomHandler{slog.NewJSONHandler(out, nil), &said{}})
	}
	return slog.New(&seldomHandler{&plainHandler{mu: &sync.Mutex{}, out: out}, &said{}})
}

// Tell writes the error that ended a worker or publisher to its log.
func (c *Connection) Tell(err error) { newLog(c.Stderr, c.LogJSON).Error(err.Error()) }

// seldomHandler drops faults that were reported already: all partitions retry at once, and report the same.
type seldomHandler struct {
	slog.Handler
	said *said
}

// said are the recently reported faults, and when.
type said struct {
	mu   sync.Mutex
	when map[fault]time.Time
}

// fault is a message and its innermost cause.
type fault struct{ message, cause string }

// sayAgain is the time after which a fault is reported again.
const sayAgain = time.Minute

// Handle writes one line, unless it was reported already.
func (h *seldomHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.said.before(&r) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

// before reports whether a record is about a fault that was reported a short time ago, or about the lack of a connection, which
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

// Enabled leaves out debug messages.
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

// All partitions of a worker share one memory budget for processes. While the budget is exceeded, each partition that exceeds its share
// evicts the processes that have not written for longest. When these write again, they are restored from their kept states
// and the lines after that. If that is not enough, held text is released early.
//
// The lines in progress have a separate budget, lineMemory, in equal shares for the partitions. Each place that holds lines, before or
// after they are annotated, holds no more than a share, or one line or its annotated form if that alone is longer.

// lineMemory is the memory, in bytes, for the lines of all partitions at each place that holds lines: pulled and not taken, taken
// and not annotated, annotated and not stored.
const lineMemory = 32 << 20

// share returns how many bytes of lines a partition may hold at each such place.
func (s *streams) share() int { return lineMemory / max(1, s.partitions) }

// footprint returns the approximate memory of a process, in bytes.
func (p *process) footprint() int64 {
	const itself = 1 << 10
	return p.filter.Footprint() + p.feed.Footprint() + int64(cap(p.text)) + itself
}

// held are the processes of a partition in memory.
type held struct {
	w         *worker
	processes map[string]*process // by the subjects of their lines
	reported  int                 // how many of them were reported
	weight    int64               // bytes that they take
}

// weigh records the memory of a process.
func (h *held) weigh(one *process, bytes int64) {
	h.weight += bytes - one.weight
	h.w.memory.Add(bytes - one.weight)
	one.weight = bytes
}

// shed evicts processes as long as there is too little memory, except those that are needed and those that hold text. It
// reports whether the partition still has more than its share.
func (h *held) shed(needed map[*process]bool) (tight bool) {
	budget := h.w.opt.Memory
	over := h.w.memory.Load() - budget
	if over <= 0 {
		return false
	}
	share := h.fair()
	for _, one := range h.oldest(func(one *process) bool { return one.waiting == nil && !needed[one] }) {
		if h.weight <= share-share/8 || over <= -budget/8 {
			break
		}
		over -= one.weight
		h.drop(one)
	}
	return over > 0 && h.weight > share
}

// fair returns the partition's share of the memory for processes.
func (h *held) fair() int64 { return h.w.opt.Memory / int64(max(1, h.w.balance.ours())) }

// relieve releases the held text of the processes that have not written for longest, if there is too little memory.
func (p *partition) relieve(ctx context.Context) error {
	if !p.shed(nil) {
		return nil
	}
	share := p.fair()
	spare := p.weight - (share - share/8)
	var some []*process
	for _, one := range p.oldest(func(one *process) bool { return one.waiting != nil }) {
		if spare <= 0 {
			break
		}
		spare -= one.weight
		some = append(some, one)
	}
	err := p.letGo(ctx, some)
	p.shed(nil)
	return err
}

// oldest returns the processes for which which returns true, those that have not written for longest first.
func (h *held) oldest(which func(*process) bool) (all []*process) {
	for _, one := range h.processes {
		if which(one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *process) int { return a.used.Compare(b.used) })
	return all
}

// tidy evicts processes if there are too many, and counts frames.
func (h *held) tidy() {
	if limit := max(1, h.w.opt.Filters/h.w.streams.partitions); len(h.processes) > limit {
		all := h.oldest(func(one *process) bool { return one.waiting == nil })
		for _, one := range all[:min(len(all), len(h.processes)-limit*3/4)] {
			h.drop(one)
		}
	}
	h.shed(nil)
	for _, one := range h.processes {
		h.w.counts.tally(one)
	}
	h.report()
}

// report updates the number of processes in memory.
func (h *held) report() {
	h.w.held.Add(int64(len(h.processes) - h.reported))
	h.reported = len(h.processes)
}

// drop removes one process from memory.
func (h *held) drop(one *process) {
	if one.since >= stateRetry {
		h.w.keep(one)
	}
	h.w.counts.tally(one)
	h.weigh(one, 0)
	delete(h.processes, one.subject)
}
