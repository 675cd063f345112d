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

// A line may end the worker that annotates it (out of memory, a fatal error of the runtime), hang it, or make it panic, and the same
// would happen to every next worker. After a few tries, such a line is raw: it is passed on unchanged, under headerRaw.
//
// A panic is recovered, and after the second one the line is raw. A line that takes longer than lineLimit is abandoned with the
// goroutine that annotates it, and is raw immediately. The only trace of a worker's death is that lines are delivered again. Therefore
// lines that may have been in progress when a worker ended are annotated carefully: before a few of them are started, a mark in the
// bucket of states names them, and a worker that finds the mark of another one continues with a mark for each single line, at which none of
// its other partitions has a line of that kind: all begin again at once, and would be found at theirs each time that one of them ends the worker.
// If a line's own mark is found twice, the line is raw. The raw lines are kept next to the mark, so that every worker treats them the same.

// poison is the record of a partition's lines that cannot be annotated, in the bucket of states.
type poison struct {
	// Stream is the tag of the stream in which lines are counted.
	Stream string    `json:"stream"`
	Raw    []rawLine `json:"raw,omitempty"`
	// Mark names the lines that are being annotated, nil for none.
	Mark *mark `json:"mark,omitempty"`
}

// rawLine is a raw line, with one of the reasons below.
type rawLine struct {
	Line uint64 `json:"line"`
	Why  string `json:"why"`
}

// mark names lines that a worker has started to annotate.
type mark struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	// Tries is how often a single line was started.
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
	// poisonPrefix is the beginning of the name of a partition's poison in the bucket.
	poisonPrefix = "poison."
	// markLines is how many lines share a mark at first, and maxTries how often a line is started that may end a worker or panics.
	markLines = 32
	maxTries  = 2
	// maxRaw bounds the remembered raw lines; the oldest are forgotten.
	maxRaw = 1000
	// lineLimit bounds the time for one line, and lookEvery is the time between two checks of that.
	lineLimit = 20 * time.Second
	lookEvery = 50 * time.Millisecond
	// maxStuck is how many lines may hang in a worker before it ends, to be restarted: each of them may keep a core busy.
	maxStuck = 8
)

// errStuck ends a worker in which too many lines hang.
var errStuck = errors.New("too many lines hang: a restarted worker continues without them")

// poisonError is a line that could not be annotated.
type poisonError struct {
	line uint64
	why  string
	// said is the text after the reason.
	said string
}

func (e *poisonError) Error() string { return fmt.Sprintf("line %d: %s%s", e.line, e.why, e.said) }

// vigilance is a partition's state for lines that cannot be annotated.
type vigilance struct {
	w      *worker
	number int // of the partition
	log    *slog.Logger
	poison poison
	// revision is that of poison in the bucket, 0 for none.
	revision uint64
	// overtaken is set if another worker has written a mark since it was read; that mark must stay.
	overtaken bool
	why       map[uint64]string // of poison.Raw
	// fresh are the raw lines before which held text cannot be released.
	fresh  map[uint64]bool
	panics map[uint64]int
	// careful is set while lines are annotated that may have ended another worker. Each of those from first to last gets its own
	// mark; tries belongs to the first one.
	careful            bool
	first, last, begun uint64
	tries              int
}

// examine reads a partition's poison, and handles the mark of a worker that has ended.
func (v *vigilance) examine(ctx context.Context) error {
	var err error
	if v.poison, v.revision, err = v.kept(ctx); err != nil {
		return fmt.Errorf("look for lines that cannot be annotated: %w", err)
	}
	v.overtaken = false
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
			v.condemn(ctx, &poisonError{line: m.First, why: whyCrash, said: fmt.Sprintf(": %d workers have ended while annotating it", m.Tries)})
		}
	}
	return nil
}

// kept reads a partition's poison and its revision, 0 if there is none.
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

// blame records the line that has caused an error. It reports whether another try may succeed because of that.
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

// condemn makes a line raw.
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
		v.log.Warn("record that a line cannot be annotated", "error", err)
	}
}

// remember adds a line to the raw ones.
func (v *vigilance) remember(raw rawLine) {
	v.poison.Raw = append(v.poison.Raw, raw)
	if over := len(v.poison.Raw) - maxRaw; over > 0 {
		v.poison.Raw = slices.Delete(v.poison.Raw, 0, over)
	}
}

// keep stores the poison for the next worker of the partition. If that has already stored something since the poison
// was read, the lines of both are stored, and the mark of the other worker stays.
func (v *vigilance) keep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
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

// single reports whether a line is to have its own mark.
func (v *vigilance) single(l *line) bool {
	return v.careful && l.raw == "" && l.seq >= v.first && l.seq <= v.last
}

// begin marks the first of some lines if they may end this worker, and returns how many of them may be annotated next.
func (v *vigilance) begin(ctx context.Context, lines []*line) (n int) {
	if !v.careful {
		return len(lines)
	}
	if lines[0].raw != "" {
		return 1
	}
	n = 1
	for !v.single(lines[0]) && n < len(lines) && n < markLines && !v.single(lines[n]) && lines[n].raw == "" {
		n++
	}
	m := &mark{First: lines[0].seq, Last: lines[n-1].seq, Worker: v.w.name}
	if v.single(lines[0]) {
		if m.Tries = 1; m.First == v.begun {
			m.Tries += v.tries
		}
	}
	if v.overtaken {
		return n
	}
	v.poison.Mark = m
	if err := v.keep(ctx); err != nil && ctx.Err() == nil { // a line that ends this worker will not be recognized
		v.log.Warn("mark the next lines", "error", err)
	}
	return n
}

// unmark removes the mark.
func (v *vigilance) unmark(ctx context.Context) {
	if v.poison.Mark == nil || v.poison.Mark.Worker != v.w.name {
		return
	}
	v.poison.Mark = nil
	if err := v.keep(ctx); err != nil {
		v.log.Warn("remove the mark of lines", "error", err)
	}
}

// feed annotates lines, each with its process's filter, and adds their messages to out. It returns how many of the lines were fed,
// which is not all if their messages are long. The error is a *poisonError if one of them could not be annotated.
func (p *partition) feed(ctx context.Context, out []message, lines []*line) (_ []message, fed int, err error) {
	limit := int(p.w.limit.Load())
	share := p.w.streams.share()
	for _, l := range lines {
		l.raw, l.fresh = p.vigilance.why[l.seq], p.vigilance.fresh[l.seq]
	}
	size := 0 // of the messages
	for fed < len(lines) && size < share {
		some := lines[fed:]
		single := p.vigilance.single(some[0])
		if single {
			select {
			case p.w.suspect <- struct{}{}:
			case <-ctx.Done():
				return out, fed, ctx.Err()
			}
		}
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
		if single {
			if err == nil {
				p.vigilance.unmark(ctx)
			}
			<-p.w.suspect
		}
		if err != nil { // the steps may still run
			return out, fed, err
		}
		fed += done
	}
	return out, fed, nil
}

// watch does n steps, each for a line, in a separate goroutine. If one of them takes too long, or ctx ends, it returns without waiting
// for the goroutine.
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

// giveUp counts an abandoned goroutine until that is done.
func (p *partition) giveUp(done <-chan struct{}) {
	w := p.w
	if w.stuck.Add(1) >= maxStuck {
		select {
		case w.fatal <- errStuck:
		default: // signaled already
		}
	}
	go func() {
		<-done
		w.stuck.Add(-1)
	}()
}

// steps are the work of one goroutine.
type steps struct {
	now func() time.Time
	// step is the number of the current step, and since the time of its start, in nanoseconds.
	step, since atomic.Int64
	out         []message
	err         *poisonError
}

// at returns the number of the current step.
func (s *steps) at() int { return int(s.step.Load()) }

// progress returns the current step, and how long it has taken.
func (s *steps) progress() (at int, took time.Duration) {
	since := s.since.Load()
	if since == 0 {
		return 0, 0
	}
	return s.at(), time.Duration(s.now().UnixNano() - since)
}

// run does the steps. A panic of a step becomes the error.
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
		if pieces := out[before:]; len(pieces) > batchMessages && pieces[len(pieces)-1].raw == "" { // too many for a batch
			s.err = &poisonError{why: whySize, said: fmt.Sprintf(": its annotated form has %d messages", len(pieces))}
			return
		}
	}
	s.out = out
}
