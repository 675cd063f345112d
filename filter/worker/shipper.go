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

	"qss-filter/filter/prefix"
)

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
