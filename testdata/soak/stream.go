package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync/atomic"
	"time"
)

// stream is one filter with what it reads and writes.
type stream struct {
	name    string
	traffic *traffic

	written, read, named atomic.Int64 // lines to the filter and from it; frames that have got their name
	marks                int          // lines from it that are told apart
	delays               delays       // of these
}

// run starts the filter, writes the traffic and reads what comes back until that ends.
func (s *stream) run(ctx context.Context, cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var said counter
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return err
	}
	w := &watch{pid: cmd.Process.Pid, name: s.name, stream: s}
	watching := make(chan error, 1)
	over := make(chan struct{})
	go func() { watching <- w.until(over) }()
	wrote := make(chan error, 1)
	go func() {
		err := s.write(ctx, in)
		wrote <- errors.Join(err, in.Close())
	}()
	readErr := s.compare(out)
	writeErr := <-wrote
	close(over)
	watchErr := <-watching
	waitErr := cmd.Wait()
	if readErr == nil && s.marks != s.traffic.marks {
		readErr = fmt.Errorf("%d lines of %d came back", s.marks, s.traffic.marks)
	}
	if readErr == nil && s.named.Load() == 0 {
		readErr = errors.New("no frame got its name")
	}
	fmt.Printf("%s: %d lines read, %d written, %d frames named, %d bytes of messages; a line's delay: %v\n", s.name,
		s.written.Load(), s.read.Load(), s.named.Load(), said.n.Load(), &s.delays)
	return errors.Join(readErr, writeErr, watchErr, waitErr)
}

// write writes the traffic, at the rate asked for.
func (s *stream) write(ctx context.Context, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10)
	began := time.Now()
	s.delays.start = began
	sent := 0
	flush := func(marks int) error {
		s.delays.send(sent, marks)
		sent = marks
		return out.Flush()
	}
	var text []byte
	for n := 0; ctx.Err() == nil && (*lines == 0 || n < *lines); {
		marks := s.traffic.marks
		text = s.traffic.next(text[:0])
		if len(text) > out.Available() {
			if err := flush(marks); err != nil {
				return err
			}
		}
		if len(text) > out.Size() { // it goes out at once
			s.delays.send(sent, s.traffic.marks)
			sent = s.traffic.marks
		}
		if _, err := out.Write(text); err != nil {
			return err
		}
		n += bytes.Count(text, []byte("\n"))
		s.written.Store(int64(n))
		if *rate == 0 {
			continue
		}
		if due := began.Add(time.Duration(n) * time.Second / time.Duration(*rate)); time.Until(due) > 20*time.Millisecond {
			if err := flush(s.traffic.marks); err != nil {
				return err
			}
			time.Sleep(time.Until(due))
		}
	}
	return flush(s.traffic.marks)
}

// compare reads the filter's output: the marked lines are all there, in order, as they were.
func (s *stream) compare(from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<20)
	var fault error
	var want []byte
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if fault == nil && bytes.HasPrefix(line, []byte(markStart)) {
			if want = appendMark(want[:0], s.marks); !bytes.Equal(line, want) {
				fault = fmt.Errorf("%q came back, want %q", line, want)
			}
			s.delays.back(s.marks)
			s.marks++
		}
		if bytes.Contains(line, []byte("inner_func")) {
			s.named.Add(1)
		}
		s.read.Add(1)
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return err
			}
			return fault
		}
	}
}

// counter counts what is written to it.
type counter struct{ n atomic.Int64 }

// Write implements io.Writer.
func (c *counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return len(b), nil
}
