package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Headers of messages of our own.
const (
	// headerPart is on a message whose line continues in the next one of its subject.
	headerPart = "Qss-Part"
	// headerHeld is on an annotated line after which text is held, which comes with a later line. Its value is the sequence of the last
	// line before it after which no text was held.
	headerHeld = "Qss-Held"
	// headerRaw is on a line that could not be annotated and is passed on unchanged. Its value is the reason: crash, hang, panic or size.
	headerRaw = "Qss-Raw"
)

// Limits of an atomic batch: messages, which is the servers' limit, and bytes.
const (
	batchMessages = 1000
	batchBytes    = 4 << 20
)

// storeWait bounds the time in which a server stores a batch.
const storeWait = 5 * time.Second

// store publishes messages in atomic batches. A batch is stored only if no other worker has published for the same processes
// in between: a worker that loses such a race loses only time.
type store struct {
	nc  *nats.Conn
	tag string // of message IDs
}

// put stores messages in order, and returns those that are stored. After an *unansweredError, the batch after these
// may be stored or not.
func (s *store) put(ctx context.Context, messages []message) (stored []message, err error) {
	for n := 0; len(stored) < len(messages); stored = messages[:len(stored)+n] {
		rest := messages[len(stored):]
		n = batchLen(rest)
		if err := s.batch(ctx, rest[:n]); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// batchLen returns how many messages go into one batch.
func batchLen(messages []message) (n int) {
	size := 0
	for n < len(messages) && n < batchMessages && (size < batchBytes || messages[n].piece > 0) {
		size += len(messages[n].data)
		n++
	}
	for n < len(messages) && n > 1 && messages[n].piece > 0 { // do not split the pieces of a line
		n--
	}
	return n
}

// unansweredError is the error of a batch that the server may have stored or not.
type unansweredError struct {
	batch string // its ID
	err   error
}

func (e *unansweredError) Error() string { return e.err.Error() }
func (e *unansweredError) Unwrap() error { return e.err }

// batch stores messages as one atomic batch.
func (s *store) batch(ctx context.Context, messages []message) error {
	first := map[*process]bool{}
	b := batch{nc: s.nc, id: nuid.Next()}
	for i := range messages {
		m := &messages[i]
		msg := &nats.Msg{Subject: m.of.out, Data: m.data, Header: nats.Header{jetstream.MsgIDHeader: {s.id(m)}}}
		if !first[m.of] {
			first[m.of] = true
			msg.Header[jetstream.ExpectedLastSubjSeqHeader] = []string{strconv.FormatUint(m.of.outSeq, 10)}
		}
		if m.held {
			msg.Header[headerHeld] = []string{strconv.FormatUint(m.clear, 10)}
		}
		if m.raw != "" {
			msg.Header[headerRaw] = []string{m.raw}
		}
		if m.more {
			msg.Header[headerPart] = []string{"1"}
		}
		if i == len(messages)-1 {
			ack, err := b.commit(ctx, msg)
			if err != nil {
				return err
			}
			for k := range messages {
				m := &messages[k]
				m.of.published = m.seq
				m.of.outSeq = ack - uint64(len(messages)-1-k)
			}
		} else if err := b.add(msg); err != nil {
			return err
		}
	}
	return nil
}

// id returns the message ID of an annotated line: the stream, and the line's sequence in it.
func (s *store) id(m *message) string {
	id := s.tag + ":" + strconv.FormatUint(m.seq, 10)
	if m.more {
		id += "/" + strconv.Itoa(m.piece)
	}
	return id
}

// lineOf returns the line of an annotated one, 0 if it is not from our stream.
func (s *store) lineOf(id string) uint64 {
	rest, ok := strings.CutPrefix(id, s.tag+":")
	if !ok {
		return 0
	}
	rest, _, _ = strings.Cut(rest, "/")
	seq, err := strconv.ParseUint(rest, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// batch is an atomic batch in progress: messages that become visible when the last one commits them.
type batch struct {
	nc *nats.Conn
	id string
	n  int
}

// Headers and reply of atomic batches (NATS ADR-50).
const (
	headerBatch       = "Nats-Batch-Id"
	headerBatchNumber = "Nats-Batch-Sequence"
	headerBatchCommit = "Nats-Batch-Commit"
)

// add sends one of the messages before the last.
func (b *batch) add(m *nats.Msg) error {
	b.number(m)
	return b.nc.PublishMsg(m)
}

// commit sends the last message, and returns its sequence.
func (b *batch) commit(ctx context.Context, m *nats.Msg) (seq uint64, err error) {
	b.number(m)
	m.Header[headerBatchCommit] = []string{"1"}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	reply, err := b.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, &unansweredError{b.id, fmt.Errorf("store %d lines under %s: %w", b.n, m.Subject, err)}
	}
	var ack struct {
		Sequence uint64              `json:"seq"`
		Error    *jetstream.APIError `json:"error"`
	}
	switch err := json.Unmarshal(reply.Data, &ack); {
	case err != nil:
		return 0, &unansweredError{b.id, fmt.Errorf("store %d lines under %s: read the reply: %w", b.n, m.Subject, err)}
	case ack.Error != nil:
		return 0, fmt.Errorf("store %d lines under %s: %w", b.n, m.Subject, ack.Error)
	case ack.Sequence < uint64(b.n):
		return 0, errors.New("store lines under " + m.Subject + ": the server has no atomic batches (nats-server 2.14 has)")
	}
	return ack.Sequence, nil
}

func (b *batch) number(m *nats.Msg) {
	b.n++
	m.Header[headerBatch] = []string{b.id}
	m.Header[headerBatchNumber] = []string{strconv.Itoa(b.n)}
}

// attempt is a batch without an answer: it may be stored or not.
type attempt struct {
	batch    string    // its ID
	messages []message // without their texts
	bytes    int64     // of these
}

// maxAttempts bounds the remembered attempts.
const maxAttempts = 8

// unsure remembers an attempt, which is counted later if it was stored.
func (p *partition) unsure(batch string, messages []message) {
	a := attempt{batch: batch, messages: slices.Clone(messages)}
	for i := range a.messages {
		a.bytes += int64(len(a.messages[i].data))
		a.messages[i].data = nil
	}
	if len(p.attempts) == maxAttempts {
		p.attempts = p.attempts[1:]
	}
	p.attempts = append(p.attempts, a)
}

// settle counts the attempts that were stored. It must be called when the lines are stored, by this worker or another: the message that
// follows the one before an attempt then belongs to that batch or to another one permanently.
func (p *partition) settle(ctx context.Context) {
	for _, a := range p.attempts {
		of := a.messages[0].of
		m, err := p.w.streams.out.GetMsg(ctx, of.outSeq+1, jetstream.WithGetMsgSubject(of.out))
		if err != nil || m.Header.Get(headerBatch) != a.batch {
			continue // the worker that sent the other batch counts it
		}
		p.w.counts.stored(a.messages)
		p.w.counts.bytes.Add(a.bytes)
		for i := range a.messages {
			p.w.counts.tally(a.messages[i].of)
		}
	}
	p.attempts = nil
}
