package dwarf

import (
	"math/rand/v2"
	"slices"
	"testing"

	"qss-filter/symsrc/elf"
)

// TestSequencePosition checks the lines that replace line 0.
func TestSequencePosition(t *testing.T) {
	rows := []row{{rel: 0, line: 7, file: 1}, {rel: 4, line: 9, file: 1, col: 2}, {rel: 6, line: 5, file: 2},
		{rel: 8, file: 1, col: 3}, {rel: 12, file: 1}, {rel: 16, line: 1, file: 1}}
	s := sequence{elf.Span{Lo: 0x100, Hi: 0x120}, 0, int32(len(rows))}
	for _, c := range []struct {
		addr, scope uint64
		want        position
	}{
		{0x100, 0x100, position{file: 1, line: 7}},
		{0x105, 0x100, position{file: 1, line: 9, col: 2}},
		{0x108, 0x100, position{file: 1, line: 9, col: 3, approx: true}}, // the row of another file is skipped
		{0x10f, 0x100, position{file: 1, line: 9, approx: true}},
		{0x10f, 0x104, position{file: 1, line: 9, approx: true}},
		{0x10f, 0x106, position{file: 1}}, // the last line is before the scope
		{0x10f, 0x108, position{file: 1}},
		{0x110, 0x108, position{file: 1, line: 1}},
	} {
		if got := s.positionAt(rows, c.addr, c.scope, nil); got != c.want {
			t.Errorf("%#x in scope %#x: %+v, want %+v", c.addr, c.scope, got, c.want)
		}
	}
	for addr, want := range map[uint64]position{0x105: {file: 1, line: 9, col: 2}, 0x108: {file: 2, line: 5}, 0x10f: {file: 2, line: 5},
		0x110: {file: 1, line: 1}} {
		if got := s.lastLineAt(rows, addr, nil); got != want {
			t.Errorf("last line at %#x: %+v, want %+v", addr, got, want)
		}
	}
	none := sequence{elf.Span{Lo: 0x108, Hi: 0x110}, 3, 5}
	if got := none.lastLineAt(rows, 0x109, nil); got != (position{file: 1, col: 3}) {
		t.Errorf("in a sequence without lines: %+v", got)
	}
}

// TestDisjointRanges compares with a computation for every address.
func TestDisjointRanges(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	const addresses = 40
	for range 3000 {
		var all []arange
		for range r.IntN(7) {
			lo := uint64(r.IntN(addresses - 1))
			all = append(all, arange{elf.Span{Lo: lo, Hi: lo + 1 + uint64(r.IntN(addresses-int(lo)-1))}, 1 + r.IntN(4)})
		}
		want := make([]int, addresses)
		for a := range want {
			want[a] = choose(all, uint64(a), want)
		}
		before := append([]arange{}, all...)
		got := disjointRanges(all, nil)
		for i := 1; i < len(got); i++ {
			if got[i].Lo < got[i-1].Hi {
				t.Fatalf("%v: not disjoint: %v", before, got)
			}
		}
		for a := range want {
			found := 0
			if i := (&rangeTable{ranges: got}).search(uint64(a)); i >= 0 {
				found = got[i].unit
			}
			if found != want[a] {
				t.Fatalf("%v: %d at %d, want %d", before, found, a, want[a])
			}
		}
	}
}

// choose returns the unit of the previous address if it also covers a; otherwise the first unit in the file that does.
func choose(all []arange, a uint64, want []int) (unit int) {
	for _, x := range all {
		if !x.Covers(a) {
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

// TestDisjointFunctions compares with the last function that covers each address, and with the scan for one address. The range of a
// function begins at its start, or at the end of a later function that overlaps it.
func TestDisjointFunctions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const addresses = 40
	for range 3000 {
		var ranges [6][]elf.Span
		kept := functionScan{keep: true}
		for i := range ranges[:r.IntN(7)] {
			for range 1 + r.IntN(3) {
				lo := uint64(r.IntN(addresses - 1))
				ranges[i] = append(ranges[i], elf.Span{Lo: lo, Hi: lo + 1 + uint64(r.IntN(addresses-int(lo)-1))})
			}
			kept.add(i+1, slices.Clone(ranges[i]))
		}
		x := functionIndex{spans: disjointFunctions(kept.spans, nil), functions: make([]function, len(kept.dies))}
		for i, die := range kept.dies {
			x.functions[i].die = die
		}
		for a := range uint64(addresses) {
			want, scan := 0, functionScan{pc: a}
			for i, spans := range ranges {
				if slices.ContainsFunc(spans, func(s elf.Span) bool { return s.Covers(a) }) {
					want = i + 1
				}
				scan.add(i+1, slices.Clone(spans))
			}
			got, lo := 0, uint64(0)
			if f, at := x.at(a); f != nil {
				got, lo = f.die, at.Lo
			}
			if got != want || scan.die != want || want != 0 && lo != scan.lo {
				t.Fatalf("%v: at %d the index has %d from %d on, the scan %d from %d on, want %d", ranges, a, got, lo, scan.die, scan.lo, want)
			}
		}
	}
}

// TestChain checks a tree with a call that extends beyond its parents, as compilers write them, and one that is too far from the base.
func TestChain(t *testing.T) {
	// 0: 10-20; 1 in 0: 12-14; 2 in 1: 13-14, and 30-31 outside of both; 3 in 0: 18-19; 4: too far away.
	r := treeReader{ranges: []elf.Span{{Lo: 10, Hi: 20}, {Lo: 12, Hi: 14}, {Lo: 13, Hi: 14}, {Lo: 30, Hi: 31}, {Lo: 18, Hi: 19}, {Lo: 1 << 40, Hi: 1<<40 + 1}},
		extents: []absoluteExtent{{elf.Span{Lo: 10, Hi: 31}, 4}, {elf.Span{Lo: 12, Hi: 31}, 3}, {elf.Span{Lo: 13, Hi: 31}, 3}, {elf.Span{Lo: 18, Hi: 19}, 4}, {elf.Span{Lo: 1 << 40, Hi: 1<<40 + 1}, 5}},
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

// TestCold checks a small unit, and a large one while more and more of it is read.
func TestCold(t *testing.T) {
	u := &Unit{}
	if !u.cold() {
		t.Error("a unit of unknown size is not cold")
	}
	u.split.Store(u)
	if u.end = quickUnit; u.cold() {
		t.Error("a small unit is cold")
	}
	u.end++
	for _, read := range []func(){func() { u.lines.Store(&lineTable{}) }, func() { u.functions[topLevel].Store(&functionIndex{}) },
		func() { u.functions[nested].Store(&functionIndex{}) }} {
		if !u.cold() {
			t.Error("a large unit that was not read completely is not cold")
		}
		read()
	}
	if u.cold() {
		t.Error("a unit that was read completely is cold")
	}
}
