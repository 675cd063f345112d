package tree

import (
	"bytes"
	"io"
	"os"
	"sync"
)

const chunkSize = 64 << 10

// spoolLimit bounds the rows in memory, in bytes. Further rows are in a temporary file.
var spoolLimit = 16 << 20

// spool keeps the rows of all logs until they are written in the order of the logs.
type spool struct {
	mu     sync.Mutex
	memory int
	file   *os.File
	size   int64
	err    error
}

// chunk is a chunk of the rows of a log: data in memory, or n bytes at offset at of the file.
type chunk struct {
	data []byte
	at   int64
	n    int
}

// put adds a chunk. It keeps b itself if that is full, and returns what the caller may append the next rows to.
func (s *spool) put(b []byte) (c chunk, next []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory+len(b) <= spoolLimit {
		s.memory += len(b)
		if len(b) < chunkSize {
			return chunk{data: bytes.Clone(b)}, b[:0]
		}
		return chunk{data: b}, make([]byte, 0, cap(b))
	}
	if s.file == nil && s.err == nil {
		s.file, s.err = os.CreateTemp("", "qss-filter-*")
		if s.err == nil {
			// On Unix the file is then deleted when it is closed; elsewhere close removes it.
			_ = os.Remove(s.file.Name())
		}
	}
	if s.err != nil {
		return chunk{}, b[:0]
	}
	c = chunk{at: s.size, n: len(b)}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		s.err = err
	}
	s.size += int64(len(b))
	return c, b[:0]
}

// drop takes the memory of chunks off the count. Their space in the file is not reused.
func (s *spool) drop(chunks []chunk) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range chunks {
		s.memory -= len(chunks[i].data)
	}
}

// copy writes a chunk to w.
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

// rows are the rows of a log in one table.
type rows struct {
	buf    []byte
	chunks []chunk
}

// flushIfFull moves buf to the spool if it is full. It is called after each row.
func (r *rows) flushIfFull(s *spool) {
	if len(r.buf) >= chunkSize {
		r.flush(s)
	}
}

func (r *rows) flush(s *spool) {
	if len(r.buf) > 0 {
		c, next := s.put(r.buf)
		r.chunks, r.buf = append(r.chunks, c), next
	}
}
