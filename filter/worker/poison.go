package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A line may end the worker that annotates it (out of memory, a fatal error of the runtime), hang it, or make it panic, and so the
// next worker, for ever. Such a line leaves as it came, under headerRaw, after a few tries:
//
// A panic is recovered, and at the second one the line is raw. A line that takes longer than lineLimit is given up with the
// goroutine that annotates it, and raw at once. Of the death of a worker nothing remains but that lines are delivered again; therefore
// lines that may have been on their way when a worker ended are annotated carefully: before a few of them are begun a mark in the
// bucket of states says which, and a worker that finds the mark of another one there goes on with a mark for each single one of these. The
// line whose own mark is found twice is raw. Which lines are is kept beside the mark, so that every worker makes the same of them.

// poison is what is kept of a partition's lines that cannot be annotated, in the bucket of states.
type poison struct {
	// Stream is the tag of the stream that lines are counted in.
	Stream string    `json:"stream"`
	Raw    []rawLine `json:"raw,omitempty"`
	// Mark is of the lines that are being annotated, nil for none.
	Mark *mark `json:"mark,omitempty"`
}

// rawLine is a line that leaves as it came, and why: one of the reasons below.
type rawLine struct {
	Line uint64 `json:"line"`
	Why  string `json:"why"`
}

// mark is of lines that a worker has begun to annotate.
type mark struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Tries is how often a single line was begun.
	Tries  int    `json:"tries"`
	Worker string `json:"worker"`
}

// Why a line is raw.
const (
	whyCrash = "crash"
	whyHang  = "hang"
	whyPanic = "panic"
	whySize  = "size"
)

const (
	// poisonPrefix begins the name of a partition's poison in the bucket.
	poisonPrefix = "poison."
	// markLines is how many lines share a mark at first, and maxTries how often a line is begun that may end a worker, or panics.
	markLines = 32
	maxTries  = 2
	// maxRaw bounds the lines that are remembered to be raw; the oldest are forgotten.
	maxRaw = 1000
	// lineLimit is how long one line may take, and lookEvery how often it is looked whether it takes longer.
	lineLimit = 20 * time.Second
	lookEvery = 50 * time.Millisecond
	// maxStuck is how many lines may hang in a worker before it ends, to be started again: each of them may keep a processor busy.
	maxStuck = 8
)

// errStuck ends a worker in which too many lines hang.
var errStuck = errors.New("too many lines hang: a worker that is started again goes on without them")

// poisonError is a line that could not be annotated.
type poisonError struct {
	line uint64
	why  string
	// said is what is known beside the reason.
	said string
}

func (e *poisonError) Error() string { return fmt.Sprintf("line %d: %s%s", e.line, e.why, e.said) }

// vigilance is what a partition knows of its poisonous lines.
type vigilance struct {
	w      *worker
	number int // of the partition
	log    *slog.Logger
	poison poison
	// revision is that of poison in the bucket, 0 for none; sent is the answer to a value that was not waited for.
	revision uint64
	sent     jetstream.PubAckFuture
	// overtaken is set where another worker has put a mark there since it was read: that stays.
	overtaken bool
	why       map[uint64]string // of poison.Raw
	// fresh are those of these lines before which nothing that is held back can leave.
	fresh  map[uint64]bool
	panics map[uint64]int
	// careful is set while lines are annotated that another worker may have ended on. Of those from first to last each gets a mark of
	// its own; tries of the first one are known.
	careful            bool
	first, last, begun uint64
	tries              int
}

// examine reads what is kept of a partition's poison, and what the mark of a worker that is gone says.
func (v *vigilance) examine(ctx context.Context) error {
	var err error
	if v.poison, v.revision, err = v.kept(ctx); err != nil {
		return fmt.Errorf("look for lines that cannot be annotated: %w", err)
	}
	v.sent, v.overtaken = nil, false
	v.why = map[uint64]string{}
	for _, raw := range v.poison.Raw {
		v.why[raw.Line] = raw.Why
	}
	m := v.poison.Mark
	if m == nil || m.Worker == v.w.name {
		return nil
	}
	v.first, v.last, v.begun, v.tries = m.First, m.Last, 0, 0
	if m.First == m.Last {
		v.begun, v.tries = m.First, m.Tries
		if m.Tries >= maxTries {
			v.condemn(ctx, &poisonError{line: m.First, why: whyCrash, said: fmt.Sprintf(": %d workers have ended while they annotated it", m.Tries)})
		}
	}
	return nil
}

// kept reads what is kept of a partition's poison, and its revision, 0 where there is none.
func (v *vigilance) kept(ctx context.Context) (found poison, revision uint64, err error) {
	none := poison{Stream: v.w.streams.tag}
	entry, err := v.w.streams.state.Get(ctx, poisonPrefix+strconv.Itoa(v.number))
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return none, 0, nil
	case err != nil:
		return none, 0, err
	}
	if json.Unmarshal(entry.Value(), &found) != nil || found.Stream != none.Stream {
		found = none
	}
	return found, entry.Revision(), nil
}

// blame notes a line that has caused an error. It reports whether the next try is a better one for that.
func (v *vigilance) blame(ctx context.Context, err error) bool {
	bad, ok := errors.AsType[*poisonError](err)
	if !ok {
		return false
	}
	if v.panics == nil {
		v.panics = map[uint64]int{}
	}
	if bad.why == whyPanic {
		if v.panics[bad.line]++; v.panics[bad.line] < maxTries {
			return true
		}
		delete(v.panics, bad.line)
	}
	v.condemn(ctx, bad)
	return true
}

// condemn lets a line leave as it came from now on.
func (v *vigilance) condemn(ctx context.Context, bad *poisonError) {
	v.log.Error("a line cannot be annotated: it leaves as it came", "line", bad.line, "reason", bad.why+bad.said)
	if v.why == nil {
		v.why = map[uint64]string{}
	}
	if v.why[bad.line] == "" {
		v.remember(rawLine{bad.line, bad.why})
	}
	if v.why[bad.line] != "" {
		if v.fresh == nil {
			v.fresh = map[uint64]bool{}
		}
		v.fresh[bad.line] = true
	}
	v.why[bad.line] = bad.why
	if !v.overtaken {
		v.poison.Mark = nil
	}
	if err := v.keep(ctx); err != nil {
		v.log.Warn("keep that a line cannot be annotated", "error", err)
	}
}

// remember adds a line to those that are raw.
func (v *vigilance) remember(raw rawLine) {
	v.poison.Raw = append(v.poison.Raw, raw)
	if over := len(v.poison.Raw) - maxRaw; over > 0 {
		v.poison.Raw = slices.Delete(v.poison.Raw, 0, over)
	}
}

// keep stores what is known, for the worker that has the partition next. That may be one already, which has stored something since it
// was read: then the lines of both are stored, and the mark of the other one stays.
func (v *vigilance) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if v.sent != nil {
		select {
		case answer := <-v.sent.Ok():
			v.revision = answer.Sequence
		case <-v.sent.Err(): // then it is a conflict, or not stored
		case <-ctx.Done():
			return ctx.Err()
		}
		v.sent = nil
	}
	name := poisonPrefix + strconv.Itoa(v.number)
	for {
		value, err := json.Marshal(&v.poison)
		if err != nil {
			return err
		}
		var revision uint64
		if v.revision == 0 {
			revision, err = v.w.streams.state.Create(ctx, name, value)
		} else {
			revision, err = v.w.streams.state.Update(ctx, name, value, v.revision)
		}
		if err == nil {
			v.revision = revision
			return nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) && !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
			return err
		}
		kept, revision, err := v.kept(ctx)
		if err != nil {
			return err
		}
		v.revision = revision
		for _, raw := range kept.Raw {
			if v.why[raw.Line] == "" {
				v.why[raw.Line] = raw.Why
				v.remember(raw)
			}
		}
		if kept.Mark != nil && kept.Mark.Worker != v.w.name {
			v.poison.Mark, v.overtaken = kept.Mark, true
		}
	}
}

// begin marks the first of some lines where one of them may end this worker, and returns how many of them may be annotated next.
func (v *vigilance) begin(ctx context.Context, lines []*line) (n int) {
	if !v.careful {
		return len(lines)
	}
	if lines[0].raw != "" {
		return 1
	}
	single := func(l *line) bool { return l.seq >= v.first && l.seq <= v.last }
	n = 1
	for !single(lines[0]) && n < len(lines) && n < markLines && !single(lines[n]) && lines[n].raw == "" {
		n++
	}
	m := &mark{First: lines[0].seq, Last: lines[n-1].seq, Worker: v.w.name}
	if single(lines[0]) {
		if m.Tries = 1; m.First == v.begun {
			m.Tries += v.tries
		}
	}
	if v.overtaken {
		return n
	}
	v.poison.Mark = m
	if err := v.keep(ctx); err != nil && ctx.Err() == nil { // then a line that ends this worker will not be known
		v.log.Warn("mark the lines to come", "error", err)
	}
	return n
}

// unmark takes the mark back. That is not waited for unless it is the last word.
func (v *vigilance) unmark(ctx context.Context, wait bool) {
	if v.poison.Mark == nil || v.poison.Mark.Worker != v.w.name {
		return
	}
	v.poison.Mark = nil
	if wait {
		if err := v.keep(ctx); err != nil {
			v.log.Warn("take the mark of lines back", "error", err)
		}
		return
	}
	if value, err := json.Marshal(&v.poison); err == nil && v.sent == nil && v.revision > 0 {
		v.sent, _ = v.w.send(poisonPrefix+strconv.Itoa(v.number), value, jetstream.WithExpectLastSequencePerSubject(v.revision))
	}
}

// feed annotates lines, each with its process's filter, and adds their messages to out. It returns how many of the lines were fed:
// not all where their messages are long. The error is a *poisonError where one of them could not be annotated.
func (p *partition) feed(ctx context.Context, out []message, lines []*line) (_ []message, fed int, err error) {
	limit := int(p.w.limit.Load())
	share := p.w.streams.share()
	for _, l := range lines {
		l.raw, l.fresh = p.vigilance.why[l.seq], p.vigilance.fresh[l.seq]
	}
	size := 0 // of the messages
	for fed < len(lines) && size < share {
		some := lines[fed:]
		n := p.vigilance.begin(ctx, some)
		done := 0
		out, err = p.watch(ctx, out, n, func(i int) uint64 { return some[i].seq }, func(ctx context.Context, out []message, i int) []message {
			if size >= share {
				return out
			}
			l, before := some[i], len(out)
			if l.seq > l.of.fed { // otherwise it was delivered twice
				out = l.of.add(ctx, out, l, limit)
			}
			for k := range out[before:] {
				size += len(out[before+k].data)
			}
			done++
			return out
		})
		if err != nil { // the steps may be going on
			return out, fed, err
		}
		if v := &p.vigilance; v.poison.Mark != nil && v.poison.Mark.Tries > 0 {
			p.vigilance.unmark(ctx, false)
		}
		fed += done
	}
	return out, fed, nil
}

// watch does n steps, each for a line, in a goroutine of its own. Where one of them takes too long, or the end of ctx comes, it returns
// without that.
func (p *partition) watch(ctx context.Context, out []message, n int, line func(i int) uint64, do func(context.Context, []message, int) []message) ([]message, error) {
	select {
	case p.w.annotating <- struct{}{}:
		defer func() { <-p.w.annotating }()
	case <-ctx.Done():
		return out, ctx.Err()
	}
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &steps{now: p.w.now}
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.run(work, out, n, do)
	}()
	late := time.NewTicker(lookEvery)
	defer late.Stop()
	for {
		select {
		case <-done:
			if s.err != nil {
				s.err.line = line(s.at())
				return out, s.err
			}
			return s.out, nil
		case <-ctx.Done():
			p.giveUp(done)
			return out, ctx.Err()
		case <-late.C:
			if at, took := s.progress(); took > lineLimit {
				p.giveUp(done)
				return out, &poisonError{line: line(at), why: whyHang, said: fmt.Sprintf(": it takes longer than %v", lineLimit)}
			}
		}
	}
}

// giveUp leaves a goroutine to itself, until that is done.
func (p *partition) giveUp(done <-chan struct{}) {
	w := p.w
	if w.stuck.Add(1) >= maxStuck {
		select {
		case w.fatal <- errStuck:
		default: // it is known
		}
	}
	go func() {
		<-done
		w.stuck.Add(-1)
	}()
}

// steps are what one goroutine does.
type steps struct {
	now func() time.Time
	// step is the number of the one at hand, and since when it was begun, in nanoseconds.
	step, since atomic.Int64
	out         []message
	err         *poisonError
}

// at returns the number of the step at hand.
func (s *steps) at() int { return int(s.step.Load()) }

// progress returns the step at hand, and how long it has taken.
func (s *steps) progress() (at int, took time.Duration) {
	since := s.since.Load()
	if since == 0 {
		return 0, 0
	}
	return s.at(), time.Duration(s.now().UnixNano() - since)
}

// run does the steps. What a step panics with is the error.
func (s *steps) run(ctx context.Context, out []message, n int, do func(context.Context, []message, int) []message) {
	defer func() {
		if cause := recover(); cause != nil {
			s.err = &poisonError{why: whyPanic, said: fmt.Sprintf(": %v\n%s", cause, debug.Stack())}
		}
	}()
	for i := range n {
		s.step.Store(int64(i))
		s.since.Store(s.now().UnixNano())
		before := len(out)
		out = do(ctx, out, i)
		if pieces := out[before:]; len(pieces) > batchMessages && pieces[len(pieces)-1].raw == "" { // which no batch takes
			s.err = &poisonError{why: whySize, said: fmt.Sprintf(": its annotated form has %d messages", len(pieces))}
			return
		}
	}
	s.out = out
}
