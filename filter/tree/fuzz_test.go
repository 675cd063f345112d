package tree

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/metrics"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"qss-filter/filter/stream"
	"qss-filter/symsrc/unpack"
)

// FuzzOpen opens arbitrary data as a log. Data that is not compressed is read unchanged, compressed data as the standard library
// decompresses it, and memory stays within the limits.
func FuzzOpen(f *testing.F) {
	text := []byte("#0 0x10 (/a.so+0x10)\n")
	for _, make := range []func(io.Writer) (io.WriteCloser, error){
		func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
		func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
		func(w io.Writer) (io.WriteCloser, error) { return xz.NewWriter(w) },
	} {
		var packed bytes.Buffer
		w, err := make(&packed)
		if err != nil {
			f.Fatal(err)
		}
		if _, err = w.Write(text); err == nil {
			err = w.Close()
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed.Bytes())
	}
	f.Add(text)
	f.Add([]byte("BZh91AY&SY\x17\x72\x45\x38\x50\x90\x00\x00\x00\x00"))
	path := filepath.Join(f.TempDir(), "log")
	const limit = 1 << 20 // bytes that are read of a log
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		before := allocated()
		in, err := open(context.Background(), &logFile{tree: &tree{}, path: path}, nil)
		if err != nil {
			if errors.Is(err, errSkip) && !stream.IsBinary(data[:min(len(data), sniffLen)]) && !unpack.Packed(data) {
				t.Fatalf("%q is skipped: %v", data, err)
			}
			return
		}
		defer in.Close()
		got, err := io.ReadAll(io.LimitReader(in, limit))
		if !unpack.Packed(data) && (err != nil || !bytes.Equal(got, data[:min(len(data), limit)])) {
			t.Fatalf("%q is read as %q, %v", data, got, err)
		}
		if want, ok := unpacked(data, limit); ok && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%d bytes, %v; the standard library reads %d", len(got), err, len(want))
		}
		if used := allocated() - before; used > 2*unpack.MaxWindow+16*limit {
			t.Fatalf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}

// unpacked returns the data that the standard library reads, and false for a format that it does not support.
func unpacked(data []byte, limit int64) ([]byte, bool) {
	var r io.Reader
	switch {
	case bytes.HasPrefix(data, []byte{0x1f, 0x8b, 8}):
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, false
		}
		r = z
	case unpack.Packed(data) && bytes.HasPrefix(data, []byte("BZh")):
		r = bzip2.NewReader(bytes.NewReader(data))
	default:
		return nil, false
	}
	b, err := io.ReadAll(io.LimitReader(r, limit))
	return b, err == nil
}

// allocated returns the number of bytes allocated on the heap so far.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
