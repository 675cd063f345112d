package worker

import (
	"context"
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// attempt is a batch of which no answer has come: it may be stored or not.
type attempt struct {
	batch    string    // its ID
	messages []message // without their texts
	bytes    int64     // of these
}

// maxAttempts bounds the attempts that are remembered.
const maxAttempts = 8

// unsure remembers an attempt, to be counted if it turns out to be stored.
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

// settle counts what attempts have stored after all. It is asked for when the lines are stored, whoever did it: then what follows
// the message before an attempt is of that or of another batch for good.
func (p *partition) settle(ctx context.Context) {
	for _, a := range p.attempts {
		of := a.messages[0].of
		m, err := p.w.streams.out.GetMsg(ctx, of.outSeq+1, jetstream.WithGetMsgSubject(of.out))
		if err != nil || m.Header.Get(headerBatch) != a.batch {
			continue // what another batch has stored is counted by who sent that
		}
		p.w.counts.stored(a.messages)
		p.w.counts.bytes.Add(a.bytes)
		for i := range a.messages {
			p.w.counts.tally(a.messages[i].of)
		}
	}
	p.attempts = nil
}
