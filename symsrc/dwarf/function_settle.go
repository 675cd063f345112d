package dwarf

import (
	"cmp"
	"container/heap"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/elf"
	"slices"
)

// settleFunctions sorts ranges and makes them disjoint. Where several functions cover an address, the last one in the
// file is taken, as llvm does.
func settleFunctions(all []functionSpan, left *budget.File) []functionSpan {
	slices.SortFunc(all, func(a, b functionSpan) int {
		if a.Lo != b.Lo {
			return cmp.Compare(a.Lo, b.Lo)
		}
		return cmp.Compare(a.function, b.function)
	})
	overlap := false
	for i := 1; i < len(all); i++ {
		overlap = overlap || all[i].Lo < all[i-1].Hi
	}
	if !overlap {
		return all
	}
	left.Hold(len(all) * overlapWeight)
	left.Spend(len(all) * stepsPerOverlap)
	var out []functionSpan
	var open latest
	at := uint64(0)
	for i := 0; i < len(all) || len(open) > 0; {
		// Up to the next start, the functions that are open hold, the latest of them first.
		next := ^uint64(0)
		if i < len(all) {
			next = all[i].Lo
		}
		for len(open) > 0 && at < next {
			top := open[0]
			if top.Hi <= at {
				heap.Pop(&open)
				continue
			}
			end := min(top.Hi, next)
			if n := len(out); n > 0 && out[n-1].Hi == at && out[n-1].function == top.function && top.Lo < at {
				out[n-1].Hi = end // it goes on
			} else {
				out = append(out, functionSpan{Span: elf.Span{Lo: at, Hi: end}, function: top.function})
			}
			at = end
		}
		for at = next; i < len(all) && all[i].Lo == next; i++ {
			heap.Push(&open, all[i])
		}
		if i == len(all) && next == ^uint64(0) {
			break
		}
	}
	return out
}

// latest is a heap with the function that comes last in the file on top.
type latest []functionSpan

func (h latest) Len() int           { return len(h) }
func (h latest) Less(i, j int) bool { return h[i].function > h[j].function }
func (h latest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *latest) Push(x any)        { *h = append(*h, x.(functionSpan)) }
func (h *latest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
