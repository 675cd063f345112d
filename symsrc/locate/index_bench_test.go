package locate

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// bigTree makes a tree of 50,000 files in 700 directories, one of five an ELF file.
func bigTree(b *testing.B) string {
	dir := b.TempDir()
	for i := range 50_000 {
		data := []byte("int main() {}\n")
		if i%5 == 0 {
			e := full
			e.id = fmt.Sprintf("%040x", i+1)
			data = e.bytes()
		}
		write(b, filepath.Join(dir, fmt.Sprintf("%d/%d/file%d", i%100, i%7, i)), data)
	}
	return dir
}

// BenchmarkIndex reads a large tree: without a cache, with one that is to be made, and with one that is there.
func BenchmarkIndex(b *testing.B) {
	dir, cache := bigTree(b), b.TempDir()
	time.Sleep(settle + time.Second)
	run := func(b *testing.B, cacheDir string) {
		t := trees{dirs: []string{dir}, cacheDir: cacheDir, problem: func(m string) { b.Error(m) }}
		if x := t.index(); len(x.byID) != 10_000 {
			b.Fatalf("%d build IDs", len(x.byID))
		}
	}
	b.Run("none", func(b *testing.B) {
		for b.Loop() {
			run(b, "")
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			os.RemoveAll(filepath.Join(cache, "trees"))
			b.StartTimer()
			run(b, cache)
		}
	})
	b.Run("warm", func(b *testing.B) {
		run(b, cache)
		for b.Loop() {
			run(b, cache)
		}
	})
}
