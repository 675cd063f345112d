package elf

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortByAddress compares with the stable sort of the standard library, for addresses that have few or many bytes in common.
func TestSortByAddress(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, mask := range []uint64{0, 1, 0xff, 0xff00, 0xfff, 0xffffff, 0xff00_0000_0000_00ff, ^uint64(0)} {
		for _, n := range []int{0, 1, 2, 3, 1000} {
			all := make([]addressedEntry, n)
			for i := range all {
				all[i] = addressedEntry{0x40_0000 ^ rng.Uint64()&mask, uint32(i)}
			}
			want := slices.Clone(all)
			slices.SortStableFunc(want, func(a, b addressedEntry) int { return cmp.Compare(a.addr, b.addr) })
			if got := sortByAddress(all); !slices.Equal(got, want) {
				t.Errorf("%d addresses with the mask %#x:\n got %v\nwant %v", n, mask, got, want)
			}
		}
	}
}
