package worker

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// balance evens out how many partitions workers have. The server alone decides who has one, and gives it to the first that
// asks: a worker that comes later finds all of them taken. So each writes into the bucket of states which ones it has got; one that
// has two less than another wishes for one of those; and the other one, when it is done with the lines at hand, has the server
// give it away. Nothing depends on it but how evenly the work is spread.
type balance struct {
	streams *streams
	durable string
	name    string // of this worker
	log     *slog.Logger
	// release is called with partitions that another worker should have.
	release func(partition int)

	mu     sync.Mutex
	owners map[int]string    // of partitions, by the name of the worker that got them last
	asked  map[int]time.Time // when they were wished for
}

const (
	// balanceEvery is how often it is looked whether the work is spread evenly.
	balanceEvery = 300 * time.Millisecond
	// wishAge is how long a wish counts, and how long a partition is not wished for again.
	wishAge = 5 * time.Second

	ownerPrefix = "owner."
	wishPrefix  = "wish."
)

// errWatch is an end of what says which worker has which partition.
var errWatch = errors.New("the watch has ended")

// claim announces that this worker has got a partition.
func (b *balance) claim(partition int) {
	b.mu.Lock()
	known := b.owners[partition] == b.name
	b.owners[partition] = b.name
	b.mu.Unlock()
	if known {
		return
	}
	go b.announce(ownerPrefix, partition)
}

// announce writes this worker's name for a partition.
func (b *balance) announce(prefix string, partition int) {
	ctx, cancel := context.WithTimeout(context.Background(), storeWait)
	defer cancel()
	if _, err := b.streams.state.PutString(ctx, prefix+strconv.Itoa(partition), b.name); err != nil {
		b.log.Warn("announce the partition", "partition", partition, "error", err)
	}
}

// ours returns how many partitions this worker has got last.
func (b *balance) ours() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count(b.name)
}

// isOurs reports whether this worker was the last to get a partition.
func (b *balance) isOurs(partition int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owners[partition] == b.name
}

// leave has the server give a partition to another worker at once, if this worker has it.
func (b *balance) leave(ctx context.Context, partition int) {
	b.mu.Lock()
	ours := b.owners[partition] == b.name
	delete(b.owners, partition)
	b.mu.Unlock()
	if ours && ctx.Err() == nil {
		b.unpin(ctx, partition)
	}
}

// unpin has the server give a partition to another worker.
func (b *balance) unpin(ctx context.Context, partition int) {
	ctx, cancel := context.WithTimeout(ctx, pinned)
	defer cancel()
	if err := b.streams.in.UnpinConsumer(ctx, b.durable+"-"+strconv.Itoa(partition), group); err != nil {
		b.log.Warn("give the partition away", "partition", partition, "error", err)
	}
}

// run watches which worker has what, until the end of ctx.
func (b *balance) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := b.watch(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("watch which worker has which partition", "error", err)
			time.Sleep(maxRetryPause)
		}
	}
}

func (b *balance) watch(ctx context.Context) error {
	w, err := b.streams.state.WatchFiltered(ctx, []string{ownerPrefix + "*", wishPrefix + "*"}, jetstream.IgnoreDeletes())
	if err != nil {
		return err
	}
	defer w.Stop()
	tick := time.NewTicker(balanceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if partition, ok := b.wanted(time.Now()); ok {
				go b.announce(wishPrefix, partition)
			}
		case entry, ok := <-w.Updates():
			if !ok {
				return errWatch
			}
			if entry != nil { // otherwise all that was there has come
				b.note(entry)
			}
		}
	}
}

// note notes which worker has a partition, or wishes for one.
func (b *balance) note(entry jetstream.KeyValueEntry) {
	kind, number, _ := strings.Cut(entry.Key(), ".")
	partition, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	owner := string(entry.Value())
	b.mu.Lock()
	defer b.mu.Unlock()
	if kind+"." == ownerPrefix {
		b.owners[partition] = owner
	} else if b.owners[partition] == b.name && time.Since(entry.Created()) < wishAge && b.count(b.name) >= b.count(owner)+2 {
		delete(b.owners, partition)
		b.release(partition)
	}
}

// count returns how many partitions a worker has got last.
func (b *balance) count(name string) (n int) {
	for _, owner := range b.owners {
		if owner == name {
			n++
		}
	}
	return n
}

// wanted returns a partition that another worker could do without, in favor of this one.
func (b *balance) wanted(now time.Time) (partition int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	most := b.count(b.name) + 1
	for candidate, owner := range b.owners { // in random order
		if n := b.count(owner); owner != b.name && n > most && now.Sub(b.asked[candidate]) >= wishAge {
			partition, most, ok = candidate, n, true
		}
	}
	if ok {
		b.asked[partition] = now
	}
	return partition, ok
}
