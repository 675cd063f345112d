package object

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// benchFile returns a large installed debug file if there is one, otherwise a file in testdata.
func benchFile(b *testing.B) string {
	for _, pattern := range []string{"/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6", "/usr/lib/debug/.build-id/*/*.debug"} {
		paths, _ := filepath.Glob(pattern)
		best, size := "", int64(1<<20)
		for _, p := range paths {
			if st, err := os.Stat(p); err == nil && st.Size() > size {
				best, size = p, st.Size()
			}
		}
		if best != "" {
			return best
		}
	}
	return filepath.Join("testdata", "gcc5.elf")
}

// BenchmarkCold opens the file and looks up one address.
func BenchmarkCold(b *testing.B) {
	path := benchFile(b)
	addrs := codeAddresses(b, path, 101)
	for i := 0; b.Loop(); i++ {
		f, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		f.Code(addrs[i*7919%len(addrs)])
		f.Close()
	}
}

// BenchmarkWarm looks up addresses in random order that were looked up before.
func BenchmarkWarm(b *testing.B) {
	f, addrs := warm(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		f.Code(addrs[i%len(addrs)])
	}
}

// BenchmarkWarmParallel is BenchmarkWarm on all cores.
func BenchmarkWarmParallel(b *testing.B) {
	f, addrs := warm(b)
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(addrs)); pb.Next(); i++ {
			f.Code(addrs[i%len(addrs)])
		}
	})
}

// warm returns a file and addresses that have been looked up in it.
func warm(b *testing.B) (*File, []uint64) {
	path := benchFile(b)
	f := open(b, path)
	addrs := codeAddresses(b, path, 31)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(addrs), func(i, j int) { addrs[i], addrs[j] = addrs[j], addrs[i] })
	for _, a := range addrs {
		f.Code(a)
	}
	return f, addrs
}
