package elfdwarf

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSettle compares with a count over every address.
func TestSettle(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const addresses = 40
	for range 3000 {
		var all []arange
		for range r.IntN(7) {
			lo := uint64(r.IntN(addresses - 1))
			all = append(all, arange{span{lo, lo + 1 + uint64(r.IntN(addresses-int(lo)-1))}, 1 + r.IntN(4)})
		}
		want := make([]int, addresses)
		for a := range want {
			want[a] = choose(all, uint64(a), want)
		}
		before := append([]arange{}, all...)
		got := settle(all, nil)
		for i := 1; i < len(got); i++ {
			if got[i].lo < got[i-1].hi {
				t.Fatalf("%v: not disjoint: %v", before, got)
			}
		}
		for a := range want {
			found := 0
			if i := (&rangeTable{ranges: got}).search(uint64(a)); i >= 0 {
				found = got[i].unit
			}
			if found != want[a] {
				t.Fatalf("%v: %d at %d instead of %d", before, found, a, want[a])
			}
		}
	}
}

// choose takes the unit of the address before if it covers a too, else the first in the file.
func choose(all []arange, a uint64, want []int) (unit int) {
	for _, x := range all {
		if !x.covers(a) {
			continue
		}
		if a > 0 && want[a-1] == x.unit {
			return x.unit
		}
		if unit == 0 || x.unit < unit {
			unit = x.unit
		}
	}
	return unit
}

// TestSettleFunctions compares with the last function that covers each address, and with the scan for one address. A function
// begins where its range does, or later ones end that lie over it.
func TestSettleFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const addresses = 40
	for range 3000 {
		var ranges [6][]span
		kept := functionScan{keep: true}
		for i := range ranges[:r.IntN(7)] {
			for range 1 + r.IntN(3) {
				lo := uint64(r.IntN(addresses - 1))
				ranges[i] = append(ranges[i], span{lo, lo + 1 + uint64(r.IntN(addresses-int(lo)-1))})
			}
			kept.add(i+1, slices.Clone(ranges[i]))
		}
		x := functionIndex{spans: settleFunctions(kept.spans, nil), functions: make([]function, len(kept.dies))}
		for i, die := range kept.dies {
			x.functions[i].die = die
		}
		for a := range uint64(addresses) {
			want, scan := 0, functionScan{pc: a}
			for i, spans := range ranges {
				if slices.ContainsFunc(spans, func(s span) bool { return s.covers(a) }) {
					want = i + 1
				}
				scan.add(i+1, slices.Clone(spans))
			}
			got, lo := 0, uint64(0)
			if f, at := x.at(a); f != nil {
				got, lo = f.die, at.lo
			}
			if got != want || scan.die != want || want != 0 && lo != scan.lo {
				t.Fatalf("%v: %d from %d on at %d, and by a scan %d from %d on, instead of %d", ranges, got, lo, a, scan.die, scan.lo, want)
			}
		}
	}
}

// TestDead tells addresses that a linker leaves for what it drops.
func TestDead(t *testing.T) {
	is64, is32, rel := linkage{wide: true}, linkage{}, linkage{wide: true, zeroCode: true}
	for _, c := range []struct {
		h    *linkage
		addr uint64
		want bool
	}{
		{&is64, 0, true}, {&is64, 1, true}, {&is64, 2, false}, {&is64, 1<<32 - 1, false}, {&is64, 1<<64 - 1, true}, {&is64, 1<<64 - 2, true},
		{&is64, 1<<64 - 3, false}, {&is32, 1<<32 - 1, true}, {&is32, 1<<32 - 2, true}, {&is32, 1<<32 - 3, false}, {&rel, 0, false},
	} {
		if got := c.h.dead(c.addr); got != c.want {
			t.Errorf("%#x of %+v: %v", c.addr, c.h, got)
		}
	}
}

// TestChain asks a tree whose calls reach beyond each other, as compilers write them, and one that is too far away.
func TestChain(t *testing.T) {
	// 0: 10-20; 1 within 0: 12-14; 2 within 1: 13-14 and 30-31, outside of both; 3: 18-19, within 0.
	r := treeReader{ranges: []span{{10, 20}, {12, 14}, {13, 14}, {30, 31}, {18, 19}, {1 << 40, 1<<40 + 1}},
		extents: []wideExtent{{span{10, 31}, 4}, {span{12, 31}, 3}, {span{13, 31}, 3}, {span{18, 19}, 4}, {span{1 << 40, 1<<40 + 1}, 5}},
		calls: []call{{parent: -1, first: 0, n: 1}, {parent: 0, first: 1, n: 1}, {parent: 1, first: 2, n: 2},
			{parent: 0, first: 4, n: 1}, {parent: -1, first: 5, n: 1}}}
	tree := r.tree()
	for _, c := range []struct {
		addr uint64
		want []int32
		lo   uint64
	}{{9, nil, 0}, {10, []int32{0}, 10}, {12, []int32{1, 0}, 12}, {13, []int32{2, 1, 0}, 13}, {14, []int32{0}, 10},
		{18, []int32{3, 0}, 18}, {20, nil, 0}, {30, []int32{2, 1, 0}, 30}, {31, nil, 0}, {1 << 40, nil, 0}} {
		got, lo, found := tree.chain(c.addr, nil, nil)
		same := len(got) == len(c.want) && found == (len(got) > 0)
		for i := range c.want {
			same = same && got[i] == c.want[i]
		}
		if !same || found && lo != c.lo {
			t.Errorf("%d: %v from %d, %v", c.addr, got, lo, found)
		}
	}
}
