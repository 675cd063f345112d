package symfile

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// maxUnpacked is what a packed file may unpack to, in memory; browsers' largest have a third of that. DEFLATE packs 1032 to 1
// at best.
const (
	maxUnpacked = 1 << 30
	maxRatio    = 1032
)

var errUnpacked = errors.New("unpacks to more than 1 GiB")

var (
	gzipMagic = []byte("\x1f\x8b")
	zstdMagic = []byte("\x28\xb5\x2f\xfd")
)

// packed tells whether a file is packed in a way that unpack knows.
func packed(data []byte) bool {
	return bytes.HasPrefix(data, gzipMagic) || bytes.HasPrefix(data, zstdMagic)
}

// unpack gives what a file of gzip or zstd holds.
func unpack(data []byte) ([]byte, error) {
	var in io.Reader
	hint := 0
	if bytes.HasPrefix(data, gzipMagic) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		in = z
		if n := len(data); n >= 4 { // RFC 1952 §2.3.1: ISIZE
			hint = int(min(uint64(binary.LittleEndian.Uint32(data[n-4:])), uint64(n)*maxRatio, maxUnpacked))
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
			hint = int(min(head.FrameContentSize, uint64(len(data))*maxRatio, maxUnpacked))
		}
	}
	text := bytes.NewBuffer(make([]byte, 0, hint+bytes.MinRead))
	n, err := text.ReadFrom(io.LimitReader(in, maxUnpacked+1))
	if err == nil && n > maxUnpacked {
		err = errUnpacked
	}
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return text.Bytes(), nil
}
