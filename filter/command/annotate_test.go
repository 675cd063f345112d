package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"qss-filter/filter"
	"qss-filter/filter/print"
	"qss-filter/symsrc"
)

// noSymbols names nothing.
type noSymbols struct{}

func (noSymbols) Frames(context.Context, symsrc.Addr) symsrc.Answer { return symsrc.Answer{} }

// annotate returns the annotations of a log.
func annotate(t *testing.T, log string) string {
	t.Helper()
	t.Setenv("GITHUB_WORKSPACE", "/src/repo")
	var out strings.Builder
	a := newAnnotations(&out, print.Names{Map: []print.PathMap{{From: "/build", To: "/src/repo"}}})
	o := filter.Options{Symbols: noSymbols{}}
	a.use(&o)
	if err := filter.New(o).Run(context.Background(), strings.NewReader(log), io.Discard); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestAnnotations has one annotation a stack, at the first function that is the program's own, and escapes what GitHub would read.
func TestAnnotations(t *testing.T) {
	log := "==1==ERROR: AddressSanitizer: heap-use-after-free on address 0x60 at pc 0x1 bp 0x2 sp 0x3\nREAD of size 4 at 0x60 thread T0\n" +
		"    #0 0x1 in __interceptor_memcpy /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in use(int*) /src/repo/src/a,b:c%.cc:12:3\n    #2 0x3 in main /src/repo/src/m.cc:1:1\n\n" +
		"freed by thread T0 here:\n    #0 0x1 in free /llvm/compiler-rt/lib/asan.cc:1:2\n    #1 0x2 in drop() /build/src/d.cc:20\n\n" +
		"    #0 0x5 in abort /libc/abort.c:3\n\n    #0 0x6 in elsewhere() /other/e.cc:4\n\n    #0 0x6 in elsewhere() /other/e.cc:4\n"
	const want = "::error file=src/a%2Cb%3Ac%25.cc,line=12::heap-use-after-free READ 4 in use(int*)\n" +
		"::error file=src/d.cc,line=20::heap-use-after-free READ 4, freed by: drop()\n" +
		"::error file=/other/e.cc,line=4::in elsewhere()\n"
	if got := annotate(t, log); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestManyAnnotations holds that a step has no more annotations than GitHub shows.
func TestManyAnnotations(t *testing.T) {
	var log strings.Builder
	for i := range 3 * maxAnnotations {
		fmt.Fprintf(&log, "    #0 0x6 in f%d() /src/f.cc:%d\n", i, i+1)
	}
	if got := strings.Count(annotate(t, log.String()), "::error "); got != maxAnnotations {
		t.Errorf("%d annotations, want %d", got, maxAnnotations)
	}
	if data("a%\r\nb::c") != "a%25%0D%0Ab::c" || property("C:\\x,y") != "C%3A\\x%2Cy" {
		t.Error("a text is not escaped as GitHub's runner reads it")
	}
}
