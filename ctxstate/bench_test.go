package ctxstate

import (
	"math/rand/v2"
	"testing"

	"qss-filter/markup"
)

const many = 10000

// scattered returns mappings in random order.
func scattered() []markup.MMapFields {
	mmaps := make([]markup.MMapFields, many)
	for i, at := range rand.New(rand.NewPCG(1, 2)).Perm(many) {
		mmaps[i] = markup.MMapFields{Start: uint64(at) << 13, Size: 0x1000, Mode: "rx"}
	}
	return mmaps
}

// BenchmarkAdd10000 maps 10,000 ranges in random order.
func BenchmarkAdd10000(b *testing.B) {
	mmaps := scattered()
	b.ReportAllocs()
	for b.Loop() {
		p := New().Process("")
		p.AddModule(markup.ModuleFields{})
		for _, m := range mmaps {
			if _, err := p.AddMMap(m); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkResolve looks up random addresses among 10,000 mappings; Same looks up one address repeatedly.
func BenchmarkResolve(b *testing.B) {
	p := New().Process("")
	p.AddModule(markup.ModuleFields{})
	for _, m := range scattered() {
		if _, err := p.AddMMap(m); err != nil {
			b.Fatal(err)
		}
	}
	addrs := make([]uint64, 1<<12)
	for i := range addrs {
		addrs[i] = rand.Uint64N(many)<<13 + 7
	}
	b.Run("Random", func(b *testing.B) {
		b.ReportAllocs()
		i := 0
		for b.Loop() {
			if _, ok := p.Resolve(addrs[i%len(addrs)]); !ok {
				b.Fatal(i)
			}
			i++
		}
	})
	b.Run("Same", func(b *testing.B) {
		for b.Loop() {
			p.Resolve(addrs[0])
		}
	})
}
