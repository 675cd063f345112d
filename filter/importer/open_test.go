package importer

import (
	"context"
	"io"
)

// Open returns the lines of an input as a stream. At its end it returns the error of Lines instead of io.EOF. Closing
// it early ends the import.
func Open(ctx context.Context, path string, o Options) (io.ReadCloser, error) {
	in, err := Detect(path, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.CloseWithError(in.Lines(ctx, w)) // nil is io.EOF
	}()
	return &stream{r, cancel, done}, nil
}

// stream is a running import.
type stream struct {
	*io.PipeReader
	cancel context.CancelFunc
	done   chan struct{}
}

func (s *stream) Close() error {
	s.cancel()
	err := s.PipeReader.Close()
	<-s.done
	return err
}
