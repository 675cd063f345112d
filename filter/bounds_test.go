package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// heap is how many bytes are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// ignorant knows nothing, and remembers nothing.
type ignorant struct{}

// Frames answers one query.
func (ignorant) Frames(context.Context, symsrc.Addr) symsrc.Answer {
	return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}}
}

// flood is an endless log, made by line.
type flood struct {
	line func(i int) string
	i, n int
	rest []byte
}

// Read implements io.Reader.
func (f *flood) Read(b []byte) (int, error) {
	for len(f.rest) < 1<<16 && f.i < f.n {
		f.rest = append(f.rest, f.line(f.i)...)
		f.i++
	}
	n := copy(b, f.rest)
	f.rest = f.rest[:copy(f.rest, f.rest[n:])]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestMemory floods a filter with what it remembers: what that takes is bounded, and nothing is left running.
func TestMemory(t *testing.T) {
	long := strings.Repeat("n", 3000)
	pid := func(i int) string { return fmt.Sprintf("Nov 21 10:11:12 host a[%d]: ", 100+i) }
	for _, tc := range []struct {
		name string
		line func(i int) string
		set  func(*filter.Options)
		n    int
		most int64 // MiB that stay
	}{
		{"modules", func(i int) string { return fmt.Sprintf("{{{module:%d:lib%d.so:elf:%016x}}}\n", i, i, i) }, nil, 300_000, 16},
		{"long names of modules", func(i int) string {
			return pid(i%4000) + fmt.Sprintf("{{{module:%d:%d%s:elf:%s}}}\n", i, i, long, strings.Repeat("ab", 60))
		}, nil, 100_000, 160},
		{"mappings", func(i int) string {
			if i == 0 {
				return "{{{module:0:m:elf:00}}}\n"
			}
			return fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0}}}\n", i*0x2000)
		}, nil, 600_000, 40},
		{"processes", func(i int) string {
			return pid(i/2) + [2]string{"{{{module:0:m:elf:00}}}\n", fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0}}}\n", i*0x2000)}[i%2]
		}, nil, 200_000, 48},
		{"listed mappings", func(i int) string {
			return pid(i/300) + fmt.Sprintf("%x-%x r-xp 00000000 fe:00 1 /%d%s\n", 1<<40|i<<12, 1<<40|(i+1)<<12, i, long)
		}, nil, 60_000, 128},
		{"build IDs", func(i int) string {
			return pid(i/50) + fmt.Sprintf("Module %d%s.so with build-id %040x\n", i, long[:200], i)
		}, nil, 100_000, 16},
		{"frames", func(i int) string { return fmt.Sprintf("#0 %#x (/%s%d.so+%#x) (BuildId: %040x)\n", i, long, i, i, i) }, nil, 60_000, 48},
		{"functions", func(i int) string { return fmt.Sprintf(" f%d%s+0x10/0x20 [m]\n", i, long[:500]) }, nil, 100_000, 24},
		{"one stack", func(i int) string { return fmt.Sprintf("#%d %#x (/a.so+%#x)\n", i, i, i) }, func(o *filter.Options) { o.Dedupe = true }, 200_000, 24},
		{"stacks", func(i int) string { return fmt.Sprintf("#%d %#x (/a.so+%#x)\n", i%2, i, i) }, func(o *filter.Options) { o.Dedupe = true }, 400_000, 24},
		{"waiting", func(i int) string { return pid(i/100) + fmt.Sprintf("    @     0x%012x f()\n", i) }, func(o *filter.Options) {
			if err := o.Lookahead.Set("100000"); err != nil {
				t.Fatal(err)
			}
		}, 200_000, 24},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if testing.Short() {
				tc.n /= 10
			}
			o := filter.Options{Symbols: ignorant{}, Style: print.Append, Context: print.ContextDrop}
			if tc.set != nil {
				tc.set(&o)
			}
			before, running := heap(), runtime.NumGoroutine()
			f := filter.New(o)
			if err := f.Run(context.Background(), &flood{line: tc.line, n: tc.n}, io.Discard); err != nil {
				t.Fatal(err)
			}
			stays := (heap() - before) >> 20
			t.Logf("%d MiB stay", stays)
			if stays > tc.most {
				t.Errorf("%d MiB stay", stays)
			}
			if n := runtime.NumGoroutine(); n > running+1 {
				t.Errorf("%d goroutines, %d before", n, running)
			}
			runtime.KeepAlive(f)
		})
	}
}

// TestFoldManyRanges writes the ranges of a module that has very many on several lines of bounded length, and loses none.
func TestFoldManyRanges(t *testing.T) {
	var log bytes.Buffer
	log.WriteString("{{{module:0:m:elf:00}}}\n")
	const n = 1<<14 + 5
	for i := range n {
		fmt.Fprintf(&log, "{{{mmap:%#x:0x1000:load:0:r:0}}}\n", i*0x2000)
	}
	var out bytes.Buffer
	if err := filter.New(filter.Options{Symbols: &symbols{}}).Run(context.Background(), &log, &out); err != nil {
		t.Fatal(err)
	}
	ranges, most := 0, 0
	for line := range bytes.Lines(out.Bytes()) {
		k := bytes.Count(line, []byte("](r)"))
		ranges, most = ranges+k, max(most, k)
	}
	if ranges != n || most > n/3 {
		t.Errorf("%d ranges, up to %d in a line", ranges, most)
	}
}
