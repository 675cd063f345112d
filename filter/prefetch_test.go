package filter_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"qss-filter/filter"
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
