package llvm

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
)

// BenchmarkLLVM filters two logs: one with a frame in three lines, and one of context only.
func BenchmarkLLVM(b *testing.B) {
	sample, err := os.ReadFile("../../testdata/logs/asan-clang22-markup.log")
	if err != nil {
		b.Fatal(err)
	}
	var head, frames, mixed []string
	for line := range strings.Lines(string(sample)) {
		if strings.Contains(line, "{{{bt") {
			frames = append(frames, line)
		} else if strings.Contains(line, "{{{m") {
			head = append(head, line)
		}
	}
	for i := range 300000 {
		if i%3 == 0 {
			mixed = append(mixed, frames[i%len(frames)])
		} else {
			mixed = append(mixed, "I/ActivityManager( 585): an ordinary line of text with some words in it\n")
		}
	}
	context20 := strings.Repeat("{{{reset}}}\n"+strings.Join(head, ""), 500)
	dirs := []string{filtertest.LogTree(b)}
	for name, log := range map[string]string{"Frames": strings.Join(head, "") + strings.Join(mixed, ""), "Context": context20} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(log)))
			b.ReportAllocs()
			for b.Loop() {
				f := New(Options{Symbols: filtertest.TreeSource(dirs...), Errors: io.Discard})
				if err := f.Stream().Run(context.Background(), bytes.NewReader([]byte(log)), io.Discard); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
