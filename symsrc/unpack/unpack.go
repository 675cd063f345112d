// Package unpack decompresses files, logs and symbols alike, which it recognizes by their content.
package unpack

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	numbers "encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz/lzma"
)

// The magic numbers of compressed files: RFC 1952 §2.3.1, the .xz file format §2.1.1.1, RFC 8878 §3.1.1, the LZ4 frame format, bzip2.
var (
	gzipMagic  = []byte{0x1f, 0x8b, 8}
	xzMagic    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	lz4Magic   = []byte{0x04, 0x22, 0x4d, 0x18}
	oldLZ4     = []byte{0x02, 0x21, 0x4c, 0x18} // the "legacy frame", as kernels are packed
	bzip2Magic = []byte("BZh")
)

// MaxWindow bounds the memory that a zstd frame or an xz block may ask for, in bytes.
const MaxWindow = 128 << 20

// magicLen is how many bytes tell the format.
const magicLen = 10

// Packed reports whether a file that begins so is compressed.
func Packed(begin []byte) bool {
	return bytes.HasPrefix(begin, gzipMagic) || bytes.HasPrefix(begin, xzMagic) || bytes.HasPrefix(begin, zstdMagic) ||
		bytes.HasPrefix(begin, lz4Magic) || bytes.HasPrefix(begin, oldLZ4) || isBzip2(begin)
}

// isBzip2 reports whether a file begins as those of bzip2 do, with a block.
func isBzip2(begin []byte) bool {
	return bytes.HasPrefix(begin, bzip2Magic) && len(begin) >= magicLen && string(begin[4:magicLen]) == "1AY&SY"
}

// Reader returns a reader of the decompressed content of b, which is b itself if that is not compressed. The name of the file does not
// matter. close frees the decompressor; it is nil if there is nothing to free.
func Reader(b *bufio.Reader) (r io.Reader, close func(), err error) {
	magic, err := b.Peek(magicLen)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, fmt.Errorf("read: %w", err)
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("unpack gzip: %w", err)
		}
		return z, nil, nil
	case bytes.HasPrefix(magic, xzMagic):
		return &xzReader{in: b}, nil, nil
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(MaxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("unpack zstd: %w", err)
		}
		return z, z.Close, nil
	case bytes.HasPrefix(magic, lz4Magic), bytes.HasPrefix(magic, oldLZ4): // whose blocks have 4 MiB at most, or 8
		return lz4.NewReader(b), nil, nil
	case isBzip2(magic):
		return bzip2.NewReader(b), nil, nil
	}
	return b, nil, nil
}

// Kernel is Reader for the kernel in a boot image, which may also be packed as .lzma files are (doc/lzma-file-format.txt of the XZ utilities).
// These have no magic number: other files could be taken for one.
func Kernel(b *bufio.Reader) (r io.Reader, close func(), err error) {
	const properties, dictionary, size = 0x5d, 1, 13 // lc=3 lp=0 pb=2, as all tools write by default
	magic, _ := b.Peek(size)
	if len(magic) < size || magic[0] != properties || numbers.LittleEndian.Uint32(magic[dictionary:]) > MaxWindow {
		return Reader(b)
	}
	z, err := lzma.NewReader(b)
	if err != nil {
		return nil, nil, fmt.Errorf("unpack lzma: %w", err)
	}
	return z, nil, nil
}
