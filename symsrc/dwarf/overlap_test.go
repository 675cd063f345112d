package dwarf

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"qss-filter/symsrc/elf"
)

// TestResolveOverlaps compares with a plain implementation of llvm's DWARFUnit::updateAddressDieMap.
func TestResolveOverlaps(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const addresses = 400
	for range 60 {
		type entry struct {
			hi   uint64
			call int32
		}
		want := make(map[uint64]entry)
		below := func(addr uint64) (at uint64, ok bool) {
			keys := slices.Sorted(maps.Keys(want))
			i, found := slices.BinarySearch(keys, addr)
			if found {
				i++
			}
			if i == 0 {
				return 0, false
			}
			return keys[i-1], true
		}
		var all []entrySpan
		for i := range 1 + r.IntN(300) {
			lo := uint64(r.IntN(addresses)) * uint64(r.IntN(2))
			s := elf.Span{Lo: lo, Hi: lo + 1 + uint64(r.IntN(addresses-int(lo)))}
			all = append(all, entrySpan{functionSpan{Span: s, call: int32(i)}, i})
			if k, ok := below(s.Lo); ok && s.Lo < want[k].hi {
				around := want[k]
				if s.Hi < around.hi {
					want[s.Hi] = around
				}
				if s.Lo > k {
					want[k] = entry{s.Lo, want[k].call}
				}
			}
			want[s.Lo] = entry{s.Hi, int32(i)}
		}
		x := functionIndex{spans: resolveOverlaps(all, nil), functions: make([]function, 1)}
		for a := range uint64(addresses + 5) {
			got, is := int32(-1), int32(-1)
			if f, at := x.at(a); f != nil {
				got = at.call
			}
			if k, ok := below(a); ok && a < want[k].hi {
				is = want[k].call
			}
			if got != is {
				t.Fatalf("%v: %d at %d, want %d", all, got, a, is)
			}
		}
	}
}
