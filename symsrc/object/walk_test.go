package object

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"qss-filter/symsrc"
)

// TestWalkDamaged walks over damaged files of testdata, and compares each piece with Code of another File.
func TestWalkDamaged(t *testing.T) {
	places := sectionPlaces(t, decisive...)
	r := rand.New(rand.NewPCG(15, 16))
	pieces := 0
	for n := range *mutations {
		p := &places[r.IntN(len(places))]
		file, beside := p.with(damage(r, p.contents))
		if n < len(seeds) {
			file, beside = p.file, p.beside
		}
		f, err := newFileBeside(file, beside)
		if err != nil {
			continue
		}
		other, err := newFileBeside(file, beside)
		if err != nil {
			t.Fatal(err)
		}
		w := newWalker(f, math.MaxInt, func(p *Piece) error {
			pieces++
			for _, a := range [...]uint64{p.Lo, p.Lo + (p.Hi-p.Lo)/2, p.Hi - 1} {
				if frames := other.Code(a); other.fault.Load() == nil && !p.agrees(frames) {
					return fmt.Errorf("%#x: %+v, want %+v", a, *p, frames)
				}
			}
			return nil
		})
		f.guard(func() { _, err = w.run(context.Background(), 0) })
		if gone, damaged := givenUp(f); damaged != nil || err != nil && !gone {
			t.Fatalf("%s, section %d: %v, %v", p.name, p.index, damaged, err)
		}
	}
	if pieces < 1000 {
		t.Errorf("only %d pieces", pieces)
	}
}

// agrees reports whether a piece agrees with frames, except for the file of a symbol, which a Piece does not have.
func (p *Piece) agrees(frames []symsrc.Frame) bool {
	if len(frames) != len(p.Calls)+1 || frames[len(frames)-1].Func != p.Func {
		return false
	}
	for i := range frames {
		fr, file, line := frames[i], p.File, p.Line
		if i > 0 { // the position of the call of the inlined function
			c := p.Calls[len(p.Calls)-i]
			file, line = c.File, c.Line
		}
		if fr.Approx || fr.File == "" && i == 0 {
			fr.Line = 0
		}
		if fr.Line != line || fr.File != file && (file != "" || line != 0 || len(frames) > 1) {
			return false
		}
		if i < len(p.Calls) && fr.Func != p.Calls[len(p.Calls)-1-i].Func {
			return false
		}
	}
	return true
}
