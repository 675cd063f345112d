package inflate

import (
	"bytes"
	"compress/zlib"
	"io"
	"testing"

	kzlib "github.com/klauspost/compress/zlib"
)

// BenchmarkInflate compares this package with compress/zlib and klauspost/compress on the same data. Only the ratios are meaningful.
func BenchmarkInflate(b *testing.B) {
	data := debugInfo(4 << 20)
	var in bytes.Buffer
	w := zlib.NewWriter(&in)
	if _, err := w.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	run := func(name string, inflate func(in []byte, size int) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := inflate(in.Bytes(), len(data)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("this", func(in []byte, size int) error {
		s, err := NewZlib(in, size)
		if err != nil {
			return err
		}
		_, err = s.To(size)
		return err
	})
	run("this, a tenth", func(in []byte, size int) error {
		s, err := NewZlib(in, size)
		if err != nil {
			return err
		}
		_, err = s.To(size / 10)
		return err
	})
	run("compress", func(in []byte, size int) error {
		r, err := zlib.NewReader(bytes.NewReader(in))
		if err != nil {
			return err
		}
		_, err = io.ReadFull(r, make([]byte, size))
		return err
	})
	run("klauspost", func(in []byte, size int) error {
		r, err := kzlib.NewReader(bytes.NewReader(in))
		if err != nil {
			return err
		}
		_, err = io.ReadFull(r, make([]byte, size))
		return err
	})
}
