package macho

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestByValue compares the order of symbols with that of the library's stable sort.
func TestByValue(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 6))
	for _, span := range [...]uint64{1, 7, 1 << 11, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 32, 1 << 40, ^uint64(0)} {
		for _, n := range [...]int{0, 1, 2, 100, 5000} {
			list, want := make([]named, n), make([]uint32, n)
			base := r.Uint64N(^uint64(0) - span + 1)
			for i := range list {
				list[i].value, want[i] = base+r.Uint64N(span), uint32(i)
			}
			slices.SortStableFunc(want, func(a, b uint32) int { return cmp.Compare(list[a].value, list[b].value) })
			if got := byValue(list); !slices.Equal(got, want) {
				t.Errorf("%d symbols in %#x bytes: wrong order", n, span)
			}
		}
	}
}
