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

// errSkip is a file that is no log.
var errSkip = errors.New("skipped")

// input is an open log.
type input struct {
	io.Reader
	file *os.File
	// close ends the unpacking, where there is any.
	close func()
}

// Close ends it.
func (in *input) Close() {
	if in.close != nil {
		in.close()
	}
	in.file.Close()
}

// sniffed is how much of a log's start shows whether it is text.
const sniffed = 8 << 10

// open opens a log, of which read is called with the bytes as they are read. Its error is errSkip for what is no text.
func open(ctx context.Context, log *logFile, read func(n int)) (in *input, err error) {
	file, err := log.tree.regular(log.path)
	if err != nil {
		return nil, err
	}
	in = &input{file: file}
	counted := &counting{ctx: ctx, Reader: file, read: read}
	b := bufio.NewReaderSize(counted, sniffed)
	if err := in.unpack(b); err != nil {
		in.Close()
		return nil, err
	}
	if in.Reader != io.Reader(b) {
		b = bufio.NewReaderSize(in.Reader, sniffed)
	}
	begin, err := b.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		in.Close()
		return nil, fmt.Errorf("read: %w", err)
	}
	if binary(begin) {
		in.Close()
		return nil, fmt.Errorf("%w: not text", errSkip)
	}
	in.Reader = b
	return in, nil
}

// The magic numbers of packed files: RFC 1952 §2.3.1, the .xz file format §2.1.1.1, RFC 8878 §3.1.1, bzip2.
var (
	gzipMagic  = []byte{0x1f, 0x8b, 8}
	xzMagic    = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	bzip2Magic = []byte("BZh")
)

// maxWindow bounds the memory that a zstd frame or an xz block may ask for, in bytes.
const maxWindow = 128 << 20

// unpack puts an unpacker before a packed file, by its content, whatever its name.
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

// binary reports whether the beginning of a file is not text: one byte in 32 is a control character that logs do not have. A log may
// have some, where a machine lost power or a program wrote what it should not.
func binary(begin []byte) bool {
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

// counting is a reader that reports how far it is, and that ends with its context.
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
