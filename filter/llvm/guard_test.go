package llvm

import (
	"context"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// faulty is a source that panics over one module.
type faulty struct{}

func (faulty) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	if q.Module.BuildID == "\xbb" {
		panic("no such luck")
	}
	return symsrc.Answer{Frames: []symsrc.Frame{{Func: "good", Linkage: "good", File: "/g.c", Line: int(q.Offset)}}, Files: &symsrc.Files{Elf: "/a.so"}}
}

// TestGuard holds that a panic costs one line its names and nothing else: text that was held back before it leaves, the line leaves
// as it came, and there is one warning.
func TestGuard(t *testing.T) {
	const log = "{{{reset}}}\n{{{module:0:/a.so:elf:aa}}}\n{{{mmap:0x1000:0x1000:load:0:rx:0x0}}}\n" +
		"{{{module:1:broken:elf:bb}}}\n{{{mmap:0x3000:0x1000:load:1:rx:0x0}}}\n{{{bt:0:0x3010:pc}}}\nx {{{bt:0:0x1010:pc}}}\n"
	const want = "[[[ELF module #0x0 \"/a.so\"; BuildID=aa [0x1000-0x1fff](rx)]]]\n[[[ELF module #0x1 \"broken\"; BuildID=bb [0x3000-0x3fff](rx)]]]\n" +
		"{{{bt:0:0x3010:pc}}}\nx     #0    0x0000000000001010 good /g.c:16:0 (/a.so+0x10)\n"
	var said []string
	got := runAll(t, Options{Symbols: faulty{}, Warn: func(m string) { said = append(said, m) }}, strings.NewReader(log))
	if got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if len(said) != 1 || !strings.Contains(said[0], "internal error") || !strings.Contains(said[0], "guard_test.go:") {
		t.Errorf("said %q", said)
	}
}
