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

// state is the restore point of a process, in the bucket.
type state struct {
	// Stream is the tag of the stream in which Line counts.
	Stream string `json:"stream"`
	// Line is the last line before the restore point, and Context is the state of the filter there, as lines of markup.
	Line    uint64 `json:"line"`
	Context string `json:"context"`
}

// stateEvery bounds the lines of a process that are read again, if its log allows a restore point anywhere. If the log does not allow
// one, the next try is stateRetry lines later.
const (
	stateEvery = 256
	stateRetry = 16
)

// processOf returns all subjects of a line's process, with the partition in front; "" for a line of no wanted subject.
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

// newFilter returns the filter of a process. Nothing says when its log was written, but for dates in the lines.
func (w *worker) newFilter() *filter.Filter {
	f := filter.New(w.opt.Filter)
	f.Written(time.Time{})
	return f
}

// open returns a process in its state before a line, from its last published message, its restore point, and
// the lines after that. It adds messages of lines without one to out; all lines up to floor have one.
func (p *partition) open(ctx context.Context, out []message, l *line, floor uint64) (*process, []message, error) {
	w := p.w
	_, subject, _ := strings.Cut(l.subject, ".")
	key := w.key.keyOf(subject)
	one := &process{subject: l.process, out: outSubject(w.opt.Out, key), name: stateName(key), renew: w.newFilter}
	one.restart()
	if err := w.lastPublished(ctx, one); err != nil {
		return nil, out, err
	}
	kept, err := w.kept(ctx, one)
	if err != nil {
		return nil, out, err
	}
	if p.vigilance.why[kept.Line] != "" { // the context may be the cause
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
		w.log.Warn("a part of a log has aged out of the stream: its modules are lost", "process", key)
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

// restore feeds a process the lines after a place, up to l.
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

// firstOf returns the first line of l's process from a place on.
func (w *worker) firstOf(ctx context.Context, l *line, from uint64) (seq uint64, err error) {
	filter, exact := filterable(l.process)
	for {
		seq, subject, err := w.streams.find(ctx, w.nc, from, filter)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound): // or the server does not have the line yet
			return from, nil
		case err != nil:
			return 0, err
		case exact || seq >= l.seq || w.processOf(&line{subject: subject}) == l.process:
			return min(seq, l.seq), nil
		}
		from = seq + 1
	}
}

// lost reports whether lines of a process after its restore point, 0 for none, were annotated and have aged out of the stream; from is
// the first line that is left. The kept context may then be wrong.
func (w *worker) lost(ctx context.Context, p *process, place, from uint64) (lost bool, err error) {
	if p.published == place {
		return false, nil // there is no later line
	}
	if place == 0 {
		first, err := w.streams.out.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(p.out))
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, fmt.Errorf("look for the first line of %s: %w", p.out, err)
		}
		return err == nil && w.store.lineOf(first.Header.Get(jetstream.MsgIDHeader)) < from, nil
	}
	_, _, err = w.streams.find(ctx, w.nc, place, "") // lines age out in order
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, fmt.Errorf("look for line %d of %s: %w", place, p.subject, err)
	}
	return err != nil, nil
}

// lastPublished finds the last published message of a process.
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

// kept returns the restore point of a process, the zero value if there is none that can be used.
func (w *worker) kept(ctx context.Context, p *process) (s state, err error) {
	entry, err := w.streams.state.Get(ctx, p.name)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return state{}, nil
	case err != nil:
		return state{}, fmt.Errorf("look for the state of %s: %w", p.name, err)
	}
	if err := json.Unmarshal(entry.Value(), &s); err != nil || s.Stream != w.streams.tag {
		return state{}, nil // of another stream: the whole log is read
	}
	return s, nil
}

// keep stores a restore point of a process, if the filter can be restored here. It does not wait, since an older one is valid, too.
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

// keepMemory bounds the memory, in bytes, of states that are being sent.
const keepMemory = 16 << 20

// send sends a value to the bucket of states, and returns the pending answer.
func (w *worker) send(name string, value []byte, options ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	w.keeping.Add(int64(len(value)))
	answer, err := w.js.PublishAsync("$KV."+w.streams.state.Bucket()+"."+name, value, options...)
	if err != nil {
		w.keeping.Add(-int64(len(value)))
	}
	return answer, err
}

// Limits for reading a stream again: the lines in advance; the time after which a server may forget a silent reader; and
// replayWait, after which a silent server has no more lines.
const (
	replayAhead   = 500
	replayForgets = 30 * time.Second
	replayWait    = 5 * time.Second
)

// Errors of reading a stream again.
var (
	errSilent = errors.New("no more lines come")
	errMissed = errors.New("lines have not come")
)

// replay reads the lines of a subject from a sequence on, in order, until each returns false. It returns an error
// if the line until does not come, unless that has aged out of the stream.
func (s *streams) replay(ctx context.Context, nc *nats.Conn, subject string, from, until uint64, each func(*line) (more bool, err error)) error {
	c, err := s.in.CreateConsumer(ctx, jetstream.ConsumerConfig{FilterSubject: subject, AckPolicy: jetstream.AckNonePolicy,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1), InactiveThreshold: replayForgets,
		MemoryStorage: true, Replicas: 1})
	if err != nil {
		return fmt.Errorf("read %s again: %w", subject, err)
	}
	name := c.CachedInfo().Name
	defer func() { _ = s.in.DeleteConsumer(ctx, name) }() // otherwise it expires
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

// reader reads the messages of a consumer in advance.
type reader struct {
	*asking
	share  int // bytes to read in advance
	ready  []*nats.Msg
	size   int    // of these, in bytes
	number uint64 // of the last delivery
}

// next returns the next message. The error is errSilent if none comes within replayWait.
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
