package index

import (
	"sync"
	"testing"
)

// TestNumbered puts what several goroutines make of many numbers, and holds that each gets what was made of its number, or nothing yet.
func TestNumbered(t *testing.T) {
	const most = 5000
	var table numbered[uint32]
	var wg sync.WaitGroup
	for g := range uint32(4) {
		wg.Go(func() {
			for i := range uint32(most) {
				number := (i*7 + g*most/4) % most * 64 // far apart and in another order in each goroutine
				if is := table.get(number); is != nil && *is != number {
					t.Errorf("%d for %d", *is, number)
				}
				made := number
				table.put(number, &made)
				if is := table.get(number); is == nil || *is != number {
					t.Errorf("%v for %d, which was put", is, number)
				}
			}
		})
	}
	wg.Wait()
	if table.used != most || table.get(most*64) != nil || table.get(1) != nil {
		t.Errorf("%d of %d are there", table.used, most)
	}
}
