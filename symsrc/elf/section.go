package elf

import (
	"bytes"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"sync"
	"sync/atomic"
)

// Content is the content of a section, unpacked when and as far as it is asked for. It may be read by several
// goroutines: the bytes before ready do not change any more.
type Content struct {
	Size  int
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
func (s *Content) plain(b []byte) {
	s.Size, s.data = len(b), b
	s.ready.Store(int64(len(b)))
}

// UpTo makes the first n bytes good and gives them; fewer where the section is shorter or its packing is damaged.
func (s *Content) UpTo(n int) []byte {
	n = min(n, s.Size)
	if n > int(s.ready.Load()) {
		s.more(n)
		n = min(n, int(s.ready.Load()))
	}
	if n <= 0 {
		return nil
	}
	return s.data[:n:n]
}

func (s *Content) more(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unpack == nil || n <= int(s.ready.Load()) {
		return
	}
	out, good, err := s.unpack(n)
	if good = min(good, len(out), s.Size); good < int(s.ready.Load()) {
		return
	}
	if len(s.data) == 0 {
		s.data = out
	}
	if err != nil || good == s.Size {
		s.unpack = nil // what is good stays good
	}
	s.left.Use(good - int(s.ready.Load()))
	s.ready.Store(int64(good))
}

// Packed reports whether there is something left to unpack.
func (s *Content) Packed() bool { return s.unpack != nil }

// Replace sets the section to what it unpacks to.
func (s *Content) Replace(b []byte) {
	s.unpack = nil
	s.plain(b)
}

// Unpacked returns how many bytes are good.
func (s *Content) Unpacked() int { return int(s.ready.Load()) }

// All is the whole section.
func (s *Content) All() []byte { return s.UpTo(s.Size) }

// CString is the string at off, without its NUL; nil where it lies outside or is too long.
func (s *Content) CString(off uint64) []byte {
	if off >= uint64(s.Size) {
		return nil
	}
	for n := 1 << 12; ; n *= 4 {
		n = min(n, bin.MaxString+1)
		b := s.UpTo(int(off) + n)
		if int(off) >= len(b) {
			return nil
		}
		if i := bytes.IndexByte(b[off:], 0); i >= 0 {
			return b[off : int(off)+i]
		}
		if len(b) < int(off)+n || n > bin.MaxString {
			return nil
		}
	}
}
