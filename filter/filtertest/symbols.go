// Package filtertest has helpers for tests of the filter.
//
//	symbols.go  a source of symbols, and a log of processes for it
//	nasty.go    random logs
//	peer.go     comparison with llvm-symbolizer
package filtertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"qss-filter/symsrc"
)

// Symbols is a source with answers for some offsets in any module: 0x10 lies in inner, inlined into middle, inlined into outer; 0x20 in
// plain; 0x30 in a function of which only the name is known; the data at 0x40 is a variable of 16 bytes.
type Symbols struct {
	// Asked are the questions so far.
	Asked []symsrc.Addr
}

// Frames returns the answer to a question.
func (s *Symbols) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	s.Asked = append(s.Asked, q)
	good := &symsrc.Files{Elf: "/lib/a.so", Unverified: q.Module.BuildID == ""}
	if strings.Contains(q.Module.Name, "missing") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound, Note: "elf not found"}}
	}
	if strings.Contains(q.Module.Name, "several") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.UnknownError, DebugStatus: symsrc.NotFound, Note: "2 different files named f\x1b"}}
	}
	if strings.Contains(q.Module.Name, "mismatched") {
		return symsrc.Answer{Files: &symsrc.Files{ElfStatus: symsrc.MismatchBuildID, Note: "elf file mismatch", Detail: "/x has \"fe\""}}
	}
	if q.Kind == symsrc.Data {
		if q.Offset >= 0x40 && q.Offset < 0x50 {
			return symsrc.Answer{Frames: []symsrc.Frame{{Func: "counter", Offset: q.Offset - 0x40}}, Files: good}
		}
		return symsrc.Answer{Files: good}
	}
	switch q.Offset {
	case 0x10:
		return symsrc.Answer{Frames: []symsrc.Frame{
			{Func: `inner<"q">(int)`, File: "/src/inner.c", Line: 8, Column: 5},
			{Func: "middle", File: "/src/wrap.c", Line: 6, Column: 10},
			{Func: "outer", File: "/src/top.c", Line: 10},
		}, Files: good}
	case 0x20:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "plain", File: "/src/p.c", Line: 3, Column: 1}}, Files: good, Made: time.Unix(7, 0)}
	case 0x30:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "bare"}}, Files: good}
	case 0x50:
		return symsrc.Answer{Frames: []symsrc.Frame{{Func: "near", File: "/src/n.c", Line: 4, Column: 2, Approx: true}}, Files: good}
	}
	return symsrc.Answer{Files: good}
}

// Liner is a filter that handles lines one by one.
type Liner interface {
	Line(ctx context.Context, dst, line []byte) []byte
	Flush(dst []byte) []byte
}

// Feed runs lines through a filter one by one and returns all of its output.
func Feed(f Liner, lines string) string {
	var out []byte
	for line := range strings.Lines(lines) {
		out = f.Line(context.Background(), out, []byte(line))
	}
	return string(f.Flush(out))
}

// Processes returns the log of n processes of two modules with a frame each. If moved is set, each has other addresses.
func Processes(n int, moved bool, end string) string {
	var log strings.Builder
	for k := range n {
		base := uint64(0x7f0000000000)
		if moved {
			base += uint64(k) << 20
		}
		for _, line := range []string{
			"{{{reset}}}", "{{{module:0:a.so:elf:0123abcd}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:r:0x0}}}", base), fmt.Sprintf("{{{mmap:%#x:0x1000:load:0:rx:0x1000}}}", base+0x1000),
			"{{{module:1:b.so:elf:4567}}}", fmt.Sprintf("{{{mmap:%#x:0x1000:load:1:rx:0x0}}}", base-0x8000),
			fmt.Sprintf("{{{bt:0:%#x}}}", base+0x1021), fmt.Sprintf("{{{bt:1:%#x:pc}}}", base-0x8000+0x40), "text",
		} {
			log.WriteString(line + end)
		}
	}
	return log.String()
}
