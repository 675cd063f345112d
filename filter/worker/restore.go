package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/nats-io/nats.go/jetstream"

	"qss-filter/filter"
)

// state is what is kept of a process, in the bucket: where its log can be taken up.
type state struct {
	// Stream is the tag of the stream that Line counts in.
	Stream string `json:"stream"`
	// Line is the last line before that place, and Context what a new filter must be told there, as lines of markup.
	Line    uint64 `json:"line"`
	Context string `json:"context"`
}

// stateEvery is how many lines of a process are read again at most, where its log allows to take it up anywhere; and
// stateRetry how many pass before a log that did not allow it is tried again.
const (
	stateEvery = 256
	stateRetry = 16
)

// processOf gives all subjects of a line's process, with the partition in front; "" for a line that is none of those asked for.
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

// open gives the filter of a process as it is before a line: what was published of it last, the context that was kept, and
// then the lines from there on. Messages of lines that had none yet are added to out; up to floor all have one.
func (w *worker) open(ctx context.Context, out []message, l *line, floor uint64) (*process, []message, error) {
	_, subject, _ := strings.Cut(l.subject, ".")
	key := w.key.keyOf(subject)
	p := &process{subject: l.process, out: outSubject(w.opt.Out, key), name: stateName(key), filter: filter.New(w.opt.Filter)}
	p.feed = filter.NewFeed(p.filter)
	if err := w.lastPublished(ctx, p); err != nil {
		return nil, out, err
	}
	kept, err := w.kept(ctx, p)
	if err != nil {
		return nil, out, err
	}
	first, err := w.streams.in.GetMsg(ctx, kept.Line+1, jetstream.WithGetMsgSubject(l.process))
	if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, out, fmt.Errorf("look for the begin of %s: %w", key, err)
	}
	from := kept.Line + 1
	if err == nil { // else there is none behind that place, or the server that answers has yet to hear of the line at hand
		from = min(first.Sequence, l.seq)
	}
	lost, err := w.lost(ctx, p, kept.Line, from)
	if err != nil {
		return nil, out, err
	}
	if lost {
		w.log.Warn("a part of a log has aged out of the stream: what it said of modules is lost", "process", key)
	} else if kept.Context != "" {
		p.feed.Flush(p.feed.Add(ctx, nil, []byte(kept.Context)))
	}
	p.published = max(p.published, kept.Line, floor)
	p.fed = kept.Line
	if from < l.seq {
		w.counts.restored.Add(1)
		err = w.streams.replay(ctx, l.process, from, l.seq, func(before *line) (more bool, err error) {
			if before.seq >= l.seq {
				return false, nil
			}
			w.counts.replayed.Add(1)
			out = p.add(ctx, out, before, w.limit)
			return true, nil
		})
	}
	return p, out, err
}

// lost tells whether lines of a process that some worker has seen have aged out of the stream from behind the place that was
// kept, 0 for none, of which the first that is there is from. What was kept is wrong then: they may have changed it.
func (w *worker) lost(ctx context.Context, p *process, place, from uint64) (lost bool, err error) {
	if p.published == place {
		return false, nil // nothing came behind it
	}
	if place == 0 {
		first, err := w.streams.out.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(p.out))
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return false, fmt.Errorf("look for the first line of %s: %w", p.out, err)
		}
		return err == nil && w.store.lineOf(first.Header.Get(jetstream.MsgIDHeader)) < from, nil
	}
	_, err = w.streams.in.GetMsg(ctx, place) // lines age out in their order
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
	p.held = last.Header.Get(headerHeld) != ""
	return nil
}

// kept gives what is kept of a process, the zero value where that is nothing of use.
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

// keep stores where a process can be taken up, if that is here. Nobody waits for it: an older place does, too.
func (w *worker) keep(p *process) {
	if p.since == 0 || p.waiting != nil || p.fed != p.published {
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
	if err != nil || len(value) > w.limit {
		return
	}
	if _, err := w.js.PublishAsync("$KV."+w.streams.state.Bucket()+"."+p.name, value); err == nil {
		p.since, p.tried = 0, 0
	}
}
