package index_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/index"
	"qss-filter/symsrc/names"
)

// piece is a range with one answer.
type piece struct {
	lo, hi  uint64
	frames  []symsrc.Frame
	details []symsrc.Detail
	folded  string
}

// pieces returns random ranges, of which some touch each other.
func pieces(r *rand.Rand, n int) (all []piece) {
	functions := []names.Name{*names.New("main"), *names.New("_ZN3foo3barEv"), *names.New("_RNvC1a4main"), {Linkage: "puts", Demangled: "puts@plt"}, {}}
	files := []symsrc.Frame{{File: "/src/a.c"}, {File: "/src/b.h", CompDir: 4}, {File: "c.cc", MD5: "0123456789abcdef"}, {}}
	at := uint64(0xffffffff81000000)
	for range n {
		at += r.Uint64N(3) * 5
		p := piece{lo: at, hi: at + 1 + r.Uint64N(9)}
		for range r.IntN(4) {
			f := files[r.IntN(len(files))]
			name := functions[r.IntN(len(functions))]
			f.Func, f.Linkage, f.Origin = name.Demangled, name.Linkage, symsrc.Origin(r.IntN(4))
			f.Line, f.Column, f.Approx = r.IntN(1<<20), r.IntN(1<<16), r.IntN(2) > 0
			p.frames = append(p.frames, f)
			d := symsrc.Detail{Linkage: functions[r.IntN(len(functions))].Linkage, File: f.File, CompDir: f.CompDir, Line: r.IntN(3), Discriminator: uint32(r.IntN(3))}
			if d.Started = r.IntN(2) > 0; d.Started {
				d.Start = at - r.Uint64N(1<<40)
			}
			p.details = append(p.details, []symsrc.Detail{d, {}}[r.IntN(2)])
		}
		p.folded = []string{"", "", "f\ng", "h\ng\nf"}[r.IntN(4)]
		at = p.hi
		all = append(all, p)
	}
	return all
}

// build returns the index of pieces.
func build(t testing.TB, all []piece) []byte {
	t.Helper()
	b := index.NewBuilder(1 << 20)
	for _, p := range all {
		if err := b.Add(p.lo, p.hi, p.frames, p.details); err != nil {
			t.Fatal(err)
		}
		if p.folded != "" {
			b.Fold(p.lo, p.folded)
		}
	}
	var out bytes.Buffer
	if n, err := b.WriteTo(&out); err != nil || n != int64(out.Len()) || n > b.Size() {
		t.Fatalf("%d bytes of %d, at most %d: %v", n, out.Len(), b.Size(), err)
	}
	return out.Bytes()
}

// open returns the index in data.
func open(data []byte) (*index.Index, error) {
	limits := budget.NewFile(len(data))
	return index.Open(data, &names.Table{Budget: limits}, limits)
}

// TestRoundTrip checks that an index has what was added to it, and knows no other addresses.
func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 400; n += 7 {
		all := pieces(r, n)
		x, err := open(build(t, all))
		if err != nil {
			t.Fatal(err)
		}
		at := all[0].lo - 3
		for _, p := range all {
			for ; at < p.lo; at++ {
				if frames, ok := x.Frames(at); ok || frames != nil {
					t.Fatalf("%#x, in no range: %v", at, frames)
				}
				if names := x.Folded(at); names != "" {
					t.Fatalf("%#x, in no range: %q", at, names)
				}
			}
			for ; at < p.hi; at++ {
				if frames, ok := x.Frames(at); !ok || !reflect.DeepEqual(frames, p.frames) {
					t.Fatalf("%#x: %v, %v, want %v", at, frames, ok, p.frames)
				}
				if names := x.Folded(at); names != p.folded {
					t.Fatalf("%#x: names %q, want %q", at, names, p.folded)
				}
				if details := x.Details(at); len(details) != len(p.frames) || len(details) > 0 && !reflect.DeepEqual(details, p.details) {
					t.Fatalf("%#x: details %v, want %v", at, details, p.details)
				}
			}
		}
		for _, at := range []uint64{at, at + 1<<20, at + 1<<32, 0} {
			if frames, ok := x.Frames(at); ok || frames != nil {
				t.Fatalf("%#x, after all ranges: %v", at, frames)
			}
		}
	}
}

// TestManyNames checks all addresses of an index before and after it has been asked for many names, and those around it.
func TestManyNames(t *testing.T) {
	const count = 3000
	rng := rand.New(rand.NewPCG(3, 4))
	all := pieces(rng, count)
	for i := range all {
		name := fmt.Sprintf("f%d", i)
		all[i].frames, all[i].details, all[i].folded = []symsrc.Frame{{Func: name, Linkage: name, Line: i + 1}}, nil, ""
	}
	data := build(t, all)
	x, err := open(data)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		at := all[0].lo - 3
		for _, p := range all {
			for ; at < p.lo; at++ {
				if frames, ok := x.Frames(at); ok || frames != nil {
					t.Fatalf("%#x, in no range: %v", at, frames)
				}
			}
			for ; at < p.hi; at++ {
				if frames, ok := x.Frames(at); !ok || !reflect.DeepEqual(frames, p.frames) {
					t.Fatalf("%#x: %v, %v, want %v", at, frames, ok, p.frames)
				}
			}
		}
		if frames, ok := x.Frames(at); ok || frames != nil {
			t.Fatalf("%#x, after all ranges: %v", at, frames)
		}
	}
	const header, rangeSize = 9 * 8, 8
	binary.LittleEndian.PutUint32(data[header+(count-10)*rangeSize:], math.MaxUint32)
	if x, err = open(data); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if cause := recover(); cause != index.ErrDamaged {
			t.Errorf("ranges in no order: %v", cause)
		}
	}()
	for _, p := range all {
		x.Frames(p.lo)
	}
}

// TestRefused checks that a Builder refuses what an index cannot hold.
func TestRefused(t *testing.T) {
	main := []symsrc.Frame{{Func: "main", Linkage: "main"}}
	for name, p := range map[string]piece{
		"empty":                  {lo: 0x2000, hi: 0x2000, frames: main},
		"out of order":           {lo: 0x1010, hi: 0x1030, frames: main},
		"too far":                {lo: 0x2000, hi: 0x1000 + 1<<32, frames: main},
		"an offset":              {lo: 0x2000, hi: 0x2010, frames: []symsrc.Frame{{Func: "main", Offset: 1}}},
		"a negative line":        {lo: 0x2000, hi: 0x2010, frames: []symsrc.Frame{{Func: "main", Line: -1}}},
		"too wide a line":        {lo: 0x2000, hi: 0x2010, frames: []symsrc.Frame{{Func: "main", Column: 1 << 16}}},
		"a negative declaration": {lo: 0x2000, hi: 0x2010, frames: main, details: []symsrc.Detail{{Line: -1}}},
		"an unknown start":       {lo: 0x2000, hi: 0x2010, frames: main, details: []symsrc.Detail{{Start: 1<<64 - 1, Started: true}}},
		"more than it may":       {lo: 0x2000, hi: 0x2010, frames: []symsrc.Frame{{Func: string(make([]byte, 1<<13))}}},
	} {
		b := index.NewBuilder(1 << 12)
		if err := b.Add(0x1000, 0x1020, main, nil); err != nil {
			t.Fatal(err)
		}
		if err := b.Add(p.lo, p.hi, p.frames, p.details); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// FuzzIndex looks addresses up in damaged indexes: they panic with an error or answer, at a bounded cost.
func FuzzIndex(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 50; n += 12 {
		f.Add(build(f, pieces(r, n)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := open(data)
		if err != nil {
			return
		}
		base := binary.LittleEndian.Uint64(data[8:])
		for at := range uint64(300) {
			if !recovers(func() { x.Frames(base + at) }) || !recovers(func() { x.Details(base + at) }) {
				t.Fatalf("%#x: not an error", base+at)
			}
		}
	})
}

// recovers reports whether a call returns or panics with an error.
func recovers(call func()) (ok bool) {
	defer func() {
		r := recover()
		_, isRuntime := r.(runtime.Error)
		ok = r == nil || isRuntime || r == index.ErrDamaged
	}()
	call()
	return true
}
