package live_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"qss-filter/filter"
	"qss-filter/filter/print/jsonl"
	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	symobject "qss-filter/symsrc/object"
)

// edits are what a programmer does to a source file between two builds.
var edits = []string{"comment", "statement", "added", "removed", "near", "far", "renamed", "constant"}

// edited is a source file of functions: each is a text, with a name apart.
type edited struct {
	functions []function
	// entry are the functions that stacks begin with.
	entry []string
	// comment stands before the function at that place, if it is not negative.
	comment int
}

// function is one of the library: it calls the others of calls, and the last one shows the stack.
type function struct {
	name     string
	calls    []string
	constant int
	size     int
	more     string // a statement more
	kept     bool   // it is called, and cannot be removed
}

// words are what names of functions are made of.
var words = strings.Fields("open read write flush parse check commit apply rotate index merge lock scan load store drain plan bind trim seal")

// newEdited returns a library of functions, all called along the stacks of main.
func newEdited(rng *rand.Rand, functions int) (e edited) {
	e.comment = -1
	for i := range functions {
		e.functions = append(e.functions, function{
			name: words[i%len(words)] + "_" + words[(i*7+3)%len(words)] + strconv.Itoa(i), constant: 3 + 2*rng.IntN(2), size: 16 + 8*rng.IntN(2)})
	}
	order := rng.Perm(functions)
	for range 3 { // stacks
		depth := 4 + rng.IntN(6)
		chain := slices.Clone(order[:depth])
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		// Calls go up in one order only, so that no stack is endless.
		slices.Sort(chain)
		e.entry = append(e.entry, e.functions[chain[0]].name)
		for i, at := range chain {
			fn := &e.functions[at]
			fn.kept = true
			next := "show"
			if i+1 < len(chain) {
				next = e.functions[chain[i+1]].name
			}
			if !slices.Contains(fn.calls, next) {
				fn.calls = append(fn.calls, next)
			}
		}
	}
	return e
}

// edit makes one edit. It reports whether there was room for it.
func (e *edited) edit(rng *rand.Rand, kind string) bool {
	at := rng.IntN(len(e.functions) - 1)
	switch kind {
	case "comment":
		e.comment = at
	case "statement":
		e.functions[at].more = "sink ^= abs(x) * 5;"
	case "added":
		e.functions = slices.Insert(e.functions, at, function{name: "audit_" + words[at%len(words)], constant: 9, size: 24, calls: nil})
	case "removed":
		unused := slices.IndexFunc(e.functions, func(f function) bool { return !f.kept })
		if unused < 0 {
			return false
		}
		e.functions = slices.Delete(e.functions, unused, unused+1)
	case "near":
		e.functions[at], e.functions[at+1] = e.functions[at+1], e.functions[at]
	case "far":
		other := (at + len(e.functions)/2) % len(e.functions)
		e.functions[at], e.functions[other] = e.functions[other], e.functions[at]
	case "renamed":
		old := e.functions[at].name
		for i := range e.functions {
			e.functions[i].calls = renamed(e.functions[i].calls, old)
		}
		e.functions[at].name = "fresh_" + old
		e.entry = renamed(e.entry, old)
	case "constant":
		e.functions[at].constant += 3
	}
	return true
}

// renamed returns names after one of them has got another one.
func renamed(names []string, old string) (all []string) {
	for _, name := range names {
		if name == old {
			name = "fresh_" + old
		}
		all = append(all, name)
	}
	return all
}

// clone returns a copy.
func (e *edited) clone() edited { return edited{slices.Clone(e.functions), e.entry, e.comment} }

// text returns the source file, with functions of that visibility.
func (e *edited) text(visible string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#include <stdlib.h>\n#include <string.h>\nextern void show(void); extern volatile int sink;\n#define HIDDEN __attribute__((noinline, visibility(%q)))\n", visible)
	for _, fn := range e.functions {
		fmt.Fprintf(&b, "HIDDEN int %s(int x);\n", fn.name)
	}
	for i, fn := range e.functions {
		if i == e.comment {
			b.WriteString("/* What follows was measured.\n * See the log of changes.\n */\n")
		}
		fmt.Fprintf(&b, "HIDDEN int %s(int x) {\n\tchar b[%d];\n\tsink += x * %d;\n\tmemset(b, x, sizeof b);\n", fn.name, fn.size, fn.constant)
		if fn.more != "" {
			fmt.Fprintf(&b, "\t%s\n", fn.more)
		}
		b.WriteString("\tint r = 0;\n")
		for k, call := range fn.calls {
			if call == "show" {
				b.WriteString("\tif (x & 64) show();\n")
			} else {
				fmt.Fprintf(&b, "\tif (sink != %d) r += %s(x + 1);\n", k+1000, call)
			}
		}
		b.WriteString("\tsink += r + b[x & 7];\n\treturn r + sink;\n}\n")
	}
	b.WriteString("int enter(int x) {\n\tint r = 0;\n")
	for _, name := range e.entry {
		fmt.Fprintf(&b, "\tr += %s(x | 64);\n\tsink += r;\n", name)
	}
	b.WriteString("\treturn r + 1;\n}\n")
	return b.String()
}

// placed is a function and the line in it, innermost first, as a file has them at an address.
type placed struct {
	function string
	line     int
}

// oracle returns what addr2line says of the frames of a library in a log.
func oracle(t *testing.T, file string, offsets []uint64) (all [][]placed) {
	t.Helper()
	var input strings.Builder
	for _, off := range offsets {
		fmt.Fprintf(&input, "0x%x\n", off-1) // in the call
	}
	cmd := exec.Command("addr2line", "-afie", file)
	cmd.Stdin = strings.NewReader(input.String())
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("addr2line: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for i := 0; i < len(lines); {
		if strings.HasPrefix(lines[i], "0x") {
			all = append(all, nil)
			i++
			continue
		}
		_, place, _ := strings.Cut(lines[i+1], ":")
		place, _, _ = strings.Cut(place, " ")
		line, _ := strconv.Atoi(place)
		all[len(all)-1] = append(all[len(all)-1], placed{lines[i], line})
		i += 2
	}
	return all
}

// offsetsIn returns the offsets in a library of the frames of a log by backtrace_symbols, in order.
func offsetsIn(file, log string) (offsets []uint64) {
	var base uint64
	for line := range strings.Lines(log) {
		if _, err := fmt.Sscanf(line, "the library is at 0x%x", &base); err == nil || !strings.HasPrefix(line, file+"(") {
			continue
		}
		var addr uint64
		if _, err := fmt.Sscanf(line[strings.LastIndexByte(line, '['):], "[0x%x]", &addr); err == nil {
			offsets = append(offsets, addr-base)
		}
	}
	return offsets
}

// variant is one library, as it was when it ran and as it is now.
type variant struct {
	compiler, level, kind, visibility string
	seed                              uint64
}

// TestVariants holds that a library which was edited and built again after its log was written names no function wrongly, but for one that
// the edit has renamed, and has no line without a mark that is not the log's. The log has no build IDs.
func TestVariants(t *testing.T) {
	each := 1
	if n, err := strconv.Atoi(os.Getenv("QSS_VARIANTS")); err == nil {
		each = n // 7 make 448 variants
	}
	compilers := []string{"gcc", "clang-22"}
	if testing.Short() {
		compilers = compilers[:1]
	}
	v := newVariants(t)
	for _, compiler := range compilers {
		if _, err := exec.LookPath(compiler); err != nil {
			t.Logf("skipped: %v", err)
			continue
		}
		for l, level := range []string{"-O0", "-O1", "-O2", "-O3"} {
			for k, kind := range edits {
				for i := range each {
					visibility := []string{"hidden", "default"}[(k+l+i)%2]
					v.try(variant{compiler, level, kind, visibility, uint64(len(v.seeds))})
				}
			}
		}
	}
	var table strings.Builder
	for _, kind := range edits {
		fmt.Fprintf(&table, "\n%-10s %v", kind, v.total[kind])
	}
	t.Logf("%d variants%s", len(v.seeds), table.String())
}

// variantTally counts frames of the other builds: those that have a name, a wrong one, a line, a wrong one, and a wrong one without a mark.
type variantTally struct{ variants, frames, named, wrong, lines, wrongLines, unmarked int }

func (n *variantTally) String() string {
	return fmt.Sprintf("%3d variants: %5d frames, %5d named, %d wrong; %5d lines, %4d of them others, %d of those without a mark",
		n.variants, n.frames, n.named, n.wrong, n.lines, n.wrongLines, n.unmarked)
}

// variants builds variants in a directory.
type variants struct {
	t     *testing.T
	dir   string
	seeds []uint64
	total map[string]*variantTally
}

// newVariants builds the program that calls the library, and prints the stacks.
func newVariants(t *testing.T) *variants {
	v := &variants{t: t, dir: t.TempDir(), total: map[string]*variantTally{}}
	v.write("main.c", `#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
volatile int sink; int enter(int);
void show(void) { void *a[64]; int n = backtrace(a, 64); backtrace_symbols_fd(a, n, 2); sink++; }
int main(void) { Dl_info i; dladdr(enter, &i); fprintf(stderr, "the library is at %p\n", i.dli_fbase); int r = enter(1); sink += r; return 0; }
`)
	v.write("lib.c", "int enter(int x) { return x; }")
	compiled(t, "-w", "-shared", "-fPIC", "-o", v.path("lib.so"), v.path("lib.c"))
	compiled(t, "-w", "-O1", "-rdynamic", "-o", v.path("main"), v.path("main.c"), v.path("lib.so"))
	return v
}

func (v *variants) path(name string) string { return filepath.Join(v.dir, name) }

func (v *variants) write(name, text string) {
	if err := os.WriteFile(v.path(name), []byte(text), 0o600); err != nil {
		v.t.Fatal(err)
	}
}

// build builds the library, in place of the one before.
func (v *variants) build(of *variant, e *edited) {
	v.write("lib.c", e.text(of.visibility))
	out, err := exec.Command(of.compiler, "-w", "-g", "-shared", "-fPIC", of.level, "-o", v.path("new.so"), v.path("lib.c")).CombinedOutput()
	if err != nil {
		v.t.Fatalf("%s: %v: %s", of.compiler, err, out)
	}
	if err := os.Rename(v.path("new.so"), v.path("lib.so")); err != nil {
		v.t.Fatal(err)
	}
}

// try writes a log with one build, and reads it with the next one.
func (v *variants) try(of variant) {
	v.seeds = append(v.seeds, of.seed)
	rng := rand.New(rand.NewPCG(of.seed, 4))
	before := newEdited(rng, 24)
	after := before.clone()
	for !after.edit(rng, of.kind) {
		before = newEdited(rng, 24)
		after = before.clone()
	}
	v.build(&of, &before)
	log := errorOutput(v.path("main"), nil)
	truth := oracle(v.t, v.path("lib.so"), offsetsIn(v.path("lib.so"), log))
	v.build(&of, &after)
	if v.total[of.kind] == nil {
		v.total[of.kind] = &variantTally{}
	}
	v.total[of.kind].variants++
	v.compare(&of, "this machine's file", framesNow(v.t, assumedFiles(v.t), log), truth)
	pointed, err := locate.New(locate.Options{Symbols: []string{v.path("lib.so")}})
	if err != nil {
		v.t.Fatal(err)
	}
	source := symobject.NewSource(pointed)
	defer source.Close()
	v.compare(&of, "the file pointed at", framesNow(v.t, source, log), truth)
}

// compare compares the frames of the library with the truth.
func (v *variants) compare(of *variant, how string, frames []provenFrame, truth [][]placed) {
	n := v.total[of.kind]
	for _, fr := range frames {
		if !strings.Contains(fr.Text, "lib.so") {
			continue
		}
		want := truth[0]
		truth = truth[1:]
		if n.frames++; len(fr.Functions) == 0 {
			continue
		}
		n.named++
		got := fr.Functions
		if is, was := got[len(got)-1].Function, want[len(want)-1].function; is != was {
			if n.wrong++; is != "fresh_"+was {
				v.t.Errorf("%+v, %s: %s is %s, want %s", *of, how, fr.Text, is, was)
			}
			continue
		}
		if n.lines++; got[0].Line == want[0].line && len(got) == len(want) {
			continue
		}
		if n.wrongLines++; !got[0].LineNow {
			n.unmarked++
			v.t.Errorf("%+v, %s: %s has line %d, want %d", *of, how, fr.Text, got[0].Line, want[0].line)
		}
	}
	if len(truth) > 0 {
		v.t.Fatalf("%+v, %s: %d frames are missing", *of, how, len(truth))
	}
}

// framesNow returns the frames of a log of which nothing says when it was written.
func framesNow(t *testing.T, source symsrc.Source, log string) []provenFrame {
	t.Helper()
	f := filter.New(filter.Options{Symbols: source, JSON: &jsonl.Options{}})
	f.Written(time.Time{})
	var out strings.Builder
	if err := f.Run(t.Context(), strings.NewReader(log), &out); err != nil {
		t.Fatal(err)
	}
	return readFrames(t, out.String())
}
