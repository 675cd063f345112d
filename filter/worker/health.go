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

// All partitions of a worker share one budget of memory for the processes that they hold. A partition beyond its share of it puts
// those aside that have not written for longest, as long as all together are beyond the budget: they are restored from what is kept of
// them, and the lines after that, when they write again. Where that is not enough, text that is held back leaves early.
//
// The lines on their way have a budget of their own, lineMemory, in equal shares for the partitions. Whatever holds lines, before or
// after they are annotated, holds no more than a share, and one line or its annotated form where that alone is longer.

// lineMemory is the memory, in bytes, for the lines of all partitions at each place where lines are held: asked for and not taken, taken
// and not annotated, annotated and not stored.
const lineMemory = 32 << 20

// share is how many bytes of lines a partition may hold at each such place.
func (s *streams) share() int { return lineMemory / max(1, s.partitions) }

// footprint is about how many bytes a process takes.
func (p *process) footprint() int64 {
	const itself = 1 << 10
	return p.filter.Footprint() + p.feed.Footprint() + int64(cap(p.text)) + itself
}

// held are the processes of a partition that are in memory.
type held struct {
	w         *worker
	processes map[string]*process // by the subjects of their lines
	reported  int                 // how many of them were reported
	weight    int64               // bytes that they take
}

// weigh notes how many bytes a process takes.
func (h *held) weigh(one *process, bytes int64) {
	h.weight += bytes - one.weight
	h.w.memory.Add(bytes - one.weight)
	one.weight = bytes
}

// shed puts processes aside as long as there is too little memory, but for those that are needed and those that hold text back. It
// reports whether the partition has more than its share nevertheless.
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

// fair is the partition's share of the memory for processes.
func (h *held) fair() int64 { return h.w.opt.Memory / int64(max(1, h.w.balance.ours())) }

// relieve lets text go that is held back, of processes that have not written for longest, where there is too little memory for it.
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

// oldest returns some of the processes, those that have not written for longest first.
func (h *held) oldest(which func(*process) bool) (all []*process) {
	for _, one := range h.processes {
		if which(one) {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b *process) int { return a.used.Compare(b.used) })
	return all
}

// tidy takes processes out of memory of which there are too many, and counts frames.
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

// report counts how many processes are in memory.
func (h *held) report() {
	h.w.held.Add(int64(len(h.processes) - h.reported))
	h.reported = len(h.processes)
}

// drop takes one process out of memory.
func (h *held) drop(one *process) {
	if one.since >= stateRetry {
		h.w.keep(one)
	}
	h.w.counts.tally(one)
	h.weigh(one, 0)
	delete(h.processes, one.subject)
}
