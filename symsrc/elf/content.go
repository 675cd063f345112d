package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf/inflate"
)

// Content is the content of a section, unpacked when and as far as it is asked for. It may be read by several
// goroutines: the bytes before ready do not change any more.
type Content struct {
	Size  int // in bytes, unpacked
	ready atomic.Int64
	data  []byte // of the full size once anything is ready

	mu     sync.Mutex
	unpack unpacker     // nil where there is nothing more to unpack, or that failed
	left   *budget.File // of the file, where it is unpacked
}

// unpacker makes at least the first n bytes of a section good. It returns the section, always the same full-size slice,
// and how many of its bytes are good now.
type unpacker func(n int) (out []byte, good int, err error)

// plain sets the section to bytes that are in the file as they are.
func (s *Content) plain(b []byte) {
	s.Size, s.data = len(b), b
	s.ready.Store(int64(len(b)))
}

// UpTo makes the first n bytes good and returns them; fewer where the section is shorter or its packing is damaged.
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

// All returns the whole section.
func (s *Content) All() []byte { return s.UpTo(s.Size) }

// CString returns the string at off, without its NUL; nil where it lies outside or is too long.
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

// Limits of what a compressed section may unpack to. DEFLATE packs 1032 to 1 at best.
const (
	maxRatio    = 1100
	maxUnpacked = (4<<30 - 1) & math.MaxInt
)

// Load sets s to the contents of a section, whatever its packing is.
func (f *File) Load(s *Content, sh *Section) error {
	b, ok := f.Contents(sh)
	if !ok {
		return Corrupted("section %s lies outside of the file", sh.Name)
	}
	return s.load(&f.Format, sh, b, f.Budget)
}

// load sets s to the contents b of the section h, whatever its packing is.
func (s *Content) load(h *Format, sh *Section, b []byte, left *budget.File) error {
	var (
		size   uint64
		method elf.CompressionType
		packed []byte
	)
	switch {
	case sh.Flags&elf.SHF_COMPRESSED != 0: // gABI, "Compression Header"
		c := &bin.Cursor{B: b, Big: h.Big}
		method = elf.CompressionType(c.U32())
		if h.Is64 {
			c.Skip(4)
		}
		size = c.Uint(h.WordSize())
		c.Skip(uint64(h.WordSize()))
		if !c.OK() {
			return Corrupted("section %s: compression header is cut off", sh.Name)
		}
		packed = b[c.P:]
	case len(b) >= 12 && string(b[:4]) == "ZLIB" && len(sh.Name) > 2 && sh.Name[:2] == ".z":
		method, size, packed = elf.COMPRESS_ZLIB, binary.BigEndian.Uint64(b[4:]), b[12:]
	default:
		s.plain(b)
		return nil
	}
	if size > maxRatio*uint64(len(packed))+1024 || size > uint64(min(left.Room(), maxUnpacked)) {
		return Corrupted("section %s: %d bytes are to unpack to %d", sh.Name, len(packed), size)
	}
	switch method {
	case elf.COMPRESS_ZLIB:
		s.unpack = unzlib(packed, int(size))
	case elf.COMPRESS_ZSTD:
		s.unpack = unzstd(packed, int(size))
	default:
		return &StatusError{symsrc.UnsupportedCompressed, fmt.Errorf("section %s: compression %d", sh.Name, method)}
	}
	left.AddUnpacked(int(size))
	s.Size, s.left = int(size), left
	return nil
}

var errSize = errors.New("unpacks to another size than it says")

// unzlib unpacks a zlib stream (RFC 1950) as far as it is needed.
func unzlib(packed []byte, size int) unpacker {
	var stream *inflate.Stream
	return func(n int) (out []byte, good int, err error) {
		if stream == nil {
			if stream, err = inflate.NewZlib(packed, size); err != nil {
				return nil, 0, err
			}
		}
		out, err = stream.To(n)
		return out, stream.Valid(), err
	}
}

// unzstd unpacks a zstd frame (RFC 8878) in the caller's goroutine, which is the one that can bear a memory fault.
func unzstd(packed []byte, size int) unpacker {
	return func(int) ([]byte, int, error) {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(size)+1<<20))
		if err != nil {
			return nil, 0, err
		}
		defer z.Close()
		out, err := z.DecodeAll(packed, make([]byte, 0, size))
		if err == nil && len(out) != size {
			err = errSize
		}
		return out, len(out), err
	}
}
