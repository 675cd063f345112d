package elf

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
