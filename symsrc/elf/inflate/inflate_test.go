package inflate

import (
	"bytes"
	"compress/flate"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// debugInfo returns size bytes similar to a .debug_info section: runs of small numbers, increasing offsets, and repeated records with
// small changes.
func debugInfo(size int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]byte, 0, size+64)
	offset := uint32(0x1000)
	for len(out) < size {
		offset += r.Uint32N(200)
		if len(out) > 1<<10 && r.IntN(3) > 0 { // a part of a previous record
			at := len(out) - 16 - r.IntN(min(len(out)-16, 30000))
			out = append(out, out[at:at+4+r.IntN(12)]...)
		}
		out = append(out, byte(r.IntN(60)), byte(r.IntN(4)), byte(r.IntN(250)))
		out = binary.LittleEndian.AppendUint32(out, offset)
		out = binary.AppendUvarint(out, uint64(r.IntN(90)))
	}
	return out[:size]
}

// samples returns inputs with different characteristics.
func samples() map[string][]byte {
	noise := make([]byte, 70000)
	r := rand.New(rand.NewPCG(3, 4))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	mixed := slices.Concat(debugInfo(40000), noise[:20000], make([]byte, 5000), []byte(strings.Repeat("ab", 999)))
	for distance := range 40 { // overlapping matches of every small distance
		mixed = append(mixed, bytes.Repeat(noise[distance*50:distance*50+distance+1], 30)...)
	}
	return map[string][]byte{
		"empty": {}, "a byte": {42}, "text": []byte("to be or not to be, that is to be or not"), "zeros": make([]byte, 100000),
		"noise": noise, "debug info": debugInfo(200000), "mixed": mixed,
	}
}

// deflated returns compressed data.
func deflated(t testing.TB, data []byte, level int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, level)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// decode decodes all data with one call.
func decode(in []byte, size int) ([]byte, error) {
	s := New(in, size)
	out, err := s.To(size)
	return out[:s.Valid()], err
}

func TestRoundTrip(t *testing.T) {
	for what, data := range samples() {
		for level := flate.HuffmanOnly; level <= flate.BestCompression; level++ {
			in := deflated(t, data, level)
			out, err := decode(in, len(data))
			if err != nil || !bytes.Equal(out, data) {
				t.Errorf("%s, level %d: %v after %d of %d bytes", what, level, err, len(out), len(data))
			}
			// Input after the last block is ignored.
			if _, err := decode(append(slices.Clip(in), "more"...), len(data)); err != nil {
				t.Errorf("%s, level %d, with trailing bytes: %v", what, level, err)
			}
		}
	}
}

func TestZlib(t *testing.T) {
	data := debugInfo(5000)
	for level := zlib.HuffmanOnly; level <= zlib.BestCompression; level++ {
		var b bytes.Buffer
		w, _ := zlib.NewWriterLevel(&b, level)
		w.Write(data)
		w.Close()
		s, err := NewZlib(b.Bytes(), len(data))
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.To(len(data)); err != nil || !bytes.Equal(out, data) || !s.Done() {
			t.Errorf("level %d: %v", level, err)
		}
	}
	for _, header := range []string{"", "\x78", "\x78\x02", "\x79\x9c", "\x88\x1c", "\x78\xbb", "ZL", "\x7f\x45"} {
		if s, err := NewZlib([]byte(header), 1); !errors.Is(err, ErrHeader) || s != nil {
			t.Errorf("NewZlib with the header %x: %v", header, err)
		}
	}
}

// TestResume decodes a stream with all kinds of blocks in parts, and stops at every position.
func TestResume(t *testing.T) {
	data := debugInfo(3000)
	var b bytes.Buffer
	for i, level := range []int{flate.BestCompression, flate.NoCompression, flate.HuffmanOnly, flate.BestSpeed} {
		w, _ := flate.NewWriter(&b, level)
		w.Write(data[i*700 : (i+1)*700]) // flushing a few bytes afterwards writes a block with fixed codes
		w.Flush()
		w.Write(data[i*700+700 : i*700+710])
		if w.Flush(); i == 3 {
			w.Write(data[2810:])
			w.Close()
		}
	}
	want, err := io.ReadAll(flate.NewReader(bytes.NewReader(b.Bytes())))
	if err != nil {
		t.Fatal(err)
	}
	for _, stride := range []int{1, 2, 3, 7, 64, 255, 1000} {
		s := New(b.Bytes(), len(want))
		for n := 0; n <= len(want); n += stride {
			out, err := s.To(n)
			if err != nil || s.Valid() < n || !bytes.Equal(out[:s.Valid()], want[:s.Valid()]) {
				t.Fatalf("to %d in steps of %d: %v", n, stride, err)
			}
			if s.Valid() > n+700 { // a stored block is copied whole
				t.Errorf("to %d: %d bytes were decoded", n, s.Valid())
			}
			if s.Done() != (n == len(want)) {
				t.Errorf("to %d of %d: done is %v", n, len(want), s.Done())
			}
		}
		if _, err := s.To(len(want)); err != nil || !s.Done() {
			t.Errorf("steps of %d: at the end %v", stride, err)
		}
		if out, err := s.To(-1); err != nil || !bytes.Equal(out, want) {
			t.Errorf("steps of %d: after the end %v", stride, err)
		}
	}
	for first := range want { // two calls
		s := New(b.Bytes(), len(want))
		s.To(first)
		if out, err := s.To(len(want)); err != nil || !bytes.Equal(out, want) {
			t.Fatalf("to %d and to the end: %v", first, err)
		}
	}
}

// TestTruncated truncates the input at every position: the rest is decoded, and stays valid.
func TestTruncated(t *testing.T) {
	for what, data := range map[string][]byte{"debug info": debugInfo(2000), "noise": samples()["noise"][:900], "text": samples()["text"]} {
		for _, level := range []int{flate.NoCompression, flate.BestSpeed, flate.BestCompression, flate.HuffmanOnly} {
			in := deflated(t, data, level)
			for n := range in {
				s := New(in[:n:n], len(data))
				out, err := s.To(len(data))
				if !errors.Is(err, io.ErrUnexpectedEOF) || s.Done() {
					t.Fatalf("%s, level %d, %d of %d bytes: %v", what, level, n, len(in), err)
				}
				if !bytes.Equal(out[:s.Valid()], data[:s.Valid()]) {
					t.Fatalf("%s, level %d, %d bytes: another output", what, level, n)
				}
				if _, again := s.To(s.Valid() + 1); s.Valid() < len(data) && again != err {
					t.Errorf("%s, level %d, %d bytes: the error %v became %v", what, level, n, err, again)
				}
				if _, err := s.To(s.Valid()); err != nil && s.Valid() < len(data) {
					t.Errorf("%s, level %d, %d bytes: a call for the decoded bytes fails: %v", what, level, n, err)
				}
			}
		}
	}
}

// TestSize decodes data with wrong sizes.
func TestSize(t *testing.T) {
	data := debugInfo(3000)
	for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, flate.BestCompression} {
		in := deflated(t, data, level)
		for _, size := range []int{0, 1, 2, 100, 1500, 2700, 2998, 2999, 3001, 3258, 4000, 100000} {
			s := New(in, size)
			out, err := s.To(size)
			valid := min(size, len(data))
			if !errors.Is(err, ErrSize) || s.Done() || len(out) != size || !bytes.Equal(out[:s.Valid()], data[:valid]) {
				t.Errorf("level %d, size %d: %v after %d bytes", level, size, err, s.Valid())
			}
		}
	}
	if out, err := decode(deflated(t, nil, 9), 0); err != nil || len(out) != 0 {
		t.Errorf("empty data: %v", err)
	}
}

// TestDamaged changes every bit of a stream, and compares the result with compress/flate.
func TestDamaged(t *testing.T) {
	data := debugInfo(600)
	for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, flate.BestSpeed, flate.BestCompression} {
		in := deflated(t, data, level)
		for bit := range len(in) * 8 {
			in[bit/8] ^= 1 << (bit % 8)
			compare(t, fmt.Sprintf("level %d, bit %d", level, bit), in)
			in[bit/8] ^= 1 << (bit % 8)
		}
	}
}

// compare decodes any input, and compares the result with compress/flate.
func compare(t *testing.T, what string, in []byte) {
	t.Helper()
	const limit = 1 << 20
	want, wantErr := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(in)), limit))
	if len(want) == limit {
		return
	}
	got, err := decode(in, len(want))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: %v after %d bytes, compress/flate has %v after %d", what, err, len(got), wantErr, len(want))
	}
	if !bytes.Equal(got, want[:len(got)]) || err == nil && len(got) < len(want) {
		t.Fatalf("%s: another output", what)
	}
	// The result is the same in parts, and with a larger size.
	s := New(in, len(want)+300)
	for n := 0; n < len(want); n += 1 + n/4 {
		out, err := s.To(n)
		if err != nil && wantErr == nil || !bytes.Equal(out[:min(s.Valid(), len(want))], want[:min(s.Valid(), len(want))]) {
			t.Fatalf("%s: in pieces, to %d: %v", what, n, err)
		}
	}
	if _, err := s.To(len(want) + 300); err == nil {
		t.Fatalf("%s: %d bytes were decoded to 300 more", what, len(want))
	}
}

func FuzzInflate(f *testing.F) {
	for _, data := range samples() {
		data = data[:min(len(data), 3000)]
		for _, level := range []int{flate.NoCompression, flate.HuffmanOnly, flate.BestSpeed, flate.BestCompression} {
			f.Add(deflated(f, data, level))
		}
	}
	for _, c := range codeCases {
		f.Add(c.stream())
	}
	f.Fuzz(func(t *testing.T, in []byte) { compare(t, "", in) })
}

// Done reports whether the whole output is decoded and the data ended there.
func (s *Stream) Done() bool { return s.state == atEnd && s.err == nil }
