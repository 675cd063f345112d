package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// partition is one partition of the lines. The server assigns it to one worker at a time, which catches up first: it
// reads the lines that are not acknowledged, since they may have been delivered to a worker that has ended.
type partition struct {
	w        *worker
	number   int
	consumer jetstream.Consumer
	puller   *puller
	log      *slog.Logger

	held
	// done is the last line that was taken, with all before it. floor is the last line known to be acknowledged.
	done, floor uint64
	// delivered is the number of the last delivery; joined is set while we have received all deliveries since the last new line.
	delivered uint64
	joined    bool
	// unacked are deliveries that are not acknowledged yet, in the order of lines.
	unacked []delivery
	// vigilance is for lines that cannot be annotated.
	vigilance vigilance
	// attempts are batches that may be stored.
	attempts []attempt
}

func newPartition(w *worker, number int, c jetstream.Consumer) (*partition, error) {
	log := w.log.With("partition", number)
	info := c.CachedInfo()
	asking, err := ask(w.nc, info.Stream, info.Name, group, pullLines)
	if err != nil {
		return nil, err
	}
	puller := newPuller(asking, w.streams.share(), log, func() { w.failed(number) })
	return &partition{w: w, number: number, consumer: c, log: log, puller: puller, held: held{w: w, processes: map[string]*process{}},
		vigilance: vigilance{w: w, number: number, log: log}}, nil
}

// run takes lines until the end of ctx. It completes what it has begun until the end of work.
func (p *partition) run(ctx, work context.Context) {
	go p.puller.run(ctx)
	tick := time.NewTicker(min(max(p.w.opt.Idle/2, 10*time.Millisecond), pullWait))
	defer tick.Stop()
	for {
		select {
		case <-p.puller.lost:
			p.forget()
		case <-p.puller.rested:
			p.pass(work)
		case messages, ok := <-p.puller.lines:
			if !ok {
				p.leave(work)
				return
			}
			p.take(work, messages)
		case <-tick.C:
			p.rest(work)
		}
	}
}

// take handles delivered lines.
func (p *partition) take(ctx context.Context, messages []*nats.Msg) {
	began, inOrder := p.joined, p.joined
	var lines []*line
	last := uint64(0)
	for _, m := range messages {
		l, meta, err := lineOf(m)
		if err != nil {
			p.log.Error("a message is not from the stream", "error", err)
			continue
		}
		d := delivery{m.Reply, meta.Sequence.Stream, meta.Sequence.Consumer, meta.NumDelivered > 1}
		follows := d.number == p.delivered+1
		p.delivered = d.number
		inOrder = inOrder && follows
		p.joined = !d.again || p.joined && follows
		p.unacked = append(p.unacked, d)
		if d.seq > p.done {
			lines, last = append(lines, l), max(last, d.seq)
		}
	}
	if last == 0 {
		p.acknowledge()
		return
	}
	if !began {
		p.w.balance.claim(p.number)
	}
	if !inOrder {
		p.catchUp(ctx, last)
	} else if err := p.try(ctx, lines); err == nil {
		p.done = last
	} else {
		p.vigilance.blame(ctx, err)
		p.catchUp(ctx, last)
	}
	p.acknowledge()
	p.tidy()
}

// forget drops all state, when another worker has the partition or the state is wrong.
func (p *partition) forget() {
	for _, one := range p.processes {
		p.weigh(one, 0)
	}
	clear(p.processes)
	p.unacked, p.joined, p.done = nil, false, 0
	p.report()
}

// catchUp forgets all processes and takes every line after the last acknowledged one, up to until and beyond it if there are more. It
// retries until that succeeds, another worker has the partition, or the worker is asked to end.
func (p *partition) catchUp(ctx context.Context, until uint64) {
	unacked, joined := p.unacked, p.joined
	for pause := retryPause; ctx.Err() == nil; pause = min(2*pause, maxRetryPause) {
		p.forget()
		err := p.reread(ctx, until)
		if err == nil {
			p.settle(ctx)
			p.unacked, p.joined = unacked, joined
			return
		}
		if p.vigilance.blame(ctx, err) {
			continue
		}
		p.w.counts.retries.Add(1)
		p.log.Warn("take up the partition", "error", err)
		if _, err := p.w.streams.out.Info(ctx); err == nil { // its limit may be lower than before
			if err := p.w.measure(); err != nil {
				p.log.Warn("look up the maximum size of a line", "error", err)
			}
		}
		p.w.failed(p.number)
		select {
		case <-p.puller.lost:
			p.settle(ctx)
			p.forget()
			return
		case <-time.After(pause):
		}
	}
	p.forget() // abandoned steps may still use the processes, and these have seen lines that are not stored
}

// The pauses between tries.
const (
	retryPause    = 50 * time.Millisecond
	maxRetryPause = 2 * time.Second
)

func (p *partition) reread(ctx context.Context, until uint64) error {
	info, err := p.consumer.Info(ctx)
	if err != nil {
		return err
	}
	if err := p.vigilance.examine(ctx); err != nil {
		return err
	}
	p.vigilance.careful = true
	defer func() { p.vigilance.careful = false }()
	if p.floor = info.AckFloor.Stream; p.floor >= until { // another worker has done it all
		p.done = p.floor
		return nil
	}
	ahead := max(info.Delivered.Stream, until)
	var lines []*line
	size, most := 0, p.w.streams.share()
	last := p.floor
	err = p.w.streams.replay(ctx, p.w.nc, p.w.streams.filter(p.number), p.floor+1, until, func(l *line) (more bool, err error) {
		if l.seq > ahead {
			return false, nil
		}
		last = l.seq
		lines = append(lines, l)
		size += len(l.data)
		if len(lines) == pullLines || size > most || l.last || l.seq >= ahead {
			err = p.try(ctx, lines)
			lines, size = lines[:0], 0
		}
		return l.seq < ahead && !(l.last && l.seq >= until), err
	})
	if err == nil {
		err = p.try(ctx, lines)
	}
	if err == nil {
		p.done = max(last, until)
		if v := &p.vigilance; v.poison.Mark != nil && !v.overtaken {
			v.poison.Mark.Worker = p.w.name // nothing of what it says is left to do
			p.vigilance.unmark(ctx)
		}
	}
	return err
}

// try annotates lines and stores the results, as many at once as the memory allows. After an error the state of the processes in memory
// is not valid.
func (p *partition) try(ctx context.Context, lines []*line) error {
	for len(lines) > 0 {
		n, err := p.some(ctx, lines)
		if err != nil {
			return err
		}
		lines = lines[n:]
		if err := p.relieve(ctx); err != nil {
			return err
		}
	}
	return nil
}

// some annotates the first n of some lines and stores the results.
func (p *partition) some(ctx context.Context, lines []*line) (n int, err error) {
	var out []message
	needed := map[*process]bool{}
	opened := false
	size, most := 0, p.w.streams.share()/4 // the state that a line adds to its process may be much larger than the line
	for _, l := range lines {
		if size > most {
			break
		}
		size += len(l.data)
		l.process = p.w.processOf(l)
		if one := p.processes[l.process]; l.process != "" && one == nil {
			if p.shed(needed) && opened { // what there is goes first
				break
			}
			if one, out, err = p.open(ctx, out, l, p.floor); err != nil {
				return 0, err
			}
			p.processes[l.process], opened = one, true
			p.weigh(one, one.footprint())
		}
		if l.of = p.processes[l.process]; l.of != nil {
			needed[l.of] = true
		}
		n++
	}
	now := time.Now()
	fresh := make([]*line, 0, n)
	places := make([]int, 0, n) // where they are
	for i, l := range lines[:n] {
		if l.of != nil && l.seq > l.of.fed {
			fresh, places = append(fresh, l), append(places, i)
			l.of.used = now
		}
	}
	out, fed, err := p.feed(ctx, out, fresh)
	if err != nil {
		return n, err
	}
	if fed < len(fresh) {
		n = places[fed]
	}
	for one := range needed {
		p.weigh(one, one.footprint())
	}
	return n, p.store(ctx, out)
}

// store stores messages and counts them.
func (p *partition) store(ctx context.Context, out []message) error {
	stored, err := p.w.store.put(ctx, out)
	p.w.counts.stored(stored)
	if err != nil {
		p.w.counts.retries.Add(1)
		if no, ok := errors.AsType[*unansweredError](err); ok {
			rest := out[len(stored):]
			p.unsure(no.batch, rest[:batchLen(rest)])
		}
		return err
	}
	for i := range out {
		one := out[i].of
		if one.since >= stateEvery+one.tried && one.fed == out[i].seq {
			one.tried += stateRetry
			p.w.keep(one)
		}
	}
	return nil
}

// rest releases text that has been held for long enough.
func (p *partition) rest(ctx context.Context) {
	now := time.Now()
	var resting []*process
	for _, one := range p.processes {
		if one.resting(now, p.w.opt.Idle) {
			resting = append(resting, one)
		}
	}
	if len(resting) == 0 {
		p.shed(nil)
		p.report()
		return
	}
	if err := p.letGo(ctx, resting); err != nil {
		if !p.vigilance.blame(ctx, err) {
			p.log.Warn("store what was held back", "error", err)
		}
		p.catchUp(ctx, p.done)
	}
	p.acknowledge()
	p.tidy()
}

// letGo stores the held text of some processes.
func (p *partition) letGo(ctx context.Context, some []*process) error {
	if len(some) == 0 {
		return nil
	}
	seqs := make([]uint64, len(some))
	for i, one := range some {
		seqs[i] = one.waiting.seq
	}
	out, err := p.watch(ctx, nil, len(some), func(i int) uint64 { return seqs[i] },
		func(_ context.Context, out []message, i int) []message {
			return some[i].rest(out, int(p.w.limit.Load()))
		})
	if err == nil {
		err = p.store(ctx, out)
	}
	for _, one := range some {
		if err == nil {
			p.weigh(one, one.footprint())
		}
	}
	return err
}

// leave releases the partition to the next worker, at the end.
func (p *partition) leave(ctx context.Context) {
	p.vigilance.unmark(ctx)
	for _, one := range p.processes {
		p.w.keep(one)
		p.drop(one)
	}
	p.w.balance.leave(ctx, p.number)
}

// pass releases the partition to another worker.
func (p *partition) pass(ctx context.Context) {
	p.vigilance.unmark(ctx)
	for _, one := range p.processes {
		p.w.keep(one)
		p.drop(one)
	}
	p.forget()
	p.w.balance.unpin(ctx, p.number)
}

// delivery is a line as the server has delivered it.
type delivery struct {
	reply  string // the subject for the acknowledgment
	seq    uint64 // of the line
	number uint64 // of the delivery
	again  bool   // it has been delivered before, perhaps to another worker
}

// acknowledged is the reply to a message that is done.
var acknowledged = []byte("+ACK")

// acknowledge acknowledges the lines whose messages are stored, with all before them.
func (p *partition) acknowledge() {
	safe := p.done
	for _, one := range p.processes {
		if one.waiting != nil {
			safe = min(safe, one.waiting.seq-1)
		}
	}
	slices.SortStableFunc(p.unacked, func(a, b delivery) int { return cmp.Compare(a.seq, b.seq) })
	n, _ := slices.BinarySearchFunc(p.unacked, safe+1, func(d delivery, seq uint64) int { return cmp.Compare(d.seq, seq) })
	if n == 0 {
		return
	}
	if err := p.w.nc.Publish(p.unacked[n-1].reply, acknowledged); err != nil {
		p.log.Warn("acknowledge", "error", err) // the lines are delivered again
	}
	p.unacked = slices.Delete(p.unacked, 0, n)
}

// balance divides the partitions evenly between workers. The server assigns a partition to the first worker that
// asks, so a worker that starts later finds all of them taken. Therefore each worker writes to the bucket of states which ones it has. A
// worker that has at least two less than another one requests one of those, and the other worker, after the current lines, lets the
// server reassign it. Nothing but the distribution of the work depends on this.
type balance struct {
	streams *streams
	durable string
	name    string // of this worker
	log     *slog.Logger
	// release is called with a partition that another worker has requested.
	release func(partition int)

	mu     sync.Mutex
	owners map[int]string    // of partitions: the name of the worker that got each last
	asked  map[int]time.Time // when this worker requested them
}

const (
	// balanceEvery is the time between two checks of the distribution.
	balanceEvery = 300 * time.Millisecond
	// wishAge is how long a request is valid, and the time before a partition is requested again.
	wishAge = 5 * time.Second

	ownerPrefix = "owner."
	wishPrefix  = "wish."
)

// errWatch is the error when the watch of the bucket ends.
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

// ours returns how many partitions this worker has.
func (b *balance) ours() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count(b.name)
}

// isOurs reports whether this worker has a partition.
func (b *balance) isOurs(partition int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.owners[partition] == b.name
}

// leave makes the server assign a partition to another worker immediately, if this worker has it.
func (b *balance) leave(ctx context.Context, partition int) {
	b.mu.Lock()
	ours := b.owners[partition] == b.name
	delete(b.owners, partition)
	b.mu.Unlock()
	if ours && ctx.Err() == nil {
		b.unpin(ctx, partition)
	}
}

// unpin makes the server assign a partition to another worker.
func (b *balance) unpin(ctx context.Context, partition int) {
	ctx, cancel := context.WithTimeout(ctx, pinned)
	defer cancel()
	if err := b.streams.in.UnpinConsumer(ctx, b.durable+"-"+strconv.Itoa(partition), group); err != nil {
		b.log.Warn("release the partition", "partition", partition, "error", err)
	}
}

// run watches which worker has which partition, until the end of ctx.
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
			if entry != nil { // nil marks the end of the initial entries
				b.note(entry)
			}
		}
	}
}

// note records which worker has a partition, or requests one.
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

// count returns how many partitions a worker has.
func (b *balance) count(name string) (n int) {
	for _, owner := range b.owners {
		if owner == name {
			n++
		}
	}
	return n
}

// wanted returns a partition of another worker that this worker should have.
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
