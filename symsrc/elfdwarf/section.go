package elfdwarf

import (
	"bytes"
	"qss-filter/symsrc/budget"
	"sync"
	"sync/atomic"
)

// section is the content of a section, unpacked when and as far as it is asked for. It may be read by several
// goroutines: the bytes before ready do not change any more.
type section struct {
	size  int
	ready atomic.Int64
	data  []byte // of the full size once anything is ready

	mu     sync.Mutex
	unpack unpacker     // nil where there is nothing more to unpack, or that failed
	left   *budget.File // of the file, where it is unpacked
}

// unpacker makes at least the first n bytes of a section good. It gives the section, always the same full-size slice,
// and how many of its bytes are good now.
type unpacker func(n int) (out []byte, good int, err error)

// plain sets the section to bytes that are in the file as they are.
func (s *section) plain(b []byte) {
	s.size, s.data = len(b), b
	s.ready.Store(int64(len(b)))
}

// upTo makes the first n bytes good and gives them; fewer where the section is shorter or its packing is damaged.
func (s *section) upTo(n int) []byte {
	n = min(n, s.size)
	if n > int(s.ready.Load()) {
		s.more(n)
		n = min(n, int(s.ready.Load()))
	}
	if n <= 0 {
		return nil
	}
	return s.data[:n:n]
}

func (s *section) more(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unpack == nil || n <= int(s.ready.Load()) {
		return
	}
	out, good, err := s.unpack(n)
	if good = min(good, len(out), s.size); good < int(s.ready.Load()) {
		return
	}
	if len(s.data) == 0 {
		s.data = out
	}
	if err != nil || good == s.size {
		s.unpack = nil // what is good stays good
	}
	s.left.Use(good - int(s.ready.Load()))
	s.ready.Store(int64(good))
}

// unpacked returns how many bytes are good.
func (s *section) unpacked() int { return int(s.ready.Load()) }

// all is the whole section.
func (s *section) all() []byte { return s.upTo(s.size) }

// cstr is the string at off, without its NUL; nil where it lies outside or is too long.
func (s *section) cstr(off uint64) []byte {
	if off >= uint64(s.size) {
		return nil
	}
	for n := 1 << 12; ; n *= 4 {
		n = min(n, maxName+1)
		b := s.upTo(int(off) + n)
		if int(off) >= len(b) {
			return nil
		}
		if i := bytes.IndexByte(b[off:], 0); i >= 0 {
			return b[off : int(off)+i]
		}
		if len(b) < int(off)+n || n > maxName {
			return nil
		}
	}
}
