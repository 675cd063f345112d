// Package worker annotates the logs of a fleet: lines come from a NATS JetStream stream, each process of the log has its own
// filter, and annotated lines go to another stream, each exactly once and in the order of its process.
//
//	worker.go     Options; one worker and its partitions
//	partition.go  the lines of one partition, in their order; what happens when it moves to another worker; what is acknowledged; how
//	              the partitions are divided evenly between workers
//	pull.go       asks the server for lines, ahead of their annotation; the other end, which publishes a log into the stream
//	process.go    one process: its filter, and which message carries what; the shipper of its lines
//	restore.go    brings a process's filter to where another one was, and reads a part of a stream again for that
//	store.go      publishes messages, all or none, and finds out what became of those without an answer
//	poison.go     lines whose annotation ends the program, hangs or panics
//	streams.go    the connection, the streams, consumers and the bucket of states; whether they are still there and take messages
//	subject.go    which part of a subject names a process, and which division of a stream into partitions fits that
//	health.go     metrics, messages, and which processes are held in memory
//
// The server assigns a partition to one worker at a time (a consumer with a pinned client), and delivers lines that are not
// acknowledged again. Correctness does not depend on that: an annotated line is stored only if the last stored line of its process is
// still the one that it follows, in an atomic batch. If two workers annotate the same line, the texts are the same, and one of them is
// refused.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// worker is one running worker.
type worker struct {
	opt     Options
	key     pattern
	log     *slog.Logger
	nc      *nats.Conn
	js      jetstream.JetStream
	streams *streams
	store   *store
	balance *balance
	counts  counts
	held    atomic.Int64 // processes in memory
	memory  atomic.Int64 // bytes that these take
	keeping atomic.Int64 // bytes of states that are being sent to the bucket
	// limit is the maximum text of one message, in bytes.
	limit atomic.Int64
	// annotating is a semaphore of Options.Parallel.
	annotating chan struct{}
	// suspect is a semaphore of 1, for the lines that have their own marks.
	suspect chan struct{}
	// name identifies this worker. now is the clock for the time that lines take.
	name string
	now  func() time.Time
	// stuck counts abandoned lines that hang, and fatal receives an error that ends the worker.
	stuck  atomic.Int64
	stalls stalls
	fatal  chan error
	// failures receives the numbers of partitions with a failure.
	failures chan int
}

// Bounds of the start and of the end, which takes no more than 5 seconds including the work after drainWait.
const (
	startWait = time.Minute
	drainWait = 4500 * time.Millisecond
)

// Run works until the end of ctx; then it completes the current lines and releases its partitions. The error says why it could
// not start; it is a *symsrc.OptionError if an option is wrong.
func Run(ctx context.Context, o Options) error {
	err := begin(ctx, o)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // asked to end before it started
		return nil
	}
	return err
}

// begin makes a worker and runs it.
func begin(ctx context.Context, o Options) error {
	log := newLog(o.Stderr, o.LogJSON)
	key, err := o.check()
	if err != nil {
		return err
	}
	o.Filter.Warn = once(func(message string) { log.Warn(message) })
	host, err := os.Hostname()
	if err != nil {
		host = "host"
	}
	w := &worker{opt: o, key: key, log: log, annotating: make(chan struct{}, o.Parallel), suspect: make(chan struct{}, 1), failures: make(chan int, 1),
		name: host + "-" + strconv.Itoa(os.Getpid()) + "-" + nuid.Next(), now: o.now, fatal: make(chan error, 1)}
	if w.now == nil {
		w.now = time.Now
	}
	ctx, lost := context.WithCancel(ctx)
	defer lost()
	start, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	if w.nc, _, err = o.connect(start, "qss-filter worker on "+host, log, lost); err != nil {
		return err
	}
	defer w.nc.Close()
	w.js, err = jetstream.New(w.nc, jetstream.WithPublishAsyncTimeout(storeWait),
		jetstream.WithPublishAsyncAckHandler(func(_ jetstream.JetStream, m *nats.Msg, _ *jetstream.PubAck) { w.keeping.Add(-int64(len(m.Data))) }),
		jetstream.WithPublishAsyncErrHandler(func(_ jetstream.JetStream, m *nats.Msg, _ error) { w.keeping.Add(-int64(len(m.Data))) }))
	if err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	w.streams, err = insist(start, log, func(ctx context.Context) (*streams, error) { return openStreams(ctx, w.js, &o, &key, log) })
	if err != nil {
		return err
	}
	if err := w.measure(); err != nil {
		return err
	}
	w.store = &store{nc: w.nc, tag: w.streams.tag}
	partitions := make([]*partition, w.streams.partitions)
	w.balance = &balance{streams: w.streams, durable: o.Durable, name: w.name, log: log,
		owners: map[int]string{}, asked: map[int]time.Time{}, release: func(n int) {
			select {
			case partitions[n].puller.rest <- struct{}{}:
			default: // signaled already
			}
		}}
	for n := range partitions {
		c, err := insist(start, log, func(ctx context.Context) (jetstream.Consumer, error) { return w.streams.consumer(ctx, &o, n) })
		if err != nil {
			return err
		}
		if partitions[n], err = newPartition(w, n, c); err != nil {
			return err
		}
	}
	if o.Metrics != "" {
		if err := w.serve(ctx); err != nil {
			return err
		}
	}
	log.Info("working", "server", redacted(w.nc.ConnectedUrl()), "stream", w.streams.in.CachedInfo().Config.Name, "partitions", len(partitions),
		"parallel", o.Parallel)
	err = w.run(ctx, partitions)
	log.Info("stopped", "lines", w.counts.lines.Load())
	if w.nc.IsClosed() {
		return closed(w.nc)
	}
	return err
}

// measure determines the maximum length of a message.
func (w *worker) measure() error {
	limit, err := target(w.nc, w.streams.out, w.opt.Out, leastPayload)
	if err == nil {
		w.limit.Store(int64(limit))
	}
	return err
}

// run works on all partitions until the end of ctx, or until a stream or consumer is deleted.
func (w *worker) run(ctx context.Context, partitions []*partition) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	work, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	defer context.AfterFunc(ctx, func() {
		if w.nc.IsClosed() {
			giveUp()
		}
		time.AfterFunc(drainWait, giveUp)
	})()
	go func() {
		if err := w.look(ctx); err != nil {
			stop(err)
			giveUp()
		}
	}()
	go func() {
		select {
		case err := <-w.fatal:
			stop(err)
			giveUp()
		case <-ctx.Done():
		}
	}()
	go w.balance.run(ctx)
	var all sync.WaitGroup
	for _, p := range partitions {
		all.Go(func() { p.run(ctx, work) })
	}
	all.Wait()
	select { // wait for states that are being sent
	case <-w.js.PublishAsyncComplete():
	case <-work.Done():
	}
	if err := w.nc.FlushTimeout(askWait); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.log.Warn("the last acknowledgments may be lost: these lines are delivered again", "error", err)
	}
	if err := context.Cause(ctx); errors.Is(err, errGone) || errors.Is(err, errStuck) {
		return err
	}
	return nil
}

// once passes each message on only the first time, for all processes together; at most 1000 messages.
func once(warn func(string)) func(string) {
	var mu sync.Mutex
	said := map[string]bool{}
	return func(message string) {
		mu.Lock()
		defer mu.Unlock()
		if !said[message] && len(said) < 1000 {
			said[message] = true
			warn(message)
		}
	}
}

// Options are the options of a worker.
type Options struct {
	Connection
	// Stream has the lines, under the subjects In. Key says which wildcards of In identify a process; "" is In.
	Stream, In, Key string
	// Out is the subject of annotated lines, with `>` for the key, in OutStream, whose default name is made from Out.
	Out, OutStream string
	// Durable is the name that all workers of a fleet share, in the names of consumers and of the bucket of states.
	Durable string
	// Partitions and Replicas are the numbers of partitions and replicas of streams that are created.
	Partitions, Replicas int
	// Parallel is how many lines are annotated at once; 0 for one per core.
	Parallel int
	// Filters bounds the processes in memory, and Memory their total size in bytes; 0 is DefaultMemory. Other processes
	// are restored when they write again.
	Filters int
	Memory  int64
	// Idle is how long held text waits for the next line of its process.
	Idle time.Duration
	// Metrics is the address to serve metrics and health at; "" for none.
	Metrics string
	// Filter are the options of the filters.
	Filter filter.Options
	// now is the clock for the time that lines take; nil for time.Now.
	now func() time.Time
}

// check completes o, and returns the pattern of the key.
func (o *Options) check() (key pattern, err error) {
	if o.Key == "" {
		o.Key = o.In
	}
	key, err = parsePattern(o.Key)
	switch {
	case err != nil:
		return key, err
	case !covers(strings.Split(o.In, "."), strings.Split(key.wildcard(), ".")):
		return key, wrong("Key", o.Key, "it goes beyond the subjects of lines, "+o.In)
	case len(o.Out) < 3 || !strings.HasSuffix(o.Out, ".>") || strings.ContainsAny(o.Out[:len(o.Out)-1], "*> "):
		return key, wrong("Out", o.Out, "want a subject that ends with .> and has no other wildcard")
	case covers(strings.Split(o.In, "."), strings.Split(o.Out, ".")) || covers(strings.Split(o.Out, "."), strings.Split(o.In, ".")):
		return key, wrong("Out", o.Out, "it is part of the subjects of lines, "+o.In+", or the other way round")
	case o.Partitions < 1 || o.Partitions > maxPartitions:
		return key, wrong("Partitions", "", "want 1 to 1024")
	}
	for _, one := range []struct {
		field, name string
		optional    bool
	}{{"Stream", o.Stream, false}, {"Durable", o.Durable, false}, {"OutStream", o.OutStream, true}} {
		if one.name == "" && !one.optional || strings.ContainsFunc(one.name, unnamed) {
			return key, wrong(one.field, one.name, "want a name of letters, digits, - and _")
		}
	}
	for _, one := range []struct {
		field string
		value int64
		least int64
	}{{"Filters", int64(o.Filters), 1}, {"Replicas", int64(o.Replicas), 1}, {"Parallel", int64(o.Parallel), 0}, {"Idle", int64(o.Idle), 0}} {
		if one.value < one.least {
			return key, wrong(one.field, "", "want a positive value")
		}
	}
	if o.Memory == 0 {
		o.Memory = DefaultMemory
	}
	if o.Parallel == 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.OutStream == "" {
		first, _, _ := strings.Cut(o.Out, ".")
		o.OutStream = strings.ToUpper(first)
	}
	return key, nil
}

// DefaultMemory, 512 MiB, is enough for about ten thousand processes of fifty modules each.
const DefaultMemory = 512 << 20

// wrong returns an error about an option.
func wrong(field, value, reason string) error {
	return &symsrc.OptionError{Option: "worker." + field, Value: value, Err: errors.New(reason)}
}

// unnamed reports whether a character is not allowed in the name of a bucket, which contains those of the stream and the fleet.
func unnamed(r rune) bool {
	return !(r >= '0' && r <= '9' || r|0x20 >= 'a' && r|0x20 <= 'z' || r == '-' || r == '_')
}

// maxPartitions bounds the consumers that a worker asks.
const maxPartitions = 1024

// covers reports whether outer covers every subject of inner.
func covers(outer, inner []string) bool {
	for i, token := range outer {
		switch {
		case token == ">":
			return len(inner) > i
		case i >= len(inner), inner[i] == ">", token != "*" && token != inner[i]:
			return false
		}
	}
	return len(outer) == len(inner)
}
