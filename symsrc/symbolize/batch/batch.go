// Package batch answers requests that are lines of an input: each answer leaves before the input is read again, so that a caller may wait
// for it, and requests that have been read in one piece are answered on all cores.
//
//   - batch.go: Run; recent.go: Recent, the last answers
package batch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
)

// Answerer answers requests. Its methods may be called by several goroutines at once.
type Answerer interface {
	// Answer appends the answer to a request to dst. line has no end. The error is about the request.
	Answer(ctx context.Context, dst, line []byte) ([]byte, error)
}

// Options are the input and the output of Run.
type Options struct {
	In  io.Reader
	Out io.Writer
	// Before, if not nil, is called before requests that have been read are answered.
	Before func()
	// Wrong is called with each error of a request, in order, before the answers of the same piece are written.
	Wrong func(err error)
}

// MaxLine is how much of a request is looked at, in bytes. The rest of a longer one is skipped.
const MaxLine = 64 << 10

// partSize is how much of the input is answered by one goroutine, in bytes: some hundred requests.
const partSize = 4 << 10

// Run answers all requests. The error is a failed read or write.
func Run(ctx context.Context, a Answerer, o Options) error {
	buf, n := make([]byte, MaxLine), 0
	parts := make([]part, runtime.GOMAXPROCS(0))
	for skip := false; ; {
		read, err := o.In.Read(buf[n:])
		end := bytes.LastIndexByte(buf[n:n+read], '\n') + 1
		if end > 0 {
			end += n
		}
		n += read
		long := end == 0 && n == len(buf)
		if err != nil || long {
			end = n
		}
		lines := buf[:end]
		if skip {
			_, lines, _ = bytes.Cut(lines, newline)
		}
		blank := long && len(bytes.TrimSpace(lines)) == 0 // spaces may stand before a request
		if o.Before != nil {
			o.Before()
		}
		if !blank {
			if err := o.answerAll(ctx, a, parts, lines); err != nil {
				return err
			}
		}
		if end > 0 {
			skip = long && (skip || !blank)
		}
		n = copy(buf, buf[end:n])
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read addresses: %w", err)
		}
	}
}

var newline = []byte{'\n'}

// part is some lines of the input, with their answers.
type part struct {
	lines, answers []byte
	wrong          []error
}

// answerAll writes the answers to the requests in text, in order. Several goroutines look them up, one for each of parts, whose buffers are
// used again.
func (o *Options) answerAll(ctx context.Context, a Answerer, parts []part, text []byte) error {
	for len(text) > 0 {
		n := 0
		for ; n < len(parts) && len(text) > 0; n++ {
			p := &parts[n]
			p.lines, text = cut(text, partSize)
			p.answers, p.wrong = p.answers[:0], p.wrong[:0]
		}
		if n == 1 { // as for a caller that waits for each answer
			parts[0].answer(ctx, a)
		} else {
			answerParts(ctx, a, parts[:n])
		}
		for i := range parts[:n] {
			for _, err := range parts[i].wrong {
				o.Wrong(err)
			}
			if len(parts[i].answers) == 0 {
				continue
			}
			if _, err := o.Out.Write(parts[i].answers); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerParts answers the requests of parts, each in a goroutine.
func answerParts(ctx context.Context, a Answerer, parts []part) {
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { parts[i].answer(ctx, a) })
	}
	all.Wait()
}

// cut cuts text after its last line that ends within size bytes, or after its first one.
func cut(text []byte, size int) (lines, rest []byte) {
	n := bytes.LastIndexByte(text[:min(size, len(text))], '\n') + 1
	if n == 0 {
		n = bytes.IndexByte(text, '\n') + 1
	}
	if n == 0 || len(text) <= size {
		n = len(text)
	}
	return text[:n], text[n:]
}

// answer answers the requests of a part.
func (p *part) answer(ctx context.Context, a Answerer) {
	for line := range bytes.Lines(p.lines) {
		var err error
		if p.answers, err = a.Answer(ctx, p.answers, bytes.TrimSuffix(line, newline)); err != nil {
			p.wrong = append(p.wrong, err)
		}
	}
}
