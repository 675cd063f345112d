package main

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"time"
)

// delays measures how long marked lines take through a filter, from the write that sends them to the read that brings them
// back: what passes between two processes and back is part of it.
type delays struct {
	sent   [1 << 16]atomic.Int64 // when a mark was sent, in nanoseconds since start, by its number
	counts [64 * 8]atomic.Int64  // eight for each power of two nanoseconds
	most   atomic.Int64
	start  time.Time
}

// send notes that the marks from, …, to−1 are being sent.
func (d *delays) send(from, to int) {
	now := max(1, int64(time.Since(d.start)))
	for n := from; n < to; n++ {
		d.sent[n%len(d.sent)].Store(now)
	}
}

// back notes that a mark has come back.
func (d *delays) back(n int) {
	took := int64(time.Since(d.start)) - d.sent[n%len(d.sent)].Load()
	d.most.Store(max(d.most.Load(), took))
	d.counts[bucket(uint64(max(took, 8)))].Add(1)
}

func bucket(v uint64) int {
	power := bits.Len64(v) - 1
	return power<<3 | int(v>>(power-3)&7)
}

// quantile is the delay that a share of all lines do not exceed, rounded up by an eighth at most.
func (d *delays) quantile(share float64) time.Duration {
	var all, seen int64
	for i := range d.counts {
		all += d.counts[i].Load()
	}
	for i := range d.counts {
		if seen += d.counts[i].Load(); float64(seen) >= share*float64(all) && seen > 0 {
			return time.Duration(uint64(9+i&7) << (i >> 3) >> 3)
		}
	}
	return 0
}

func (d *delays) String() string {
	return fmt.Sprintf("p50 %v, p99 %v, p99.9 %v, most %v", d.quantile(.5), d.quantile(.99), d.quantile(.999), time.Duration(d.most.Load()).Round(time.Microsecond))
}
