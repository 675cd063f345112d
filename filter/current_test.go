package filter_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
)

// builds is a source of one file, which is built again and again. It answers from the one that was found until a look has
// seen that there is another.
type builds struct {
	status     symsrc.Status
	unverified bool
	built      atomic.Int32
	looks      atomic.Int32
	found      atomic.Pointer[foundBuild]
}

type foundBuild struct {
	number int32
	*symsrc.Files
}

func (b *builds) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	f := b.found.Load()
	if f == nil || f.Watch.Changed() {
		n := b.built.Load()
		f = &foundBuild{n, &symsrc.Files{Elf: "/a.so", ElfStatus: b.status,
			Watch: symsrc.NewWatch(func() bool { b.looks.Add(1); return b.built.Load() != n })}}
		if n > 1 {
			f.ElfStatus = symsrc.OK
		}
		f.Unverified = b.unverified && f.ElfStatus == symsrc.OK
		b.found.Store(f)
	}
	if f.ElfStatus != symsrc.OK {
		return symsrc.Answer{Files: f.Files}
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: fmt.Sprintf("of_build_%d", f.number), File: "a.c", Line: int(q.Offset)}}, Files: f.Files}
}

// TestRebuilt builds a program anew between two pieces of a log. What was answered from a file that was taken by its path
// must not be said of its successor, whichever memory has it.
func TestRebuilt(t *testing.T) {
	const layout = "{{{reset}}}\n{{{module:0:/a.so:elf:0123abcd}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n"
	repeat := func(format string, distinct int) string {
		var b strings.Builder
		for i := range 60 {
			fmt.Fprintf(&b, format, 0x20+i%distinct)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, before, frames string
		source               *builds
		lost, again          bool // in the first piece no name is known; in the next ones that of the last build is
	}{
		{"one address", "", repeat("#0 0x7f20 (/a.so+0x%x)\n", 1), &builds{unverified: true}, false, true},
		{"many addresses", "", repeat("#0 0x7f20 (/a.so+0x%x)\n", 60), &builds{unverified: true}, false, true},
		{"brackets", "", repeat("/a.so(+0x%x)[0x7f20]\n", 3), &builds{unverified: true}, false, true},
		{"markup", layout, repeat("{{{bt:0:0x10%x:pc}}}\n", 3), &builds{unverified: true}, false, true},
		{"mapped", "1000-2000 r-xp 00000000 08:01 77 /a.so\n", repeat("#0 0x10%x\n", 3), &builds{unverified: true}, false, true},
		{"not there at first", "", repeat("#0 0x7f20 (/a.so+0x%x)\n", 3), &builds{unverified: true, status: symsrc.NotFound}, true, true},
		{"not there at first, the same line again", "", strings.Repeat("/a.so(+0x10)[0x7f20]\n", 60), &builds{unverified: true, status: symsrc.NotFound}, true, true},
		{"verified", "", repeat("#0 0x7f20 (/a.so+0x%x)"+id+"\n", 3), &builds{}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			feed := filter.New(filter.Options{Symbols: c.source}).Feed()
			out := feed.Add(t.Context(), nil, []byte(c.before))
			for build := range int32(3) {
				c.source.built.Store(build + 1)
				c.source.looks.Store(0)
				out = feed.Flush(feed.Add(t.Context(), out[:0], []byte(c.frames)))
				want, name := 60, fmt.Sprintf("of_build_%d", build+1)
				if build == 0 && c.lost {
					want = 0
				}
				if !c.again {
					name = "of_build_1"
				}
				if got, all := strings.Count(string(out), name), strings.Count(string(out), "of_build_"); got != want || all != want {
					t.Errorf("build %d: %d names, %d of %s:\n%s", build+1, all, got, name, out)
				}
				if looks := c.source.looks.Load(); looks > 1 {
					t.Errorf("build %d: %d looks at the disk for one piece", build+1, looks)
				}
			}
		})
	}
}
