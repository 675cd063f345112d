package llvm

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/sources"
	"qss-filter/symsrc/symbolize/batch"
	"qss-filter/symsrc/symbolize/peers"
)

const peer = "llvm-symbolizer-22"

// programs are the objects of the comparison: a file of Debian's, or sources with the command that compiles them to a.out.
var programs = []struct {
	name, path, text string
	command          []string
}{
	{name: "inlined", text: inlinedCPP, command: []string{"clang++-22", "-g", "-O2", "-x", "c++", "-", "-o", "a.out"}},
	{name: "variables", text: inlinedCPP, command: []string{"g++", "-g", "-O2", "-x", "c++", "-", "-o", "a.out"}},
	{name: "type units", text: inlinedCPP, command: []string{"g++", "-g", "-O2", "-fdebug-types-section", "-x", "c++", "-", "-o", "a.out"}},
	{name: "type units, DWARF 4", text: inlinedCPP, command: []string{"clang++-22", "-gdwarf-4", "-O2", "-fdebug-types-section", "-x", "c++", "-", "-o", "a.out"}},
	{name: "tagged", text: taggedC, command: []string{"clang-22", "--target=aarch64-linux-gnu", "-g", "-O1", "-fsanitize=hwaddress", "-nostdlib", "-shared",
		"-fuse-ld=lld", "-fno-sanitize-link-runtime", "-x", "c", "-", "-o", "a.out"}},
	{name: "rust", text: "fn main() { let mut m = std::collections::BTreeMap::new(); for a in std::env::args() { *m.entry(a.len()).or_insert(0) += 1; } println!(\"{:?}\", m); }",
		command: []string{"rustc", "-g", "-O", "-o", "a.out", "-"}},
	{name: "go", text: "package main\nimport (\"fmt\"; \"os\"; \"sort\")\nfunc main() { a := append([]string{}, os.Args...); sort.Strings(a); fmt.Println(a) }\n",
		command: []string{"go", "build", "-o", "a.out"}},
	{name: "libc", path: "libc6-dbg"},
	{name: "libstdc++", path: "/usr/lib/x86_64-linux-gnu/debug/libstdc++.so.6"},
	// Stripped ones, of which the first three have a separate debug file.
	{name: "stripped libc", path: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
	{name: "stripped libstdc++", path: "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"},
	{name: "stripped python", path: "/usr/bin/python3.11"},
	{name: "stripped go", path: "/usr/sbin/gosu"},
	{name: "stripped rust", path: "/usr/lib/x86_64-linux-gnu/libstd-*.so"},
	{name: "stripped rustc", path: "/usr/lib/x86_64-linux-gnu/librustc_driver-*.so"},
	{name: "stripped clang", path: "/usr/lib/llvm-22/bin/clang"},
	{name: "stripped libclang", path: "/usr/lib/x86_64-linux-gnu/libclang-cpp.so.22.1"},
	{name: "asan runtime", path: "/usr/lib/llvm-22/lib/clang/22/lib/linux/libclang_rt.asan-x86_64.so"},
}

const inlinedCPP = `
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
struct Base { virtual ~Base() {} virtual int f(int x) const { return x; } int table[7]; static const char *names[3]; };
const char *Base::names[3] = {"a", "b", "c"};
namespace ns { int counter = 3; static double ratio[300]; template <class T> struct Box { T v; T twice() const { return v + v; } }; }
struct Derived : Base { int f(int x) const override { char buf[200]; snprintf(buf, sizeof buf, "%d", x); return buf[0] + ns::counter; } };
int total(const std::vector<int> &v) { int s = 0; for (int x : v) { int y = x * 2; s += y; } return s; }
int main(int argc, char **argv) {
	std::map<std::string, std::vector<std::string>> found;
	for (int i = 1; i < argc; i++) { std::string s = argv[i]; found[s.substr(1)].push_back(s); }
	for (auto &[k, v] : found) std::cout << k << v.size() << std::endl;
	std::vector<int> v{3, 1, 2};
	std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
	Derived d; ns::Box<long> b{argc}; ns::ratio[argc] = b.twice();
	int (Base::*pm)(int) const = &Base::f; static int here[2][3];
	return total(v) + d.f(argc) + (int)ns::ratio[1] + (d.*pm)(2) + here[argc & 1][1];
}
`

const taggedC = `
void use(void *);
static int helper(int n) { int arr[8]; use(arr); return arr[n]; }
int f(int n) { char b[32]; int k = n; use(b); use(&k); return helper(k) + b[1]; }
`

// build returns the path of a program's file.
func build(t *testing.T, name, path, text string, command []string) string {
	t.Helper()
	switch {
	case path == "libc6-dbg":
		return peers.Libc(t)
	case path != "":
		found, err := filepath.Glob(path)
		if err != nil || len(found) == 0 {
			t.Skipf("%s is not installed", path)
		}
		return found[0]
	case name == "go": // whose compiler reads no standard input
		source := filepath.Join(t.TempDir(), "a.go")
		if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		command = append(slices.Clone(command), source)
	}
	return peers.Compile(t, text, command...)
}

// answersOf returns the answers of this package.
func answersOf(t *testing.T, o Options, in string) string {
	t.Helper()
	out, errs := answersTo(t, o, in)
	for _, err := range errs {
		t.Error(err)
	}
	return out
}

// answersTo returns the answers of this package, and the errors about requests.
func answersTo(t *testing.T, o Options, in string) (answers string, errs []error) {
	t.Helper()
	return peers.Answers(t, in, func(symbols symsrc.Source, texts *sources.Sources) batch.Answerer {
		o.Symbols, o.Texts = symbols, texts
		return New(o)
	})
}

// sample returns addresses in the sections of a file that are chosen, spread at random.
func sample(t *testing.T, path string, n int, chosen func(*elf.Section) bool) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*elf.Section
	total := uint64(0)
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Size > 0 && chosen(s) {
			all = append(all, s)
			total += s.Size
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for total > 0 && len(addrs) < n {
		at := random.Uint64N(total)
		for _, s := range all {
			if at < s.Size {
				addrs = append(addrs, s.Addr+at)
				break
			}
			at -= s.Size
		}
	}
	return addrs
}

func isCode(s *elf.Section) bool { return s.Flags&elf.SHF_EXECINSTR != 0 }

func isData(s *elf.Section) bool {
	return slices.Contains([]string{".data", ".bss", ".rodata", ".data.rel.ro", ".noptrdata", ".noptrbss"}, s.Name)
}

// TestPeer compares the answers for addresses of several compilers' programs with those of llvm-symbolizer, in all styles. They may differ
// only as explained says. QSS_SYMBOLIZER_ADDRESSES is the number of addresses of each kind.
func TestPeer(t *testing.T) {
	peers.Need(t, peer)
	n, frames := 1000, 200
	if text := os.Getenv("QSS_SYMBOLIZER_ADDRESSES"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
		frames = n
	}
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			path := build(t, p.name, p.path, p.text, p.command)
			comparePeer(t, path, "CODE", sample(t, path, n, isCode))
			comparePeer(t, path, "DATA", sample(t, path, n, isData))
			comparePeer(t, path, "FRAME", sample(t, path, frames, isCode))
		})
	}
}

// comparePeer compares the answers to one kind of requests.
func comparePeer(t *testing.T, path, kind string, addrs []uint64) {
	t.Helper()
	if len(addrs) == 0 {
		return
	}
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%s %s %#x\n", kind, path, a)
	}
	symbols := symbolFile(t, path)
	asked := strings.ReplaceAll(in.String(), path, symbols)
	guesses := make(map[int]string) // the requests of which llvm guesses the answer, or knows none
	for _, style := range [...]Style{JSON, LLVM, GNU} {
		name := [...]string{JSON: "JSON", LLVM: "LLVM", GNU: "GNU"}[style]
		want := split(style, addrs, withoutVersions(peers.Peer(t, asked, peer, "--output-style="+name, "--addresses"), symbols, path))
		got := split(style, addrs, answersOf(t, Options{Style: style, Addresses: true}, in.String()))
		if len(got) != len(addrs) || len(want) != len(addrs) {
			t.Fatalf("%s %s: %d and %d answers to %d requests", kind, name, len(got), len(want), len(addrs))
		}
		equal, known := 0, map[string]int{}
		for i := range addrs {
			why := ""
			switch {
			case got[i] == want[i]:
				equal++
				continue
			case style == JSON:
				if why = explained(t, kind, got[i], want[i], strings.Contains(path, "python")); why == guessed || why == goTable || why == otherUnit {
					guesses[i] = why
				}
			default:
				why = explainedText(kind, got[i], want[i], guesses[i])
			}
			if why == "" {
				t.Errorf("%s %s:\n got %s\nwant %s", kind, name, got[i], want[i])
				if known[""]++; known[""] == 3 {
					break
				}
			}
			known[why]++
		}
		t.Logf("%-5s %s: %d of %d equal %v", kind, name, equal, len(addrs), known)
	}
}

// symbolFile returns the file that llvm has the symbols of a file from: the separate debug file, which it reads for all else, if there is one
// here, or the file.
func symbolFile(t *testing.T, path string) string {
	t.Helper()
	if id := locate.FileID(path).String(); len(id) > 2 {
		if debug := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"; locate.FileID(debug).String() == id {
			return debug
		}
	}
	return path
}

// version is that of a symbol.
var version = regexp.MustCompile(`@@?GLIBC_[A-Z0-9.]+`)

// withoutVersions returns llvm's output about a separate debug file as it would be about its program, whose names have no versions.
func withoutVersions(out, debug, path string) string {
	if debug == path {
		return out
	}
	return version.ReplaceAllString(strings.ReplaceAll(out, debug, path), "")
}

// TestPeerSplitTypes compares the functions of a program whose split unit comes after many sections with type units.
func TestPeerSplitTypes(t *testing.T) {
	peers.Need(t, peer)
	path := build(t, "", "", inlinedCPP, []string{"g++", "-g", "-O2", "-gsplit-dwarf", "-fdebug-types-section", "-x", "c++", "-", "-o", "a.out"})
	addrs := sample(t, path, 1000, func(s *elf.Section) bool { return s.Name == ".text" })
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "CODE %s %#x\n", path, a)
	}
	want := split(LLVM, addrs, peers.Peer(t, in.String(), peer))
	got := split(LLVM, addrs, answersOf(t, Options{}, in.String()))
	known := 0
	for i := range addrs {
		if strings.HasSuffix(want[i], "\n??:0:0") { // of the C library, without lines
			continue
		}
		if known++; got[i] != want[i] {
			t.Errorf("%#x: got\n%s\nwant\n%s", addrs[i], got[i], want[i])
		}
	}
	if known < len(addrs)/2 {
		t.Errorf("only %d of %d addresses have lines", known, len(addrs))
	}
}

// TestPeerSplit compares what is known of functions in split units. Their declarations are in files of the skeleton's table.
func TestPeerSplit(t *testing.T) {
	for _, program := range []string{peer, "clang++-22", "llvm-dwp-22"} {
		peers.Need(t, program)
	}
	for _, version := range []string{"-gdwarf-4", "-gdwarf-5"} {
		for _, packaged := range []bool{false, true} {
			path := build(t, "", "", inlinedCPP, []string{"clang++-22", version, "-O2", "-gsplit-dwarf", "-x", "c++", "-", "-o", "a.out"})
			if packaged {
				pack := exec.Command("llvm-dwp-22", "-e", path, "-o", path+".dwp")
				pack.Dir = filepath.Dir(path)
				if out, err := pack.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				split, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.dwo"))
				if err != nil || len(split) == 0 || os.Remove(split[0]) != nil {
					t.Fatal("no split units", err)
				}
			}
			addrs := sample(t, path, 1000, func(s *elf.Section) bool { return s.Name == ".text" })
			var in strings.Builder
			for _, a := range addrs {
				fmt.Fprintf(&in, "CODE %s %#x\n", path, a)
			}
			want := split(JSON, addrs, peers.Peer(t, in.String(), peer, "--output-style=JSON"))
			got := split(JSON, addrs, answersOf(t, Options{Style: JSON}, in.String()))
			known := 0
			for i := range addrs {
				if strings.Contains(want[i], `"StartFileName":"/`) {
					known++
				}
				if got[i] != want[i] {
					t.Errorf("%s, %v: got\n%s\nwant\n%s", version, packaged, got[i], want[i])
				}
			}
			if known < len(addrs)/2 {
				t.Errorf("%s, %v: only %d of %d functions have the file of their declaration", version, packaged, known, len(addrs))
			}
		}
	}
}

// split returns the answers in an output.
func split(style Style, addrs []uint64, out string) (all []string) {
	if style != GNU {
		end := map[Style]string{JSON: "\n", LLVM: "\n\n"}[style]
		return strings.Split(strings.TrimSuffix(out, end), end)
	}
	for i := 0; i < len(addrs); i++ {
		end := len(out)
		if i+1 < len(addrs) {
			if at := strings.Index(out[1:], fmt.Sprintf("\n%#x\n", addrs[i+1])); at >= 0 {
				end = at + 2
			}
		}
		all = append(all, out[:end])
		out = out[end:]
	}
	return all
}

// The differences on purpose. The help topic llvm-symbolizer names the same.
const (
	guessed     = "llvm takes the symbol before the address, which has no size"
	declaration = "llvm does not read a declaration in DW_FORM_implicit_const, nor of an array of more than 128 elements"
	pointed     = "llvm takes a pointer with a constant value (DW_OP_stack_value) for what it points at"
	otherUnit   = "llvm looks for the file of a variable in the list of another unit (LTO)"
	goTable     = "llvm does not read Go's function table"
	arraySize   = "llvm reads the bound of an array of more than 128 elements as negative"
)

// explained returns why two answers in the style JSON differ, or "". lto is set for a program that was optimized as a whole.
func explained(t *testing.T, kind, got, want string, lto bool) (why string) {
	t.Helper()
	type object = map[string]any
	read := func(text string) (o object) {
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		return o
	}
	g, w := read(got), read(want)
	switch kind {
	case "DATA":
		gd, wd := g["Data"].(object), w["Data"].(object)
		if wd["Size"] == "0x0" && gd["Name"] == "" {
			return guessed
		}
		return ""
	case "CODE":
		gs, ws := g["Symbol"].([]any), w["Symbol"].([]any)
		if unknownTo(ws) && goSource.MatchString(gs[0].(object)["FileName"].(string)) {
			return goTable
		}
		if len(ws) == 1 && len(gs) == 1 {
			gf, wf := gs[0].(object), ws[0].(object)
			if name := gf["FunctionName"].(string); wf["Line"] == 0.0 && (name == "" || strings.HasSuffix(name, stub)) {
				return guessed
			}
		}
		for i := range min(len(gs), len(ws)) {
			gf, wf := gs[i].(object), ws[i].(object)
			if wf["StartFileName"] == "" && wf["StartLine"] != 0.0 {
				gf["StartFileName"], why = "", declaration
			}
		}
	case "FRAME":
		gs, ws := g["Frame"].([]any), w["Frame"].([]any)
		for i := range min(len(gs), len(ws)) {
			gf, wf := gs[i].(object), ws[i].(object)
			if negative(wf["Size"].(string), gf["Size"].(string)) {
				gf["Size"], why = wf["Size"], arraySize
			}
			if lto && gf["DeclFile"] != wf["DeclFile"] && gf["DeclFile"] != "" {
				gf["DeclFile"], why = wf["DeclFile"], otherUnit
			}
		}
	}
	again, _ := json.Marshal(g)
	if wanted, _ := json.Marshal(w); !bytes.Equal(again, wanted) {
		return ""
	}
	return why
}

// goSource matches the files of a Go program.
var goSource = regexp.MustCompile(`\.(go|s)$|^<autogenerated>$`)

// unknownTo reports whether nothing is known in an answer in the style JSON.
func unknownTo(symbols []any) bool {
	s, ok := symbols[0].(map[string]any)
	return ok && len(symbols) == 1 && s["FunctionName"] == "" && s["FileName"] == ""
}

// negative reports whether a size of llvm's is that of an array with a negative number of elements, or with 0 where there are 256.
func negative(want, got string) bool {
	w, err := strconv.ParseUint(want, 0, 64)
	if err != nil {
		return false
	}
	g, err := strconv.ParseUint(got, 0, 64)
	return err == nil && (w >= 1<<63 || w == 0 && g > 0 && g%256 == 0)
}

// explainedText is explained for the other styles.
func explainedText(kind, got, want, guess string) (why string) {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	if guess != "" {
		return guess
	}
	for i := range min(len(g), len(w)) {
		if g[i] == w[i] {
			continue
		}
		gf, wf := strings.Fields(g[i]), strings.Fields(w[i])
		switch {
		case kind == "FRAME" && len(gf) == 3 && len(wf) == 3 && negative(wf[1], gf[1]) && gf[0] == wf[0] && gf[2] == wf[2]:
			why = arraySize
		case kind == "DATA" && (w[i] == "??:?" || strings.HasSuffix(w[i], ":0")) && !strings.HasSuffix(g[i], ":0"):
			why = declaration
		case kind == "DATA" && g[1] == "_gmonparam" && strings.HasPrefix(w[i], "./gmon/gmon.c:"): // of libc, whose functions have such pointers
			why = pointed
		default:
			return ""
		}
	}
	if len(g) != len(w) {
		return ""
	}
	return why
}

// TestPeerRequests compares the answers to requests that are understood, and to others, with those of llvm-symbolizer, under its flags.
func TestPeerRequests(t *testing.T) {
	peers.Need(t, peer)
	peers.Need(t, "clang-22")
	path := build(t, "", "", requestsC, []string{"clang-22", "-g", "-O2", "-fdebug-info-for-profiling", "-x", "c", "-", "-o", "a.out"})
	at := symbolsOf(t, path)
	list := fmt.Sprintf(`CODE $M %#[1]x
DATA $M %#[2]x
FRAME $M %#[1]x
CODE "$M" %#[1]x
CODE '$M' %#[1]x trailing words

foo
$M bar
$M bar+0x4
 $M  bar+4
$M nosuch
$M nosuch+q
$M main+0x3
nofile 0x10
nofile 0x10
$M zz9 10
BUILDID:1234 10
BUILDID:zz 10
BUILDID:
FILE:
FILE:$M BUILDID:12
FILE:$M %#[1]x
FILE:"$M" %#[1]x
FILE:FILE:$M 0x10
BUILDID:FILE:12 10
DATA $M bar
FRAME $M bar
DATA nofile 0x10
FRAME nofile 0x10
$M 12zz
$M 0x
$M -1
$M +1
$M 99999999999999999999
CODE $M:arm64 %#[1]x
CODE $M:x86_64 %#[1]x
$M 0o%[1]o
$M 0%[1]o
$M %[1]d
$M 0b%[1]b
"$M %#[1]x
/etc/passwd 0x10
/tmp 0x10
CODE
DATA
`, at["bar"], at["svar"])
	list = strings.ReplaceAll(list, "$M", path) + "CODE " + path + "\t0x10\r\n" + path + " 0x1\x000\n" + path + " 0x10" // without an end
	for _, flags := range [][]string{
		{}, {"--output-style=GNU"}, {"--output-style=JSON"}, {"--addresses"}, {"--pretty-print"}, {"-p", "-a"}, {"--verbose"}, {"--basenames"}, {"--relativenames"},
		{"--no-demangle"}, {"--no-inlines"}, {"--no-inlines", "--output-style=GNU"}, {"--no-inlines", "--output-style=JSON"}, {"--functions=short"},
		{"--functions=short", "--output-style=JSON"}, {"--functions=none"}, {"--functions=none", "--output-style=JSON"}, {"--verbose", "--output-style=GNU"},
		{"--print-source-context-lines=3"}, {"--print-source-context-lines=4", "--output-style=JSON"}, {"--adjust-vma=0xfffffffffffffffc"}, {"--skip-line-zero"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			in := list
			if slices.ContainsFunc(flags, func(f string) bool { return f == "--addresses" || f == "-a" }) {
				// llvm reads uninitialized memory where a symbol stands in place of an address.
				in = strings.NewReplacer("DATA "+path+" bar\n", "", "FRAME "+path+" bar\n", "").Replace(in)
			}
			cmd := exec.Command(peer, flags...)
			cmd.Stdin = strings.NewReader(in)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			got, wrong := answersTo(t, optionsOf(t, flags), in)
			want := out.String()
			if slices.Contains(flags, "--output-style=JSON") { // llvm says only once why a file cannot be read
				want = sayAgain(want)
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if want := strings.ReplaceAll(errs.String(), peer+": error: ", ""); once(wrong) != want {
				t.Errorf("errors\n%s\nwant\n%s", once(wrong), want)
			}
		})
	}
}

const requestsC = `#include <stdio.h>
int gvar = 3;
static int svar[4];
static inline int foo(int x) {
	volatile int a[3] = {x, 2, 3};
	return a[1] + svar[x & 3] + gvar;
}
__attribute__((noinline)) int bar(int y, char *z) {
	int l = y * 2;
	long q[2] = {l, 0};
	for (int i = 0; i < y; i++) l += foo(i) + foo(l);
	printf("%d%p%s", foo(l), (void *)q, z);
	return l;
}
int main(int c, char **v) { svar[c & 3] = c; return bar(c, v[0]); }
`

// symbolsOf returns the addresses of the symbols of a file.
func symbolsOf(t *testing.T, path string) map[string]uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]uint64)
	for _, s := range all {
		at[s.Name] = s.Value
	}
	return at
}

// optionsOf returns the options that flags of llvm-symbolizer stand for.
func optionsOf(t *testing.T, flags []string) (o Options) {
	t.Helper()
	for _, f := range flags {
		switch name, value, _ := strings.Cut(f, "="); name {
		case "--output-style":
			o.Style = map[string]Style{"GNU": GNU, "JSON": JSON}[value]
		case "--functions":
			o.Functions = map[string]Functions{"short": ShortNames, "none": NoNames}[value]
		case "--addresses", "-a":
			o.Addresses = true
		case "--pretty-print", "-p":
			o.Pretty = true
		case "--verbose":
			o.Verbose = true
		case "--basenames":
			o.Basenames = true
		case "--relativenames":
			o.RelativeNames = true
		case "--no-demangle":
			o.NoDemangle = true
		case "--no-inlines":
			o.NoInlines = true
		case "--skip-line-zero":
			o.SkipLineZero = true
		case "--print-source-context-lines":
			o.ContextLines, _ = strconv.Atoi(value)
		case "--adjust-vma":
			o.Adjust, _ = strconv.ParseUint(value, 0, 64)
		default:
			t.Fatalf("flag %s", f)
		}
	}
	return o
}

// sayAgain replaces the answers of llvm for a file that it could not read before.
func sayAgain(out string) string {
	reasons := make(map[string]string) // by module
	var b strings.Builder
	for line := range strings.Lines(out) {
		var o map[string]any
		if json.Unmarshal([]byte(line), &o) == nil {
			module, _ := o["ModuleName"].(string)
			if e, ok := o["Error"].(map[string]any); ok {
				reasons[module] = e["Message"].(string)
			} else if why := reasons[module]; why != "" {
				delete(o, "Symbol")
				delete(o, "Data")
				delete(o, "Frame")
				o["Error"] = map[string]string{"Message": why}
				text, _ := json.Marshal(o)
				line = string(text) + "\n"
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// once returns errors as lines, without the repetitions of those about files.
func once(errs []error) string {
	var b strings.Builder
	told := make(map[string]bool)
	for _, err := range errs {
		if _, ok := errors.AsType[*FileError](err); ok && !strings.Contains(err.Error(), "build ID") {
			if told[err.Error()] {
				continue
			}
			told[err.Error()] = true
		}
		fmt.Fprintln(&b, err)
	}
	return b.String()
}
