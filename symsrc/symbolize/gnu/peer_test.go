package gnu

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symbolize/batch"
	"qss-filter/symsrc/symbolize/peers"
)

// needBinutils skips a test if addr2line is missing, or not that of binutils.
func needBinutils(t *testing.T) {
	t.Helper()
	peers.Need(t, "addr2line")
	if out, _ := exec.Command("addr2line", "--version").Output(); !bytes.HasPrefix(out, []byte("GNU addr2line (")) {
		t.Skip("addr2line of binutils is not installed")
	}
}

// compile returns the path of a program of the source.
func compile(t *testing.T, source string, command ...string) string {
	t.Helper()
	needBinutils(t)
	return peers.Compile(t, source, append(command, "-", "-o", "a.out")...)
}

// answersOf returns the answers of this package.
func answersOf(t *testing.T, o Options, in string) string {
	t.Helper()
	out, errs := peers.Answers(t, in, func(symbols symsrc.Source, _ *sources.Sources) batch.Answerer {
		o.Symbols = symbols
		s, err := New(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	for _, err := range errs {
		t.Error(err)
	}
	return out
}

// answersOfPeer returns the answers of addr2line.
func answersOfPeer(t *testing.T, in string, flags ...string) string {
	t.Helper()
	return peers.Peer(t, in, append([]string{"addr2line"}, flags...)...)
}

const program = `#include <stdio.h>
static int counts[16];
static inline __attribute__((always_inline)) int leaf(int n) { return counts[n & 15]++ + n; }
static inline __attribute__((always_inline)) int middle(int n) { int s = 0; for (int i = 0; i < n; i++) s += leaf(i) * leaf(s); return s; }
__attribute__((noinline)) int outer(int n) { if (n > 3 && n < 9 || n == 40) return middle(n); return leaf(n); }
int main(int argc, char **argv) { printf("%d\n", outer(argc)); return 0; }
`

// TestPeerFlags compares the answers under the flags of addr2line, to addresses and to what is none.
func TestPeerFlags(t *testing.T) {
	path := compile(t, program, "gcc", "-g", "-O1", "-xc")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	text := f.Section(".text").Addr
	for _, s := range symbols {
		if s.Name == "outer" || s.Name == "main" {
			for a := s.Value; a < s.Value+s.Size; a++ {
				fmt.Fprintf(&in, "%x\n0x%X \n", a, a)
			}
			fmt.Fprintf(&in, "%016x\n,\n", s.Value) // as perf writes it
			fmt.Fprintf(&in, "%#x\n0xffffffffffffffff\n", s.Value)
			fmt.Fprintf(&in, "  +0x%x trailing\n0x%xzz\n\t%d\r\n", s.Value, s.Value, s.Value)
		}
	}
	in.WriteString("\nzz\n-1\n-0x10\n99999999999999999999\n0x\n0x0\n 1\n0xdead") // without an end
	for _, flags := range []string{"", "-f", "-i", "-fi", "-a", "-afi", "-p", "-fp", "-ip", "-aip", "-fip", "-afip", "-s", "-afis", "-C", "-fC", "-afipC", "-Cafe"} {
		t.Run(flags, func(t *testing.T) {
			has := func(letter string) bool { return strings.Contains(flags, letter) }
			o := Options{File: path, Addresses: has("a"), Functions: has("f"), Inlines: has("i"), Pretty: has("p"), Basenames: has("s"), Demangle: has("C")}
			args := []string{"-e", path}
			if flags != "" && !has("e") {
				args = append(args, flags)
			} else if has("e") {
				args = []string{flags, path}
			}
			if got, want := answersOf(t, o, in.String()), answersOfPeer(t, in.String(), args...); got != want {
				differ(t, got, want)
			}
		})
	}
	t.Run("section", func(t *testing.T) {
		var in strings.Builder
		for _, s := range symbols {
			if s.Name == "outer" {
				fmt.Fprintf(&in, "%x\n%x\nfffffff\n", s.Value-text, s.Value-text+s.Size-1)
			}
		}
		got := answersOf(t, Options{File: path, Section: ".text", Addresses: true, Functions: true}, in.String())
		if want := answersOfPeer(t, in.String(), "-e", path, "-a", "-f", "-j", ".text"); got != want {
			differ(t, got, want)
		}
	})
}

// TestPeerRelocatable compares the answers for the sections of an object file, all of which begin at 0.
func TestPeerRelocatable(t *testing.T) {
	path := compile(t, program, "gcc", "-g", "-O1", "-ffunction-sections", "-c", "-xc")
	for _, section := range []string{".text.outer", ".text.main"} {
		in := "0\n1\n4\n8\nffff\n"
		got := answersOf(t, Options{File: path, Section: section, Addresses: true, Functions: true}, in)
		want := answersOfPeer(t, in, "-e", path, "-a", "-f", "-j", section)
		if got != want || !strings.Contains(got, section[len(".text."):]) {
			t.Errorf("%s: got\n%s\nwant\n%s", section, got, want)
		}
	}
}

// differ reports the first difference of two outputs.
func differ(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Errorf("line %d is %q instead of %q, after %q", i, g[i], w[i], g[max(0, i-4):i])
			return
		}
	}
	t.Errorf("%d lines instead of %d", len(g), len(w))
}

const larger = `
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main(int argc, char **argv) {
	std::map<std::string, std::vector<std::string>> found;
	for (int i = 1; i < argc; i++) { std::string s = argv[i]; found[s.substr(1)].push_back(s); }
	for (auto &[k, v] : found) std::cout << k << v.size() << std::endl;
	std::vector<int> v{3, 1, 2};
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	return v[0];
}
`

// TestPeer compares the answers for addresses of whole programs with those of addr2line. They may differ only where explained says why.
func TestPeer(t *testing.T) {
	needBinutils(t)
	for _, p := range []struct {
		name string
		path func(t *testing.T) string
	}{
		{"gcc", func(t *testing.T) string { return compile(t, larger, "g++", "-g", "-O2", "-xc++") }},
		{"clang-4", func(t *testing.T) string { return compile(t, larger, "clang++-22", "-gdwarf-4", "-O2", "-xc++") }},
		{"clang-5", func(t *testing.T) string { return compile(t, larger, "clang++-22", "-g", "-O2", "-xc++") }},
		{"libc", peers.Libc},
	} {
		t.Run(p.name, func(t *testing.T) { comparePeer(t, p.path(t)) })
	}
}

// comparePeer compares the answers for some addresses of a file.
func comparePeer(t *testing.T, path string) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text := f.Section(".text")
	random := rand.New(rand.NewPCG(1, 2))
	var in strings.Builder
	const n = 2000
	for range n {
		fmt.Fprintf(&in, "%x\n", text.Addr+random.Uint64N(text.Size))
	}
	header := regexp.MustCompile(`(?m)^0x[0-9a-f]{16}\n`)
	split := func(out string) []string { return header.Split(out, -1)[1:] }
	want := split(answersOfPeer(t, in.String(), "-afi", "-e", path))
	got := split(answersOf(t, Options{File: path, Addresses: true, Functions: true, Inlines: true}, in.String()))
	if len(got) != n || len(want) != n {
		t.Fatalf("%d and %d answers", len(got), len(want))
	}
	same := aliases(f)
	equal, known := 0, map[string]int{}
	for i := range got {
		if got[i] == want[i] {
			equal++
			continue
		}
		why := explained(got[i], want[i], same)
		if known[why]++; why == "" && known[why] <= 3 {
			t.Errorf("got\n%s\nwant\n%s", got[i], want[i])
		}
	}
	t.Logf("%d of %d equal %v", equal, n, known)
}

// aliases returns a function that reports whether two symbols of a file have the same address.
func aliases(f *elf.File) func(a, b string) bool {
	at := make(map[string][]uint64)
	symbols, _ := f.Symbols()
	for _, s := range symbols {
		at[s.Name] = append(at[s.Name], s.Value)
	}
	return func(a, b string) bool {
		return slices.ContainsFunc(at[a], func(v uint64) bool { return slices.Contains(at[b], v) })
	}
}

// subset reports whether the functions of an answer are some of those of another one, in order, with the same outermost one.
func subset(few, all []string, same func(a, b string) bool) bool {
	equal := func(a, b string) bool { return a == b || withoutUnified(a) == withoutUnified(b) || same(a, b) }
	if !equal(few[len(few)-2], all[len(all)-2]) {
		return false
	}
	for i := 0; len(few) > 0; i += 2 {
		if i >= len(all) {
			return false
		}
		if equal(few[0], all[i]) {
			few = few[2:]
		}
	}
	return true
}

// withoutUnified returns a name with constructors and destructors of one kind only.
func withoutUnified(name string) string { return variants.ReplaceAllString(name, "${1}2$2") }

// variants matches the names of constructors and destructors; 4 is that of unified ones, which no function has.
var variants = regexp.MustCompile(`([CD])[124](E|I)`)

// repeated matches a relative directory that addr2line writes twice.
var repeated = regexp.MustCompile(`^(\./[^.]+)/(\./.*)$`)

// explained returns why two answers differ, or "".
func explained(got, want string, same func(a, b string) bool) (why string) {
	g, w := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(strings.TrimSpace(want), "\n")
	if len(g) > len(w) && subset(w, g, same) {
		return "addr2line loses the inlined functions of range lists with indexes (DWARF 5)"
	}
	if g[0] == "??" && len(g) == 2 {
		return "addr2line takes the function before the address, which ends before it"
	}
	if len(g) != len(w) {
		return ""
	}
	for i := range g {
		switch {
		case g[i] == w[i]:
		case i%2 == 0 && withoutUnified(w[i]) == withoutUnified(g[i]):
			why = "addr2line writes the name of a unified constructor"
		case i%2 == 0 && (same(g[i], w[i]) || strings.HasPrefix(g[i]+".", w[i]+".") || strings.HasPrefix(w[i], g[i]+".")):
			why = "another name of the same function"
		case i == 0 && len(g) > 2 && !isMangled(g[i]):
			why = "addr2line takes the symbol for an inlined function without a linkage name"
		case i%2 == 0 && !isMangled(w[i]) && isMangled(g[i]):
			why = "addr2line does not look for the symbol again"
		case i%2 == 1 && strings.HasPrefix(w[i], ":"):
			why = cmp.Or(why, "addr2line writes an empty file name")
		case i%2 == 1 && repeated.ReplaceAllString(w[i], "$2") == g[i], i%2 == 1 && strings.HasSuffix(w[i], strings.TrimPrefix(g[i], ".")):
			why = cmp.Or(why, "addr2line writes a relative directory twice")
		case i%2 == 1 && strings.HasPrefix(w[i], "./") && g[i][strings.LastIndexByte(g[i], ':'):] == w[i][strings.LastIndexByte(w[i], ':'):]:
			why = "addr2line takes the unit's file for the included one (DWARF 5)"
		default:
			return ""
		}
	}
	return why
}
