package tree

import (
	"io"
	"os"
	"sync"
)

const (
	chunkSize = 64 << 10
	// spoolLimit bounds the rows kept in memory in bytes; the others wait in a file.
	spoolLimit = 16 << 20
)

// spool keeps the rows of all logs until they are written in the order of the logs.
type spool struct {
	mu     sync.Mutex
	memory int
	file   *os.File
	size   int64
	err    error
}

// chunk is a piece of a log's rows: in memory, or in the file from at on.
type chunk struct {
	data []byte
	at   int64
	n    int
}

// put keeps a piece.
func (s *spool) put(b []byte) chunk {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory+len(b) <= spoolLimit {
		s.memory += len(b)
		return chunk{data: append([]byte(nil), b...)}
	}
	if s.file == nil && s.err == nil {
		s.file, s.err = os.CreateTemp("", "qss-filter-*")
		if s.err == nil {
			// Where a system can, the file goes as soon as no process has it open.
			_ = os.Remove(s.file.Name())
		}
	}
	if s.err != nil {
		return chunk{}
	}
	c := chunk{at: s.size, n: len(b)}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		s.err = err
	}
	s.size += int64(len(b))
	return c
}

// drop forgets a log's pieces.
func (s *spool) drop(chunks []chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range chunks {
		s.memory -= len(chunks[i].data)
	}
}

// copy writes a piece.
func (s *spool) copy(w io.Writer, c chunk) error {
	if s.err != nil {
		return s.err
	}
	if c.data != nil {
		_, err := w.Write(c.data)
		return err
	}
	_, err := io.Copy(w, io.NewSectionReader(s.file, c.at, int64(c.n)))
	return err
}

func (s *spool) close() {
	if s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// rows are those of one log in one table.
type rows struct {
	buf    []byte
	chunks []chunk
}

// add notes that buf has another row.
func (r *rows) add(s *spool) {
	if len(r.buf) >= chunkSize {
		r.flush(s)
	}
}

func (r *rows) flush(s *spool) {
	if len(r.buf) > 0 {
		r.chunks = append(r.chunks, s.put(r.buf))
		r.buf = r.buf[:0]
	}
}
