package elfdwarf

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf/inflate"
)

// Limits of what a compressed section may unpack to. DEFLATE packs 1032 to 1 at best.
const (
	maxRatio    = 1100
	maxUnpacked = (4<<30 - 1) & math.MaxInt
)

// load sets s to the contents of a section, whatever its packing is.
func (f *image) load(s *section, sh *sectionHeader) error {
	b, ok := f.contents(sh)
	if !ok {
		return corrupted("section %s lies outside of the file", sh.name)
	}
	return s.load(&f.format, sh, b, f.budget)
}

// load sets s to the contents b of the section h, whatever its packing is.
func (s *section) load(h *format, sh *sectionHeader, b []byte, left *budget.File) error {
	var (
		size   uint64
		method elf.CompressionType
		packed []byte
	)
	switch {
	case sh.flags&elf.SHF_COMPRESSED != 0: // gABI, "Compression Header"
		c := &bin.Cursor{B: b, Big: h.big}
		method = elf.CompressionType(c.U32())
		if h.is64 {
			c.Skip(4)
		}
		size = c.Uint(h.word())
		c.Skip(uint64(h.word()))
		if !c.OK() {
			return corrupted("section %s: compression header is cut off", sh.name)
		}
		packed = b[c.P:]
	case len(b) >= 12 && string(b[:4]) == "ZLIB" && len(sh.name) > 2 && sh.name[:2] == ".z":
		method, size, packed = elf.COMPRESS_ZLIB, binary.BigEndian.Uint64(b[4:]), b[12:]
	default:
		s.plain(b)
		return nil
	}
	if size > maxRatio*uint64(len(packed))+1024 || size > uint64(min(left.Room(), maxUnpacked)) {
		return corrupted("section %s: %d bytes are to unpack to %d", sh.name, len(packed), size)
	}
	switch method {
	case elf.COMPRESS_ZLIB:
		s.unpack = unzlib(packed, int(size))
	case elf.COMPRESS_ZSTD:
		s.unpack = unzstd(packed, int(size))
	default:
		return &StatusError{symsrc.UnsupportedCompressed, fmt.Errorf("section %s: compression %d", sh.name, method)}
	}
	left.AddUnpacked(int(size))
	s.size, s.left = int(size), left
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
