package cache

import (
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"qss-filter/symsrc"
)

// valid makes random frames ones that there can be.
func valid(frames []symsrc.Frame) []symsrc.Frame {
	out := []symsrc.Frame{}
	for i, f := range frames {
		f.Origin %= symsrc.SymbolOnly + 1
		f.Entry = symsrc.NoEntry // answers in the style of llvm are not kept
		f.Line, f.Column = f.Line&0x7fffffff, f.Column&0x7fffffff
		f.CompDir, f.Size = len(f.File)/2, 0 // answers with sizes are not kept
		if i%2 == 1 {                        // names come again
			f.Func, f.File, f.CompDir = frames[i-1].Linkage, frames[i-1].File, 0
		}
		out = append(out, f)
	}
	return out
}

// TestFrames keeps random frames. A field that symsrc.Frame gets and the codec does not know fails it.
func TestFrames(t *testing.T) {
	key := []byte("a key")
	same := func(frames []symsrc.Frame, since int64) bool {
		frames = valid(frames)
		if len(frames) == 0 {
			return true
		}
		made := time.Time{}
		if since%8 != 0 {
			made = time.Unix(0, since)
		}
		got, err := decodeFrames(key, appendFrames(nil, key, frames, made))
		return err == nil && reflect.DeepEqual(got.Frames, frames) && got.Made.Equal(made)
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 500}); err != nil {
		t.Error(err)
	}
	value := appendFrames(nil, key, []symsrc.Frame{{Func: "f"}}, time.Time{})
	if _, err := decodeFrames([]byte("another"), value); err == nil {
		t.Error("one key's value is taken for another one's")
	}
	for i := range value {
		if _, err := decodeFrames(key, value[:i]); err == nil {
			t.Errorf("%d of %d bytes are a value", i, len(value))
		}
		for bit := range 8 {
			value[i] ^= 1 << bit
			if _, err := decodeFrames(key, value); err == nil {
				t.Errorf("with bit %d of byte %d changed it is a value", bit, i)
			}
			value[i] ^= 1 << bit
		}
	}
	name := strings.Repeat("name", 100)
	once := len(appendFrames(nil, key, []symsrc.Frame{{Func: name}}, time.Time{}))
	if n := len(appendFrames(nil, key, []symsrc.Frame{{Func: name, Linkage: name}, {Func: name}}, time.Time{})); n > once+20 {
		t.Errorf("a name that comes again takes %d bytes instead of %d", n, once)
	}
}

func TestProbes(t *testing.T) {
	key := []byte("a key")
	same := func(p symsrc.Probe) bool {
		got, err := decodeProbe(key, appendProbe(nil, key, p))
		return err == nil && got == p
	}
	if err := quick.Check(same, nil); err != nil {
		t.Error(err)
	}
}

// FuzzFrames reads anything as a value, under a right checksum.
func FuzzFrames(f *testing.F) {
	key := []byte("key")
	f.Add(appendFrames(nil, key, []symsrc.Frame{{Func: "f", Linkage: "_Z1fv", File: "/src/f.cc", CompDir: 4, Line: 3}, {Func: "f", Offset: 9}}, time.Unix(1, 0))[4:])
	f.Add(appendProbe(nil, key, symsrc.Probe{Known: true, Linked: 5})[4:])
	f.Add([]byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Fuzz(func(t *testing.T, rest []byte) {
		value := seal(append([]byte{0, 0, 0, 0}, rest...), 0, key)
		if a, err := decodeFrames(key, value); err == nil {
			again, err := decodeFrames(key, appendFrames(nil, key, a.Frames, a.Made))
			if err != nil || !reflect.DeepEqual(again, a) {
				t.Errorf("%x: %v is kept as %v, %v", rest, a, again, err)
			}
		}
		decodeProbe(key, value)
	})
}

func FuzzBlobs(f *testing.F) {
	f.Add(appendBlob(appendBlob(nil, []byte("a")), nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		for ok := true; ok && len(b) > 0; {
			var blob, rest []byte
			if blob, rest, ok = cutBlob(b); ok && len(blob)+len(rest) >= len(b) {
				t.Fatalf("%x is cut into %x and %x", b, blob, rest)
			}
			b = rest
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	key := []byte("a key of the usual length, more or less")
	value := appendFrames(nil, key, []symsrc.Frame{
		{Func: "std::vector<int>::push_back(int const&)", Linkage: "_ZNSt6vectorIiE9push_backERKi", File: "/usr/include/c++/12/vector", Line: 10},
		{Func: "main", Linkage: "main", File: "/src/main.cc", CompDir: 5, Line: 20, Column: 3, Origin: symsrc.SymbolAndDebug},
	}, time.Unix(1, 0))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeFrames(key, value); err != nil {
			b.Fatal(err)
		}
	}
}
