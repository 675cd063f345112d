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
	part    bool // the next message continues it
	last    bool // there are no others yet
	ended   bool // data ends with a newline; valid after the line was fed
	stored  time.Time
	// of is the line's process, when that is in memory. raw is the reason of a raw line, "" for others; fresh is set
	// if not even the text held before it can be released.
	of    *process
	raw   string
	fresh bool
}

// process is a process of the log, with its filter. Each of its lines becomes one message. While text is held, the message
// of the last line waits, so that it can carry that text if no other line comes.
type process struct {
	subject string // of its lines, with wildcards for what varies; the partition is in front
	out     string // of its annotated lines
	name    string // in the bucket of states
	filter  *filter.Filter
	feed    *stream.Feed
	// weight is the approximate memory of the process in bytes, when it was weighed last.
	weight int64
	// renew returns a new filter.
	renew func() *filter.Filter
	// counted are the frames up to the last counted line; fresh is set after a line that was not published before.
	counted resolve.Tally
	fresh   bool
	used    time.Time // of its last line
	// fed is the last line that the filter has seen.
	fed uint64
	// published is the last line whose message is stored, and outSeq the sequence of that message; clear is the last line after
	// whose message no text was held.
	published, outSeq, clear uint64
	// waiting is the line of the waiting message, with its own text.
	waiting *line
	text    []byte
	// since counts the lines after the last restore point, and tried those after which a later one was looked for.
	since, tried int
}

// message is the annotated form of a line, or a piece of it if that is too long for one message.
type message struct {
	of     *process
	seq    uint64 // of the line
	data   []byte
	held   bool   // text is held after it
	clear  uint64 // the last line before it after which no text was held
	more   bool   // the next message continues it
	raw    string // the reason of a raw line
	piece  int
	stored time.Time // when the line was
}

// add feeds a line to the filter, and adds the messages that this completes to out.
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
	l.data = nil // a line may wait for a long time
	if !p.fresh && l.seq > p.published {
		p.fresh, p.counted = true, p.filter.Tally()
	}
	text := p.annotate(ctx, l, data)
	if !l.ended && !l.part {
		text = bytes.TrimSuffix(text, newline)
	}
	if l.seq <= p.published { // published by another worker
		if l.seq == p.clear {
			p.feed.Flush(nil) // as the other worker did
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

// annotate feeds a line to the filter and returns its output. A raw line may have defined modules, so that later frames
// could get wrong names: after such a line all modules are forgotten.
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

// restart drops the state of the filter.
func (p *process) restart() {
	p.filter = p.renew()
	p.feed, p.counted = p.filter.Feed(), resolve.Tally{}
}

// rest releases the held text with the waiting message. If the line is not complete, only the message is released, since the rest may
// never come.
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

// partWait is how long to wait for the rest of a line before later lines of other processes may be acknowledged.
const partWait = 10 * time.Second

// resting reports whether the held text has waited long enough.
func (p *process) resting(now time.Time, idle time.Duration) bool {
	if p.waiting != nil && p.feed.Unfinished() {
		idle = max(idle, partWait)
	}
	return p.waiting != nil && now.Sub(p.used) >= idle
}

// shipper sends the lines of one log. Batches are atomic and sent one after the other, so that the order is kept even if some must be
// sent again. While one is being sent, the next is read.
type shipper struct {
	opt     *PublishOptions
	nc      *nats.Conn
	log     *slog.Logger
	session string // of message IDs
	limit   int
	sent    uint64 // lines, or parts of them
	// asked is closed to ask for the end. refused says why nothing is stored any more; giveUp then ends the reading, and
	// unstored counts the lines that are not stored.
	asked    <-chan struct{}
	wait     time.Duration // after that, for a server that does not accept lines
	giveUp   func()
	refused  error
	unstored int

	reader prefix.Reader
	rest   []byte // of the last piece: the beginning of a line
	more   bool   // the beginning of that line was sent already
	// subject is the subject of the last line.
	subject string
	batch   []*nats.Msg
	size    int
}

// readAhead is how many pieces of the log, of pieceSize bytes each, are read before they can be sent. At the end
// the shipper waits for a read in progress, but not for longer than readWait: a read of a silent pipe may take forever.
const (
	readAhead = 8
	pieceSize = 64 << 10
	readWait  = time.Second
)

// run sends the log until it or ctx ends; then it sends everything that was read.
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

// add adds a piece of the log: its lines, and the parts of a line that is too long for a message.
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
	if !s.more { // otherwise it continues the line before
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

// subjectOf returns the subject of a line, by the prefixes of its loggers.
func (s *shipper) subjectOf(line []byte) string {
	line = bytes.TrimRight(line, "\r\n")
	p := s.reader.Read(line)
	host := string(p.Host.Of(line))
	p.Host, p.Claimed = prefix.Span{}, prefix.Span{} // the frames below a headline do not repeat its claim
	pid := strings.TrimPrefix(string(p.AppendKey(nil, line, prefix.ByAuto)), "#")
	if p.Claimed.Empty() && pid == "" {
		pid = s.opt.PID
	}
	return s.opt.filled(tokenOf(cmp.Or(host, s.opt.Host)), tokenOf(pid))
}

// flush sends the batch until it is stored. After the end was asked for, it gives up after wait, and refuses all later
// lines.
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

// refuse stops sending.
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
