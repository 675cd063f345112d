package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// manySource names every address, and counts how often each was asked.
type manySource struct {
	mu    sync.Mutex
	asked map[uint64]int
}

func (s *manySource) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	s.mu.Lock()
	s.asked[q.Offset]++
	s.mu.Unlock()
	name := fmt.Sprintf("f%x", q.Offset)
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: name, File: "/src/a.c", Line: int(q.Offset % 1000)}}}
}

// TestLookAhead: what other cores find out ahead is what the lines alone would have found, in the same order, and no address
// is asked for more often.
func TestLookAhead(t *testing.T) {
	var log strings.Builder
	log.WriteString("{{{reset}}}\n{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x100000:0x100000:load:0:rx:0x0}}}\n")
	for i := range 6000 {
		switch i % 5 {
		case 0:
			fmt.Fprintf(&log, "{{{bt:%d:%#x:pc}}}\n", i%20, 0x100000+i*7%0x8000)
		case 1:
			fmt.Fprintf(&log, "    #%d %#x  (/b.so+%#x) (BuildId: 0123abcd)\n", i%20, 0x7f0000+i, 0x9000+i)
		case 2:
			fmt.Fprintf(&log, "[%d.5] app: {{{bt:%d:%#x:ra}}}\n", i, i%20, 0x100000+i%0x4000)
		case 3:
			log.WriteString("nothing of interest\n")
		default:
			fmt.Fprintf(&log, `{"log":"#%d 0x1 (/c.so+%#x)\n"}`+"\n", i%20, 0x20000+i)
		}
	}
	alone := &manySource{asked: map[uint64]int{}}
	f := filter.New(filter.Options{Symbols: alone})
	var want []byte
	for line := range strings.Lines(log.String()) {
		want = f.Line(context.Background(), want, []byte(line))
	}
	want = f.Flush(want)

	ahead := &manySource{asked: map[uint64]int{}}
	var got bytes.Buffer
	if err := filter.New(filter.Options{Symbols: ahead}).Run(context.Background(), strings.NewReader(log.String()), &got); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Fatalf("looking ahead changes the output:\n%s", firstDifference(got.String(), string(want)))
	}
	for addr, n := range ahead.asked {
		if n > alone.asked[addr]+1 {
			t.Errorf("%#x was asked for %d times, and %d times line by line", addr, n, alone.asked[addr])
		}
	}
}

// lateSource knows nothing, and counts the queries that came more than one frame before their turn, from the frame of that number on.
type lateSource struct {
	from, seen, early atomic.Uint64
}

func (s *lateSource) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Offset >= s.from.Load() && q.Offset > s.seen.Load()+1 {
		s.early.Add(1)
	}
	return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}}
}

// TestNothingAhead holds that other cores are not asked for frames of a file that is known to be missing: they have nothing to look up.
func TestNothingAhead(t *testing.T) {
	var log strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&log, "#%d 0x7f0000  (/b.so+%#x) (BuildId: 0123abcd)\n", i%20, i)
	}
	s := &lateSource{}
	s.from.Store(1000)
	f := filter.New(filter.Options{Symbols: s, Observe: func(*print.Observation) { s.seen.Add(1) }})
	if err := f.Run(context.Background(), strings.NewReader(log.String()), io.Discard); err != nil {
		t.Fatal(err)
	}
	if s.seen.Load() != 5000 || s.early.Load() > 0 {
		t.Errorf("%d of %d frames were asked for ahead", s.early.Load(), s.seen.Load())
	}
}
