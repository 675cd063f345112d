package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// find looks for the first line of a filter from a sequence on, or for the line of that sequence where filter is "". The error is
// jetstream.ErrMsgNotFound where there is none.
//
// A server that is asked directly answers with the message, and puts headers of its own beside those of whoever has published it, which
// may be anything. Where it is not plain which is which the server is asked in the other way, which is slower.
func (s *streams) find(ctx context.Context, nc *nats.Conn, from uint64, filter string) (seq uint64, subject string, err error) {
	config := s.in.CachedInfo().Config
	question, err := json.Marshal(struct {
		Seq  uint64 `json:"seq"`
		Next string `json:"next_by_subj,omitempty"`
	}{from, filter})
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if config.AllowDirect {
		m, err := nc.RequestWithContext(ctx, "$JS.API.DIRECT.GET."+config.Name, question)
		if err != nil && !errors.Is(err, nats.ErrNoResponders) { // which a message may say, too
			return 0, "", fmt.Errorf("look for a line: %w", err)
		}
		if m == nil {
			m = &nats.Msg{}
		}
		status, seqs, subjects := m.Header["Status"], m.Header[jetstream.SequenceHeader], m.Header[jetstream.SubjectHeader]
		if len(status) == 1 && status[0] == "404" && len(seqs) == 0 {
			return 0, "", jetstream.ErrMsgNotFound
		}
		if len(status) == 0 && len(seqs) == 1 && len(subjects) == 1 {
			if seq, err = strconv.ParseUint(seqs[0], 10, 64); err == nil {
				return seq, subjects[0], nil
			}
		}
	}
	reply, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+config.Name, question)
	if err != nil {
		return 0, "", fmt.Errorf("look for a line: %w", err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
		} `json:"message"`
	}
	if err := json.Unmarshal(reply.Data, &answer); err != nil {
		return 0, "", fmt.Errorf("look for a line: %w", err)
	}
	if e := answer.Error; e != nil {
		if e.ErrorCode == jetstream.JSErrCodeMessageNotFound {
			return 0, "", jetstream.ErrMsgNotFound
		}
		return 0, "", fmt.Errorf("look for a line: %w", e)
	}
	return answer.Message.Seq, answer.Message.Subject, nil
}
