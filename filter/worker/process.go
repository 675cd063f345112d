package worker

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"qss-filter/filter"
	"qss-filter/filter/prefix"
	"qss-filter/filter/resolve"
	"qss-filter/filter/stream"
)

// line is one message of the input: a line, several of them, or a part of one.
type line struct {
	seq     uint64 // in the stream of the lines
	subject string // with the partition in front
	// process has all subjects of the line's process, with the partition in front; "" where the line is of none.
	process string
	data    []byte
	part    bool // the next message goes on with it
	last    bool // there are no others yet
	ended   bool // data ends with a newline; known once the line was fed
	stored  time.Time
	// of is the line's process, once that is in memory. raw says why the line leaves as it came, "" where it does not; fresh is set
	// where not even what is held back before it can leave.
	of    *process
	raw   string
	fresh bool
}

// process is a process of the log, with its filter. Each of its lines becomes one message; while text is held back, the message
// of the last line waits, to carry that text if no other line comes.
type process struct {
	subject string // of its lines, with wildcards where that varies; the partition is in front
	out     string // of its annotated lines
	name    string // in the bucket of states
	filter  *filter.Filter
	feed    *stream.Feed
	// weight is about how many bytes of memory the process takes, as of when it was weighed last.
	weight int64
	// renew makes a filter.
	renew func() *filter.Filter
	// counted are the frames up to the last line that is counted; fresh is set once there was one that was not published.
	counted resolve.Tally
	fresh   bool
	used    time.Time // when its last line came
	// fed is the last line that the filter has seen.
	fed uint64
	// published is the last line whose message is stored, and outSeq the sequence of that message; clear is the last line after
	// whose message nothing was held back.
	published, outSeq, clear uint64
	// waiting is the line whose message waits, with its own text.
	waiting *line
	text    []byte
	// since counts lines since the place where the process can be taken up, and tried those of which a later place was looked for.
	since, tried int
}

// message is what is published for a line, or a piece of it where it is too long for one.
type message struct {
	of     *process
	seq    uint64 // of the line
	data   []byte
	held   bool   // text is held back after it
	clear  uint64 // the last line before it after which none was
	more   bool   // the next message goes on with it
	raw    string // why the line left as it came
	piece  int
	stored time.Time // when the line was
}

// add feeds a line to the filter, and adds the messages that are complete by that to out.
func (p *process) add(ctx context.Context, out []message, l *line, limit int) []message {
	p.fed = l.seq
	p.since++
	before := p.text
	if p.waiting == nil {
		before = nil
	}
	l.ended = bytes.HasSuffix(l.data, newline)
	data := l.data
	if !l.ended && !l.part {
		data = append(data[:len(data):len(data)], '\n')
	}
	l.data = nil // a line may wait for long
	if !p.fresh && l.seq > p.published {
		p.fresh, p.counted = true, p.filter.Tally()
	}
	text := p.annotate(ctx, l, data)
	if !l.ended && !l.part {
		text = bytes.TrimSuffix(text, newline)
	}
	if l.seq <= p.published { // again, after another worker
		if l.seq == p.clear {
			p.feed.Flush(nil) // as it did
		}
		return out
	}
	if p.waiting != nil {
		out = p.emit(out, p.waiting, before, true, limit)
		p.waiting, p.text = nil, nil
	}
	if p.feed.Holds() {
		p.waiting, p.text = l, text
		return out
	}
	return p.emit(out, l, text, false, limit)
}

var newline = []byte{'\n'}

// annotate feeds a line to the filter and returns what that writes. What would follow a line that was not looked at although it may
// have said something of modules could get wrong names: nothing is known from there on.
func (p *process) annotate(ctx context.Context, l *line, data []byte) []byte {
	if l.raw == "" {
		faults := p.filter.Faults()
		text := p.feed.Add(ctx, nil, data)
		if p.filter.Faults() > faults {
			l.raw = whyPanic
		}
		return text
	}
	if l.fresh {
		p.restart()
	}
	doubtful := l.part || p.feed.Unfinished() || bytes.Contains(data, braces)
	text := p.feed.Raw(nil, data)
	if doubtful && !l.part {
		p.restart()
	}
	return text
}

var braces = []byte("{{{")

// restart forgets all that the filter knows.
func (p *process) restart() {
	p.filter = p.renew()
	p.feed, p.counted = p.filter.Feed(), resolve.Tally{}
}

// rest lets go what is held back, with the message that waits. Of an unfinished line, whose rest may never come, the message
// leaves alone.
func (p *process) rest(out []message, limit int) []message {
	text, held := p.text, p.feed.Unfinished()
	if !held {
		text = p.feed.Flush(text)
		if !p.waiting.ended {
			text = bytes.TrimSuffix(text, newline)
		}
	}
	out = p.emit(out, p.waiting, text, held, limit)
	p.waiting, p.text = nil, nil
	return out
}

// emit adds the message of a line, in pieces of at most limit bytes.
func (p *process) emit(out []message, l *line, text []byte, held bool, limit int) []message {
	m := message{of: p, seq: l.seq, stored: l.stored, held: held, raw: l.raw, clear: p.clear}
	if !held {
		p.clear = l.seq
	}
	for ; len(text) > limit; m.piece++ {
		m.data, text, m.more = text[:limit], text[limit:], true
		out = append(out, m)
	}
	m.data, m.more = text, false
	return append(out, m)
}

// partWait is how long the rest of a line is waited for before lines of other processes may be acknowledged past it.
const partWait = 10 * time.Second

// resting reports whether what is held back has waited long enough.
func (p *process) resting(now time.Time, idle time.Duration) bool {
	if p.waiting != nil && p.feed.Unfinished() {
		idle = max(idle, partWait)
	}
	return p.waiting != nil && now.Sub(p.used) >= idle
}

// shipper sends the lines of one log. Batches go one after the other, each whole or not at all, so that the order holds whatever
// must be sent again; while one is on its way the next is read.
type shipper struct {
	opt     *PublishOptions
	nc      *nats.Conn
	log     *slog.Logger
	session string // of message IDs
	limit   int
	sent    uint64 // lines, or parts of them
	// asked is closed when the end is asked for. giveUp ends the reading, once refused says why nothing is stored any more;
	// unstored counts the lines of which that is true.
	asked    <-chan struct{}
	wait     time.Duration // from then on, for a server that takes nothing
	giveUp   func()
	refused  error
	unstored int

	reader prefix.Reader
	rest   []byte // of the last piece: the beginning of a line
	more   bool   // the beginning of that line has left already
	// subject is that of the last line.
	subject string
	batch   []*nats.Msg
	size    int
}

// readAhead is how many pieces of the log, of pieceSize bytes each, are read before they can be sent. When the log is to end,
// a read that is on its way is waited for, but not for longer than readWait: that of a silent pipe may take for ever.
const (
	readAhead = 8
	pieceSize = 64 << 10
	readWait  = time.Second
)

// run sends the log until its end, or that of ctx; all that was read by then is sent.
func (s *shipper) run(ctx context.Context) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	late, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(readWait, leave) })()
	s.giveUp = func() { stop(); leave() }
	pieces := make(chan []byte, readAhead)
	failed := make(chan error, 1)
	go s.read(reading, pieces, failed)
	for open := true; open; {
		var piece []byte
		select {
		case piece, open = <-pieces: // before all other messages
		default:
			s.flush()
			select {
			case piece, open = <-pieces:
			case <-late.Done():
				open = false
			}
		}
		s.add(piece)
	}
	if len(s.rest) > 0 {
		s.line(s.rest, false)
	}
	s.flush()
	var err error
	select {
	case err = <-failed:
	default:
	}
	if s.refused != nil {
		err = errors.Join(fmt.Errorf("%d lines are not stored: %w", s.unstored, s.refused), err)
	}
	return err
}

// read reads the log, piece by piece.
func (s *shipper) read(ctx context.Context, pieces chan<- []byte, failed chan<- error) {
	defer close(pieces)
	for ctx.Err() == nil {
		b := make([]byte, pieceSize)
		n, err := s.opt.Stdin.Read(b)
		if n > 0 {
			pieces <- b[:n]
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				failed <- fmt.Errorf("read the log: %w", err)
			}
			return
		}
	}
}

// add takes a piece of the log: its lines, and the parts of one that is too long for a message.
func (s *shipper) add(piece []byte) {
	s.rest = append(s.rest, piece...)
	for {
		n := bytes.IndexByte(s.rest, '\n') + 1
		switch {
		case n > 0 && n <= s.limit:
			s.line(s.rest[:n:n], false)
		case n > s.limit || len(s.rest) > s.limit:
			n = s.limit
			s.line(s.rest[:n:n], true)
		default:
			s.rest = bytes.Clone(s.rest)
			return
		}
		s.rest = s.rest[n:]
	}
}

// line adds a line, or a part of one, to the batch.
func (s *shipper) line(b []byte, part bool) {
	m := &nats.Msg{Data: b, Header: nats.Header{}}
	if !s.more { // otherwise it goes on with the line before
		s.subject = s.subjectOf(b)
	}
	m.Subject = s.subject
	if part {
		m.Header[headerPart] = []string{"1"}
	}
	s.more = part
	s.sent++
	m.Header[jetstream.MsgIDHeader] = []string{s.session + ":" + strconv.FormatUint(s.sent, 10)}
	s.batch = append(s.batch, m)
	s.size += len(b)
	if len(s.batch) == batchMessages || s.size >= batchBytes {
		s.flush()
	}
}

// subjectOf returns the subject of a line, by the prefix that loggers have put before it.
func (s *shipper) subjectOf(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	p := s.reader.Read(line)
	host := string(p.Host.Of(line))
	p.Host, p.Claimed = prefix.Span{}, prefix.Span{} // what a headline claims is not repeated on its frames
	pid := strings.TrimPrefix(string(p.AppendKey(nil, line, prefix.ByAuto)), "#")
	if p.Claimed.Empty() && pid == "" {
		pid = s.opt.PID
	}
	return s.opt.filled(tokenOf(cmp.Or(host, s.opt.Host)), tokenOf(pid))
}

// flush sends the batch until it is stored. Once the end was asked for it gives up after wait, and everything that would
// come later with it.
func (s *shipper) flush() {
	asked, late := s.asked, (<-chan time.Time)(nil)
	for pause := retryPause; len(s.batch) > 0 && s.refused == nil; pause = min(2*pause, maxRetryPause) {
		err := s.send()
		if err == nil || isDuplicate(err) { // stored, and the reply was lost
			s.batch, s.size = nil, 0
			return
		}
		if errors.Is(err, nats.ErrConnectionClosed) {
			s.refuse(err)
			break
		}
		s.log.Warn("send lines again", "lines", len(s.batch), "error", err)
		select {
		case <-time.After(pause):
		case <-asked:
			asked, late = nil, time.After(s.wait)
		case <-late:
			s.refuse(err)
		}
	}
	for _, m := range s.batch {
		if m.Header[headerPart] == nil {
			s.unstored++
		}
	}
	s.batch, s.size = nil, 0
}

// refuse gives up sending.
func (s *shipper) refuse(err error) {
	s.refused = err
	s.giveUp()
}

// send sends the batch once.
func (s *shipper) send() error {
	b := batch{nc: s.nc, id: nuid.Next()}
	last := len(s.batch) - 1
	for _, m := range s.batch[:last] {
		if err := b.add(m); err != nil {
			return err
		}
	}
	_, err := b.commit(context.Background(), s.batch[last])
	delete(s.batch[last].Header, headerBatchCommit)
	return err
}

// isDuplicate reports whether an error is that of a batch whose messages are stored already.
func isDuplicate(err error) bool {
	api, ok := errors.AsType[*jetstream.APIError](err)
	return ok && (api.ErrorCode == errDuplicateInBatch)
}

// errDuplicateInBatch is what a server says of a batch with the ID of a message that is stored (nats-server, errors.json).
const errDuplicateInBatch = 10201
