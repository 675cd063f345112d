package object

import (
	"context"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"qss-filter/symsrc"
)

// sessionFile returns the path in QSS_BENCH_FILE, or the file of the other benchmarks.
func sessionFile(b *testing.B) string {
	if path := os.Getenv("QSS_BENCH_FILE"); path != "" {
		return path
	}
	return benchFile(b)
}

// oneFile is a finder with one debug file for every module.
type oneFile string

func (f oneFile) Find(context.Context, symsrc.Module) *symsrc.Files {
	return &symsrc.Files{Debug: string(f), Unverified: true, ElfStatus: symsrc.NotFound}
}

// BenchmarkSession opens a file and looks up many random addresses, as the filter of a log does: with one goroutine, and with two that
// share the addresses, as in look-ahead. The ratio shows the benefit of a second core.
func BenchmarkSession(b *testing.B) {
	path := sessionFile(b)
	all := codeAddresses(b, path, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []struct {
		name  string
		addrs int
	}{{"1000", 1000}, {"100k", 100000}} {
		addrs := make([]uint64, n.addrs)
		for i := range addrs {
			addrs[i] = all[rng.IntN(len(all))]
		}
		for _, workers := range []int{1, 2} {
			b.Run(n.name+"/"+[]string{"one", "two"}[workers-1], func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					session(path, addrs, workers)
				}
			})
		}
	}
}

// session looks up all addresses in a new Source, in blocks that the workers share.
func session(path string, addrs []uint64, workers int) {
	s := NewSource(oneFile(path))
	const block = 64
	blocks := make(chan []uint64, len(addrs)/block+1)
	for ; len(addrs) > 0; addrs = addrs[min(block, len(addrs)):] {
		blocks <- addrs[:min(block, len(addrs))]
	}
	close(blocks)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for block := range blocks {
				for _, a := range block {
					s.Frames(context.Background(), symsrc.Addr{Offset: a})
				}
			}
		})
	}
	wg.Wait()
	s.module(symsrc.Module{}).close()
}
