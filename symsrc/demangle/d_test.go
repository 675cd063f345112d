package demangle

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
)

// llvmSymbols returns what llvm-symbolizer --filter-markup prints for symbol elements with names. These must not contain
// colons, braces and newlines.
func llvmSymbols(t *testing.T, names []string) []string {
	t.Helper()
	const tool = "llvm-symbolizer-22"
	if _, err := exec.LookPath(tool); err != nil {
		t.Skip(tool + " is not installed (Debian: llvm-22)")
	}
	var in strings.Builder
	for _, name := range names {
		fmt.Fprintf(&in, "{{{symbol:%s}}}\n", name)
	}
	cmd := exec.Command(tool, "--filter-markup", "--color=never")
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(bytes.TrimSuffix(out, []byte("\n"))), "\n")
}

// TestD compares D names with llvm: names that llvm demangles, names that it does not, and random ones.
func TestD(t *testing.T) {
	names := strings.Fields(`_Dmain _DmainZ __Dmain ._Dmain _D _DZ _Di _D0i _D00Z _D1 _D1a _D1aZ _D2aZ _D8demangle4testi _D8demangle4testv _D8demangle4testZx
		_D8demangle4testiQb _D8demangle4test6__initZ _D8demangle4test6__vtblZ _D8demangle4test7__ClassZ _D8demangle4test11__InterfaceZ
		_D8demangle12__ModuleInfoZ _D6__initZ _D8demangle4testQfi _D8demangle4testQoi _D8demangle4testQni _D8demangle4test0i _D8demangle04testi
		_D4__S14testi _D8demangle4__S14testi _D8demangle5__S1x4testi _D8demangle3__S4testZ _D8demangle1ai.cold __D8demangle1ai _D99999999999aZ
		_D4294967295aZ _D4294967296aZ _D8demangle4ABCi1aQd _D8demangle3ABCQe1ai _D8demangle3ABCQa1ai _D8demangleQDXXXXXXXXXXXXx _D8demangle3fooQXXXx
		_D8demangle5recurQa _D4test3fooFZv _D4core6thread6Thread3runMFZv _D8demangle6__init0Z _D8demangle6__initZQiZ _D8demangle6__initZZ _D3a.bZ`)
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		var b strings.Builder
		b.WriteString("_D")
		for range 1 + r.IntN(6) {
			pieces := []string{"1a", "3foo", "0", "00", "4__S1", "3__S", "6__initZ", "6__vtbl", "7__ClassZ", "11__InterfaceZ", "12__ModuleInfoZ", "Qb", "Qc", "Qd", "Qe", "Qg",
				"Qj", "QBa", "2i1", "5Qbcde", "10abcdefghij", "1b", "3bar", "QAe", "QZ", "Q", "i", "Z", "v", "9", "a", "FZv"}
			b.WriteString(pieces[r.IntN(len(pieces)-r.IntN(2)*9)])
		}
		b.WriteString([]string{"i", "Z", "Qb", "Qc", "Qe", "", "iZ", "v"}[r.IntN(8)])
		names = append(names, b.String())
	}
	want, demangled := llvmSymbols(t, names), 0
	for i, name := range names {
		if got := LLVM(name, true); got != want[i] {
			t.Errorf("%s\n got %q\nwant %q", name, got, want[i])
		}
		if want[i] != name {
			demangled++
		}
	}
	t.Logf("%d of %d names were demangled", demangled, len(names))
}
