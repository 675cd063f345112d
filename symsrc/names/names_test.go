package names_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/names"
)

// TestTable finds names by several goroutines at once: a name has one number, which leads to it.
func TestTable(t *testing.T) {
	var table names.Table
	const count = 1000 // of more than one block
	numbers := make([][]uint32, 4)
	var all sync.WaitGroup
	for i := range numbers {
		numbers[i] = make([]uint32, count)
		all.Go(func() {
			for k := range count {
				numbers[i][k] = table.Find(fmt.Appendf(nil, "_Z4name%dv", k))
			}
		})
	}
	all.Wait()
	seen := make(map[uint32]bool)
	for k := range count {
		number := numbers[0][k]
		for i := range numbers {
			if numbers[i][k] != number {
				t.Fatalf("name %d has the numbers %d and %d", k, number, numbers[i][k])
			}
		}
		if number == 0 || seen[number] {
			t.Fatalf("name %d has the number %d", k, number)
		}
		seen[number] = true
		if n := table.At(number); n.Linkage != fmt.Sprintf("_Z4name%dv", k) {
			t.Fatalf("number %d is %q", number, n.Linkage)
		}
	}
	if n := table.At(0); n != nil {
		t.Errorf("number 0 is %+v", n)
	}
}

// TestNames has names of all kinds.
func TestNames(t *testing.T) {
	var table names.Table
	for linkage, want := range map[string]string{
		"_ZN1a1bEv": "a::b()", "_ZN1a1bEv@@V_1": "a::b()", "plain@V_1": "plain", "@at": "@at", "?f@@YAXXZ": "f(void)", "": "",
		strings.Repeat("x", bin.MaxString+1): "",
	} {
		n := table.At(table.Find([]byte(linkage)))
		if !strings.HasSuffix(n.Demangled, want) || want == "" && n.Demangled != "" {
			t.Errorf("%.40q is %.40q, want %q", linkage, n.Demangled, want)
		}
	}
}
