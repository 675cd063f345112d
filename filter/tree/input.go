package tree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"qss-filter/filter/stream"
	"qss-filter/symsrc/unpack"
)

// errSkip is the error of a file that is not a log.
var errSkip = errors.New("skipped")

// errBinary is the error of a file that is not text.
var errBinary = fmt.Errorf("%w: not text", errSkip)

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

// open opens a log, and counts what is read of it for bar. The error wraps errSkip if the log is not text.
func open(ctx context.Context, log *logFile, bar *progress) (in *input, err error) {
	file, err := log.tree.regular(log.path)
	if err != nil {
		return nil, err
	}
	in = &input{file: file}
	counted := &counting{ctx: ctx, Reader: file, read: func(n int) {
		log.read += int64(n)
		bar.bytes(int64(n))
	}}
	b := bufio.NewReaderSize(counted, sniffLen)
	if in.Reader, in.close, err = unpack.Reader(b); err != nil {
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
	if stream.IsBinary(begin) {
		in.Close()
		return nil, errBinary
	}
	in.Reader = b
	return in, nil
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
