package filter_test

import (
	"context"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/symsrc"
	"qss-filter/symsrc/demangle"
)

// program is a source of one program: main begins at 0x100, hot(int) at 0x200, with helper inlined at its end, and part at
// 0x300. Each has 0x80 bytes.
type program struct {
	files symsrc.Files
	named int // queries for names
}

func (p *program) Frames(_ context.Context, q symsrc.Addr) symsrc.Answer {
	functions := []struct{ name, linkage string }{1: {"main", "main"}, 2: {"hot(int)", "_Z3hoti"}, 3: {"part", "part"}}
	a := symsrc.Answer{Files: &p.files}
	if q.Kind == symsrc.Named {
		p.named++
		for i, f := range functions {
			if i > 0 && demangle.PlainName(f.name) == demangle.PlainName(q.Symbol) {
				a.Frames = append(a.Frames, symsrc.Frame{Func: f.name, Offset: q.Offset - uint64(i)<<8, Size: 0x80})
			}
		}
		return a
	}
	i := q.Offset >> 8
	if i == 0 || i > 3 || q.Offset&0xff >= 0x80 {
		return a
	}
	if i == 2 && q.Offset&0xff >= 0x70 {
		a.Frames = append(a.Frames, symsrc.Frame{Func: "helper", Linkage: "helper", File: "h.c", Line: 1})
	}
	f := functions[i]
	a.Frames = append(a.Frames, symsrc.Frame{Func: f.name, Linkage: f.linkage, File: "a.c", Line: int(i), Origin: symsrc.SymbolAndDebug})
	return a
}

// TestAgreeing holds that a file taken by its name alone does not stand against the name in the log.
func TestAgreeing(t *testing.T) {
	const gone = " [another build: no "
	for _, tc := range []struct{ name, in, want string }{
		{"the same name at the same place", "C  [a.so+0x117]  main+0x17", "C  [a.so+0x117] in main a.c:1"},
		{"readable", "C  [a.so+0x217]  hot(int)+0x17", "C  [a.so+0x217] in hot(int) a.c:2"},
		{"mangled", "C  [a.so+0x217]  _Z3hoti+0x17", "C  [a.so+0x217] in hot(int) a.c:2"},
		{"without parameters", "C  [a.so+0x217]  hot+0x17", "C  [a.so+0x217] in hot(int) a.c:2"},
		{"a copy", "C  [a.so+0x317]  part.isra.0+0x17", "C  [a.so+0x317] in part a.c:3"},
		{"another function", "C  [a.so+0x117]  hot+0x17", "C  [a.so+0x117]  hot+0x17" + gone + "hot at 0x117 in a.so]"},
		{"another offset", "C  [a.so+0x117]  main+0x27", "C  [a.so+0x117]  main+0x27" + gone + "main at 0x117 in a.so]"},
		{"a name that the file has not, at the begin of a function", "C  [a.so+0x117]  alias+0x17", "C  [a.so+0x117]  alias+0x17" + gone + "alias at 0x117 in a.so]"},
		{"within a function", "C  [a.so+0x117]  stranger+0x7", "C  [a.so+0x117]  stranger+0x7" + gone + "stranger at 0x117 in a.so]"},
		{"an inlined function, whose offset counts from the other's begin", "C  [a.so+0x274]  helper+0x74",
			"C  [a.so+0x274] in helper h.c:1 (inlined)\nC  [a.so+0x274] in hot(int) a.c:2"},
		{"without an offset", "#4 0x7f0 in main (/a.so+0x117)", "#4 0x7f0 in main a.c:1 (/a.so+0x117)"},
		{"another one without", "#4 0x7f0 in hot(int) (/a.so+0x117)", "#4 0x7f0 in hot(int) (/a.so+0x117)" + gone + "hot(int) at 0x116 in a.so]"},
		{"an unknown one without", "#4 0x7f0 in stranger (/a.so+0x117)", "#4 0x7f0 in stranger (/a.so+0x117)" + gone + "stranger at 0x116 in a.so]"},
		{"the end of a call", "#4 0x7f0 in main (/a.so+0x180)", "#4 0x7f0 in main a.c:1 (/a.so+0x180)"},
		{"Android", "#00 pc 0000000000000117  /a.so (main+23)", "#00 pc 0000000000000117 in main a.c:1  /a.so (main+23)"},
		{"another one of Android's", "#00 pc 0000000000000117  /a.so (hot(int)+23)", "#00 pc 0000000000000117  /a.so (hot(int)+23)" + gone + "hot(int) at 0x117 in a.so]"},
		{"systemd", "#0  0x00007fd2dab66217 main (a.so + 0x217)", "#0  0x00007fd2dab66217 main (a.so + 0x217)" + gone + "main at 0x217 in a.so]"},
		{"LLVM", " #1 0x00007f794a2b5194 hot(int) (/a.so+0x118)", " #1 0x00007f794a2b5194 hot(int) (/a.so+0x118)" + gone + "hot(int) at 0x117 in a.so]"},
		{"perf", "\t             117 hot+0x17 (/a.so)", "\t             117 hot+0x17 (/a.so)" + gone + "hot at 0x117 in a.so]"},
		{"no name", "#0  0x00007fd2dab66217 n/a (a.so + 0x217)", "#0  0x00007fd2dab66217 in hot(int) a.c:2 (a.so + 0x217)"},
	} {
		p := &program{files: symsrc.Files{Elf: "/a.so", Unverified: true}}
		if got := feed(filter.Options{Symbols: p}, tc.in+"\n"); got != beforeReason(tc.want)+"\n" {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, beforeReason(tc.want)+"\n")
		}
		if got := feed(filter.Options{Symbols: p, Explain: true}, tc.in+"\n"); beforeReason(tc.want) != tc.want && got != tc.want+"\n" {
			t.Errorf("%s:\n got %q\nwant %q", tc.name, got, tc.want+"\n")
		}
	}
}

// TestVerifiedNames holds that names of the log do not matter where a build ID says which file it is, and that a frame that comes
// again is not asked for again.
func TestVerifiedNames(t *testing.T) {
	p := &program{files: symsrc.Files{Elf: "/a.so"}}
	const frame = "#4 0x7f0 in hot(int) (/a.so+0x117)"
	if got := feed(filter.Options{Symbols: p}, frame+" (BuildId: 0123abcd)\n"); got != "#4 0x7f0 in main a.c:1 (/a.so+0x117) (BuildId: 0123abcd)\n" || p.named > 0 {
		t.Errorf("%q, %d queries for names", got, p.named)
	}
	p.files.Unverified = true
	if got := feed(filter.Options{Symbols: p}, frame+"\n"+frame+"\n"); got != frame+"\n"+frame+"\n" || p.named > 2 {
		t.Errorf("%q, %d queries for names", got, p.named)
	}
}

// beforeReason returns what of a line stands before the reason that --explain adds.
func beforeReason(line string) string {
	before, _, _ := strings.Cut(line, " [another")
	return before
}
