package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// darwinFiles and darwinPer are the sources of a program of Darwin and the classes in each: its dSYM has 48 MB, the debug information
// of 86 objects of 1.2 MB.
const darwinFiles, darwinPer = 86, 400

// darwinText is where the code of the program is, as ld64.lld lays it out.
const darwinText, darwinSize = 0x100001000, 0x1500000

// darwinProgram makes the dSYM of a program of Darwin once, and returns its file with the debug information.
func darwinProgram(dir string) (string, error) {
	dir = filepath.Join(dir, "darwin")
	dsym := filepath.Join(dir, "program.dSYM", "Contents", "Resources", "DWARF", "program")
	if _, err := os.Stat(dsym); err == nil {
		return dsym, nil
	}
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("make a dSYM: %w (clang-22, lld-22, llvm-22)", err)
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for i := range darwinFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.cpp", i)), []byte(darwinSource(i)), 0o644); err != nil {
			return "", err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "m.cpp"), []byte("int main() { return 0; }\n"), 0o644); err != nil {
		return "", err
	}
	if err := shell("cd " + dir + ` && ls *.cpp | xargs -P2 -n4 clang-22 --target=arm64-apple-macos11 -O0 -g -c &&
		ld64.lld-22 -arch arm64 -platform_version macos 11.0 11.0 -e _main -undefined dynamic_lookup *.o -o program && dsymutil-22 program -o program.dSYM`); err != nil {
		return "", err
	}
	before := time.Now().Add(-time.Hour) // a file that was just made is not worth an index yet
	return dsym, os.Chtimes(dsym, before, before)
}

// darwinSource returns a source without headers: templates, virtual and inlined functions, and lambdas.
func darwinSource(file int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "namespace lib%d {\ntemplate <class T, int N> struct Vec {\n  T v[N];\n  inline __attribute__((always_inline)) T sum() const {\n"+
		"    T r = 0;\n    for (int i = 0; i < N; i++) r += v[i];\n    return r;\n  }\n  T scaled(T k) const { return k > 3 ? sum() * k : sum(); }\n};\n", file)
	for i := range darwinPer {
		fmt.Fprintf(&b, "struct C%[1]d { int a; long b; virtual int go(int x); };\n"+
			"static inline __attribute__((always_inline)) int in%[1]d(int a, int b) {\n  int r = a * %[2]d;\n  if (b > %[1]d) r += b;\n  return r / (b | 1);\n}\n"+
			"static int st%[1]d(int a) {\n  Vec<long, %[3]d> v;\n  for (int i = 0; i < %[3]d; i++) v.v[i] = a + i;\n  return (int)v.scaled(a) + in%[1]d(a, %[1]d);\n}\n"+
			"int C%[1]d::go(int x) {\n  auto l = [&](int y) { return in%[1]d(y, x) + a; };\n  int s = 0;\n  for (int i = 0; i < x; i++) s += l(i) + st%[1]d(i);\n  return s + (int)b;\n}\n",
			i, i+3, i%7+2)
	}
	return b.String() + "}\n"
}

// darwinCases look up addresses of a dSYM.
var darwinCases = []struct {
	name, what string
	addresses  int
	goal       goal
}{
	{"dsym-cold", "one address of a dSYM of 48 MB", 1, goal{2, 0.6}},
	{"dsym-1000", "1,000 addresses of it", 1000, goal{4, 0.5}},
	{"dsym-100k", "100,000 addresses of it", 100000, goal{1.5, 0.7}},
}

// runDarwin compares one of them.
func runDarwin(dir, log string, addresses int, g goal) error {
	dsym, err := darwinProgram(dir)
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(7, 8))
	var b strings.Builder
	for range addresses {
		fmt.Fprintf(&b, "%#x\n", darwinText+rng.Uint64N(darwinSize))
	}
	if err := os.WriteFile(log, []byte(b.String()), 0o644); err != nil {
		return err
	}
	own := command{name: "qss-filter", argv: []string{"qss-filter", "symbolize", "-e", dsym}, input: log}
	cold := own
	cold.name, cold.cold = "qss-filter cold", true
	return compare([]command{own, cold,
		{name: "qss-filter --no-cache", argv: []string{"qss-filter", "symbolize", "--no-cache", "-e", dsym}, input: log, goal: goal{times: 0.9}},
		{name: "llvm-symbolizer-22", argv: []string{"llvm-symbolizer-22", "--no-debuginfod", "--obj=" + dsym}, input: log, goal: g}})
}
