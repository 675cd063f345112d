package symfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"qss-filter/symsrc/budget"
)

// maxUnpacked is what a packed file may unpack to, in memory; browsers' largest have a third of that.
const maxUnpacked = 1 << 30

var errUnpacked = errors.New("unpacks to more than a symbol file of its size does")

var (
	gzipMagic = []byte("\x1f\x8b")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
)

// packed reports whether a file is packed in a way that unpack knows.
func packed(data []byte) bool {
	return bytes.HasPrefix(data, gzipMagic) || bytes.HasPrefix(data, zstdMagic)
}

// unpack returns what a file of gzip or zstd holds.
func unpack(data []byte) ([]byte, error) {
	var in io.Reader
	limit := uint64(min(maxUnpacked, budget.Bytes(int64(len(data)))))
	hint := uint64(0)
	if bytes.HasPrefix(data, gzipMagic) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		in = z
		if n := len(data); n >= 4 { // RFC 1952 §2.3.1: ISIZE
			hint = uint64(binary.LittleEndian.Uint32(data[n-4:]))
		}
	} else {
		z, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(1<<27))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		defer z.Close()
		in = z
		var head zstd.Header
		if head.Decode(data) == nil && head.HasFCS {
			hint = head.FrameContentSize
		}
	}
	if hint > limit {
		return nil, fmt.Errorf("unpack: %w: %d MiB", errUnpacked, hint>>20)
	}
	text := bytes.NewBuffer(make([]byte, 0, hint+bytes.MinRead))
	n, err := text.ReadFrom(io.LimitReader(in, int64(limit)+1))
	if err == nil && uint64(n) > limit {
		err = fmt.Errorf("%w: over %d MiB", errUnpacked, limit>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return text.Bytes(), nil
}
