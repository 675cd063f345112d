package tree

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"qss-filter/filter/stream"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// errSkip is the error of a file that is not a log.
var errSkip = errors.New("skipped")

// input is an open log.
type input struct {
	io.Reader
	file *os.File
	// close closes the decompressor; it may be nil.
	close func()
}

// Close closes the decompressor and the file.
func (in *input) Close() {
	if in.close != nil {
		in.close()
	}
	in.file.Close()
}

// sniffLen is the number of bytes at the start of a log that decide whether it is text.
const sniffLen = 8 << 10

// open opens a log. read is called with the number of bytes of each read of the file. The error wraps errSkip if the log is not text.
func open(ctx context.Context, log *logFile, read func(n int)) (in *input, err error) {
	file, err := log.tree.regular(log.path)
	if err != nil {
		return nil, err
	}
	in = &input{file: file}
	counted := &counting{ctx: ctx, Reader: file, read: read}
	b := bufio.NewReaderSize(counted, sniffLen)
	if err := in.unpack(b); err != nil {
		in.Close()
		return nil, err
	}
	if in.Reader != io.Reader(b) {
		b = bufio.NewReaderSize(in.Reader, sniffLen)
	}
	begin, err := b.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) {
		in.Close()
		return nil, fmt.Errorf("read: %w", err)
	}
	if isBinary(begin) {
		in.Close()
		return nil, fmt.Errorf("%w: not text", errSkip)
	}
	in.Reader = b
	return in, nil
}

// The magic numbers of compressed files: RFC 1952 §2.3.1, the .xz file format §2.1.1.1, RFC 8878 §3.1.1, bzip2.
var (
	gzipMagic  = []byte{0x1f, 0x8b, 8}
	xzMagic    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	bzip2Magic = []byte("BZh")
)

// maxWindow bounds the memory that a zstd frame or an xz block may ask for, in bytes.
const maxWindow = 128 << 20

// unpack sets Reader to a decompressor if the content is compressed. The name of the file does not matter.
func (in *input) unpack(b *bufio.Reader) error {
	in.Reader = b
	magic, err := b.Peek(10)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read: %w", err)
	}
	switch {
	case bytes.HasPrefix(magic, gzipMagic):
		z, err := gzip.NewReader(b)
		if err != nil {
			return fmt.Errorf("unpack gzip: %w", err)
		}
		in.Reader = z
	case bytes.HasPrefix(magic, xzMagic):
		in.Reader = &xzReader{in: b}
	case bytes.HasPrefix(magic, zstdMagic):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return fmt.Errorf("unpack zstd: %w", err)
		}
		in.Reader, in.close = z, z.Close
	case bytes.HasPrefix(magic, bzip2Magic) && len(magic) == 10 && string(magic[4:]) == "1AY&SY":
		in.Reader = bzip2.NewReader(b)
	}
	return nil
}

// isBinary reports whether the beginning of a file is not text: more than one byte in 32 is a control character that is unusual in
// logs. A few are allowed, since logs have some where a machine lost power or a program wrote garbage.
func isBinary(begin []byte) bool {
	if stream.IsUTF16(begin) {
		return false
	}
	if bytes.HasPrefix(begin, []byte("\x7fELF")) {
		return true
	}
	odd := 0
	for _, c := range begin {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\b' && c != '\a' && c != '\v' && c != 0x1b {
			odd++
		}
	}
	return odd*32 > len(begin)
}

// counting is a reader that calls read with the number of bytes of each read, and that fails when its context is done.
type counting struct {
	ctx context.Context
	io.Reader
	read func(n int)
}

func (c *counting) Read(b []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.Reader.Read(b)
	c.read(n)
	return n, err
}
