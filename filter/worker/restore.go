package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter"
)

// state is what is kept of a process, in the bucket: where its log can be taken up.
type state struct {
	// Stream is the tag of the stream that Line counts in.
	Stream string `json:"stream"`
	// Line is the last line before that place, and Context what a new filter must be fed there, as lines of markup.
	Line    uint64 `json:"line"`
	Context string `json:"context"`
}

// stateEvery is how many lines of a process are read again at most, where its log allows to take it up anywhere; and
// stateRetry how many pass before a log that did not allow it is tried again.
const (
	stateEvery = 256
	stateRetry = 16
)

// processOf returns all subjects of a line's process, with the partition in front; "" for a line that is none of those asked for.
func (w *worker) processOf(l *line) string {
	partition, subject, _ := strings.Cut(l.subject, ".")
	all := w.key.ofProcess(subject)
	switch all {
	case "":
		return ""
	case subject:
		return l.subject
	}
	return partition + "." + all
}

// open returns the filter of a process as it is before a line: what was published of it last, the context that was kept, and
// then the lines from there on. Messages of lines that had none yet are added to out; up to floor all have one.
func (p *partition) open(ctx context.Context, out []message, l *line, floor uint64) (*process, []message, error) {
	w := p.w
	_, subject, _ := strings.Cut(l.subject, ".")
	key := w.key.keyOf(subject)
	one := &process{subject: l.process, out: outSubject(w.opt.Out, key), name: stateName(key), renew: func() *filter.Filter { return filter.New(w.opt.Filter) }}
	one.restart()
	if err := w.lastPublished(ctx, one); err != nil {
		return nil, out, err
	}
	kept, err := w.kept(ctx, one)
	if err != nil {
		return nil, out, err
	}
	if p.vigilance.why[kept.Line] != "" { // perhaps it was its context
		kept = state{}
	}
	from, err := w.firstOf(ctx, l, kept.Line+1)
	if err != nil {
		return nil, out, fmt.Errorf("look for the beginning of %s: %w", key, err)
	}
	lost, err := w.lost(ctx, one, kept.Line, from)
	if err != nil {
		return nil, out, err
	}
	if lost {
		w.log.Warn("a part of a log has aged out of the stream: what it said of modules is lost", "process", key)
	} else if kept.Context != "" {
		_, err := p.watch(ctx, nil, 1, func(int) uint64 { return kept.Line }, func(ctx context.Context, out []message, _ int) []message {
			one.feed.Flush(one.feed.Add(ctx, nil, []byte(kept.Context)))
			return out
		})
		if err != nil {
			return nil, out, err
		}
	}
	if known := max(kept.Line, floor); known > one.published {
		one.published, one.clear = known, known
	}
	one.fed = kept.Line
	if from < l.seq {
		w.counts.restored.Add(1)
		out, err = p.restore(ctx, out, one, from, l)
	}
	return one, out, err
}

// restore feeds a process the lines from a place on that come before l.
func (p *partition) restore(ctx context.Context, out []message, one *process, from uint64, l *line) ([]message, error) {
	filter, _ := filterable(l.process)
	var lines []*line
	size, most := 0, p.w.streams.share()
	feed := func() (err error) {
		p.w.counts.replayed.Add(int64(len(lines)))
		for fed, left := 0, lines; len(left) > 0 && err == nil; left = left[fed:] {
			out, fed, err = p.feed(ctx, out, left)
		}
		lines, size = lines[:0], 0
		return err
	}
	err := p.w.streams.replay(ctx, p.w.nc, filter, from, l.seq, func(before *line) (more bool, err error) {
		if before.seq >= l.seq {
			return false, nil
		}
		if p.w.processOf(before) == l.process {
			before.of = one
			lines = append(lines, before)
			size += len(before.data)
		}
		if len(lines) == pullLines || size > most {
			err = feed()
		}
		return true, err
	})
	if err != nil {
		return out, err
	}
	return out, feed()
}

// firstOf returns the first line of a process from a place on, of which l is one.
func (w *worker) firstOf(ctx context.Context, l *line, from uint64) (seq uint64, err error) {
	filter, exact := filterable(l.process)
	for {
		seq, subject, err := w.streams.find(ctx, w.nc, from, filter)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // or the server that answers has yet to hear of the line at hand
			return from, nil
		case err != nil:
			return 0, err
		case exact || seq >= l.seq || w.processOf(&line{subject: subject}) == l.process:
			return min(seq, l.seq), nil
		}
		from = seq + 1
	}
}

// lost reports whether lines of a process that some worker has seen have aged out of the stream from after the place that was
// kept, 0 for none, of which the first that is there is from. What was kept is wrong then: they may have changed it.
func (w *worker) lost(ctx context.Context, p *process, place, from uint64) (lost bool, err error) {
	if p.published == place {
		return false, nil // nothing came after it
	}
	if place == 0 {
		first, err := w.streams.out.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(p.out))
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, fmt.Errorf("look for the first line of %s: %w", p.out, err)
		}
		return err == nil && w.store.lineOf(first.Header.Get(jetstream.MsgIDHeader)) < from, nil
	}
	_, _, err = w.streams.find(ctx, w.nc, place, "") // lines age out in their order
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, fmt.Errorf("look for line %d of %s: %w", place, p.subject, err)
	}
	return err != nil, nil
}

// lastPublished finds what was published of a process last.
func (w *worker) lastPublished(ctx context.Context, p *process) error {
	last, err := w.streams.out.GetLastMsgForSubject(ctx, p.out)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for the last line of %s: %w", p.out, err)
	}
	p.outSeq, p.published = last.Sequence, w.store.lineOf(last.Header.Get(jetstream.MsgIDHeader))
	p.clear = p.published
	if held := last.Header.Get(headerHeld); held != "" {
		p.clear, _ = strconv.ParseUint(held, 10, 64)
	}
	return nil
}

// kept returns what is kept of a process, the zero value where that is nothing of use.
func (w *worker) kept(ctx context.Context, p *process) (s state, err error) {
	entry, err := w.streams.state.Get(ctx, p.name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return state{}, nil
	case err != nil:
		return state{}, fmt.Errorf("look for the state of %s: %w", p.name, err)
	}
	if err := json.Unmarshal(entry.Value(), &s); err != nil || s.Stream != w.streams.tag {
		return state{}, nil // of another time: the log itself says all
	}
	return s, nil
}

// keep stores where a process can be taken up, if that is here. It is not waited for: an older place does, too.
func (w *worker) keep(p *process) {
	if p.since == 0 || p.waiting != nil || p.fed != p.published || w.keeping.Load() > keepMemory {
		return
	}
	context, ok := p.filter.Resume(nil)
	if !ok || p.feed.Unfinished() {
		return
	}
	if !utf8.Valid(context) { // JSON has no such strings
		return
	}
	value, err := json.Marshal(state{Stream: w.streams.tag, Line: p.fed, Context: string(context)})
	if err != nil || len(value) > int(w.limit.Load()) {
		return
	}
	if _, err := w.send(p.name, value); err == nil {
		p.since, p.tried = 0, 0
	}
}

// keepMemory is the memory, in bytes, for states that are on their way to the bucket.
const keepMemory = 16 << 20

// send sends a value to the bucket of states; the answer need not be waited for.
func (w *worker) send(name string, value []byte, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	w.keeping.Add(int64(len(value)))
	answer, err := w.js.PublishAsync("$KV."+w.streams.state.Bucket()+"."+name, value, options...)
	if err != nil {
		w.keeping.Add(-int64(len(value)))
	}
	return answer, err
}

// How a stream is read again: at most so many lines in advance; a server may forget a reader that is silent for so long, and
// one that has nothing to say for replayWait has nothing left.
const (
	replayAhead   = 500
	replayForgets = 30 * time.Second
	replayWait    = 5 * time.Second
)

// What keeps a stream from being read again.
var (
	errSilent = errors.New("no more lines come")
	errMissed = errors.New("lines have not come")
)

// replay reads the lines of a subject from a sequence on, in their order, until each is false. It gives up with an error
// where the line until does not come, unless that has aged out of the stream.
func (s *streams) replay(ctx context.Context, nc *nats.Conn, subject string, from, until uint64, each func(*line) (more bool, err error)) error {
	c, err := s.in.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), InactiveThreshold: replayForgets,
		MemoryStorage: true, Replicas: 1})
	if err != nil {
		return fmt.Errorf("read %s again: %w", subject, err)
	}
	name := c.CachedInfo().Name
	defer func() { _ = s.in.DeleteConsumer(ctx, name) }() // or the server forgets it
	a, err := ask(nc, c.CachedInfo().Stream, name, "", replayAhead)
	if err != nil {
		return err
	}
	defer a.end()
	r := reader{asking: a, share: s.share()}
	for {
		m, err := r.next(ctx)
		if errors.Is(err, errSilent) {
			info, failed := s.in.Info(ctx)
			if failed == nil && info.State.FirstSeq > until {
				return nil
			}
			err = errors.Join(err, failed)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w", subject, err)
		}
		l, meta, err := lineOf(m)
		if err != nil {
			return err
		}
		if r.number++; meta.Sequence.Consumer != r.number {
			return fmt.Errorf("read %s again: %w", subject, errMissed)
		}
		if more, err := each(l); err != nil || !more {
			return err
		}
	}
}

// reader reads what a consumer has, somewhat in advance.
type reader struct {
	*asking
	share  int // bytes that are read in advance
	ready  []*nats.Msg
	size   int    // of these, in bytes
	number uint64 // of the last delivery that was looked at
}

// next returns the next message. The error is errSilent where none comes for replayWait.
func (r *reader) next(ctx context.Context) (*nats.Msg, error) {
	silent := time.NewTimer(replayWait)
	defer silent.Stop()
	for {
		if !r.open && len(r.ready) < replayAhead/2 && r.size < r.share/2 && !(r.long && len(r.ready) > 0) {
			n, bytes := replayAhead, r.share-r.size
			if r.long {
				n, bytes = 1, 0
			}
			if err := r.request(n, bytes, replayWait); err != nil {
				return nil, err
			}
		}
		var over, end <-chan time.Time
		if len(r.ready) == 0 {
			end = silent.C
			if r.open {
				over = r.late
			}
		} else if len(r.arrived) == 0 {
			m := r.ready[0]
			r.ready[0], r.ready = nil, r.ready[1:]
			r.size -= m.Size()
			return m, nil
		}
		select {
		case m := <-r.arrived:
			is, err := r.see(m)
			if err != nil {
				return nil, err
			}
			if is {
				r.ready, r.size = append(r.ready, m), r.size+m.Size()
			}
		case <-over: // it was lost
			r.open = false
		case <-end:
			return nil, errSilent
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lineOf returns the line that a message is.
func lineOf(m *nats.Msg) (*line, *nats.MsgMetadata, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, nil, fmt.Errorf("message of %s: %w", m.Subject, err)
	}
	return &line{seq: meta.Sequence.Stream, subject: m.Subject, data: m.Data, part: m.Header.Get(headerPart) != "",
		last: meta.NumPending == 0, stored: meta.Timestamp}, meta, nil
}
