package itanium

import (
	_ "embed"
	"strings"
	"testing"
)

// llvmNames has one name per line and, after a tab, what llvm-cxxfilt prints for it; nothing if llvm-cxxfilt refuses it. Some
// names test one feature each, some are from real libraries, some are random.
//
//go:embed testdata/llvm.tsv
var llvmNames string

// namesOfLLVM returns the names of the file and what llvm prints for them.
func namesOfLLVM(t testing.TB) (names, want []string) {
	for line := range strings.Lines(llvmNames) {
		name, readable, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("no tab in %q", line)
		}
		names, want = append(names, name), append(want, readable)
	}
	return names, want
}

func TestDemangle(t *testing.T) {
	names, want := namesOfLLVM(t)
	for i, name := range names {
		if got, ok := Demangle(name, LLVM); got != want[i] || ok != (want[i] != "") {
			t.Errorf("%s\n got %s, %v\nwant %s", name, got, ok, want[i])
		}
	}
}

// TestFile checks that the file agrees with the installed llvm.
func TestFile(t *testing.T) {
	names, want := namesOfLLVM(t)
	for i, readable := range peer(t, names) {
		if readable == names[i] {
			readable = ""
		}
		if readable != want[i] {
			t.Errorf("%s\nfile %s\nllvm %s", names[i], want[i], readable)
		}
	}
}

// TestOddBytes checks names that llvm-cxxfilt would not read as one word.
func TestOddBytes(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"_Z4fo\x00ov", "fo\x00o()"}, {"_Z5größv", ""}, {"_Z6größv", "größ()"}, {"_Z1fv@@V1", ""},
		{"_Z1fv.a b", "f() (.a b)"}, {"", ""}, {"_", ""}, {"main", ""}, {"__Z1fv", "f()"}, {"_____Z1fv_block_invoke", ""}, {"_Z1f\xff", ""},
		{"_Z1\xffv", "\xff()"}, {"_ZZ1fvE1x\x001", ""},
	} {
		if got, ok := Demangle(c.name, LLVM); got != c.want || ok != (c.want != "") {
			t.Errorf("Demangle(%q) = %q, %v, want %q", c.name, got, ok, c.want)
		}
	}
}

// TestCut compares truncated names with llvm.
func TestCut(t *testing.T) {
	var cut []string
	names, _ := namesOfLLVM(t)
	for _, name := range names[:len(names)/2] {
		for n := 2; n < len(name); n++ {
			cut = append(cut, name[:n])
		}
	}
	compare(t, cut)
}

func BenchmarkDemangle(b *testing.B) {
	names := realNames(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		Demangle(names[i%len(names)], LLVM)
	}
}
