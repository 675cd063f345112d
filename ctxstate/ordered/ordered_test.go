package ordered

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// check checks the invariants of the blocks, and the values.
func check(t *testing.T, table *Table[uint64], want []uint64) {
	t.Helper()
	if len(table.starts) != len(table.blocks) || table.Len() != len(want) || len(table.blocks) > 2+4*len(want)/(blockLen/2) {
		t.Fatalf("%d starts of %d blocks, %d values, want %d", len(table.starts), len(table.blocks), table.Len(), len(want))
	}
	for b, block := range table.blocks {
		if len(block) == 0 || len(block) >= blockLen || table.starts[b] != block[0].key {
			t.Fatalf("a block of %d", len(block))
		}
	}
	if !slices.Equal(table.All(), want) {
		t.Fatalf("%v, want %v", table.All(), want)
	}
}

// TestTable compares a table with a sorted list, for keys in several orders.
func TestTable(t *testing.T) {
	const count = 4 * blockLen
	var table Table[uint64]
	for name, key := range map[string]func(r *rand.Rand, i int) uint64{
		"ascending":  func(_ *rand.Rand, i int) uint64 { return uint64(i + 1) },
		"descending": func(_ *rand.Rand, i int) uint64 { return uint64(count - i) },
		"random":     func(r *rand.Rand, _ int) uint64 { return r.Uint64N(2*count) + 1 },
		"the last":   func(r *rand.Rand, _ int) uint64 { return -r.Uint64N(count) - 1 },
	} {
		r := rand.New(rand.NewPCG(1, 2))
		var list []uint64
		table.Reset()
		check(t, &table, nil)
		for i := range count {
			k := key(r, i)
			at, found := slices.BinarySearch(list, k)
			place := table.Floor(k)
			switch {
			case !found:
				if got := table.Get(table.Insert(place, k, k)); got != k {
					t.Fatalf("%s: %d at the place of %d", name, got, k)
				}
				list = slices.Insert(list, at, k)
			case r.IntN(2) == 0:
				if got := table.Get(place); got != k {
					t.Fatalf("%s: Floor of %d is %d", name, k, got)
				}
				table.Remove(place)
				list = slices.Delete(list, at, at+1)
			}
			near := k + r.Uint64N(5)
			at, found = slices.BinarySearch(list, near)
			if !found {
				at--
			}
			p := table.Floor(near)
			for _, c := range []struct {
				place Place
				at    int
			}{{p, at}, {table.Previous(p), at - 1}, {table.Next(p), at + 1}} {
				want := uint64(0)
				if c.at >= 0 && c.at < len(list) {
					want = list[c.at]
				}
				if got := table.Get(c.place); got != want {
					t.Fatalf("%s: near %d: %d, want %d", name, near, got, want)
				}
			}
		}
		check(t, &table, list)
		first, last := list[len(list)/3], list[2*len(list)/3]
		odd := func(k uint64) bool { return first <= k && k <= last && k%2 == 1 }
		table.DeleteFunc(first, last, odd)
		check(t, &table, slices.DeleteFunc(list, odd))
	}
}
