// Package worker annotates the logs of a fleet: lines come from a NATS JetStream stream, each process of the log has a filter of
// its own, and annotated lines go to another stream, each exactly once and in the order of its process.
//
//	worker.go     the picture: one worker and its partitions
//	partition.go  the lines of one partition, in their order; what happens when it changes hands; what is acknowledged
//	pull.go       asks the server for lines, ahead of their annotation
//	process.go    one process: its filter, and which message carries what
//	restore.go    brings a process's filter to where another one was
//	replay.go     reads a part of a stream again
//	store.go      publishes messages, all or none, and finds out what became of those without an answer
//	memory.go     which processes are held in memory
//	poison.go     lines whose annotation ends, hangs or panics
//	balance.go    evens out how many partitions workers have
//	streams.go    the streams, consumers and the bucket of states; whether they are still there and take what is published
//	subject.go    which part of a subject names a process, and which division of a stream into partitions fits that
//	publish.go    the other end: a log into the stream (shipper.go)
//	health.go     metrics
//
// The server hands a partition to one worker at a time (a consumer with a pinned client), and what is not acknowledged comes
// again. That decides who works, not what is right: every annotated line is stored only if its process's last one is still the
// one that it follows, in a batch that is stored whole or not at all. The same line, annotated by two workers, is the same text,
// and one of them is refused.
package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
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
	keeping atomic.Int64 // bytes of states that are on their way to the bucket
	// limit is the longest text of one message, in bytes.
	limit atomic.Int64
	// annotating has a place for each that may annotate at once.
	annotating chan struct{}
	// name tells this worker from others. now is the clock by which lines take too long.
	name string
	now  func() time.Time
	// stuck is how many lines hang that were given up, and fatal what ends the worker.
	stuck  atomic.Int64
	stalls stalls
	fatal  chan error
	// failures are the numbers of partitions that something of has failed.
	failures chan int
}

// Bounds of a start and of an end, which takes no more than 5 seconds with what is to be done after drainWait.
const (
	startWait = time.Minute
	drainWait = 4500 * time.Millisecond
)

// Run works until the end of ctx; then it completes what was begun and hands its partitions over. The error says why it could
// not begin, and is a *symsrc.OptionError where the options are to blame.
func Run(ctx context.Context, o Options) error {
	err := begin(ctx, o)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) { // asked to end before it had begun
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
	w := &worker{opt: o, key: key, log: log, annotating: make(chan struct{}, o.Parallel), failures: make(chan int, 1),
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
			default: // it is known already
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

// measure finds out how long a message may be.
func (w *worker) measure() error {
	limit, err := target(w.nc, w.streams.out, w.opt.Out, leastPayload)
	if err == nil {
		w.limit.Store(int64(limit))
	}
	return err
}

// run works on all partitions until the end of ctx, or until what they need is gone.
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
	select { // the states that were not waited for
	case <-w.js.PublishAsyncComplete():
	case <-work.Done():
	}
	if err := w.nc.FlushTimeout(askWait); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		w.log.Warn("the last acknowledgements may be lost: the lines come again", "error", err)
	}
	if err := context.Cause(ctx); errors.Is(err, errGone) || errors.Is(err, errStuck) {
		return err
	}
	return nil
}

// once passes each message on only the first time, whichever process it is of; at most 1000 of them.
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
