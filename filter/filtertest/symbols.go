// Package filtertest has helpers for tests of the filter.
//
//	symbols.go    a source of symbols
//	processes.go  a log of many processes
//	nasty.go      random logs
//	peer.go       comparison with llvm-symbolizer
package filtertest

import (
	"context"
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
