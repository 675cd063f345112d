package demangle

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// msvcName is a line of msvc/testdata/msvc.txt: a name, and what llvm-symbolizer 22 prints for it in a symbol element and in a frame.
// Most names come from clang 22, for x86_64-pc-windows-msvc and i686-pc-windows-msvc; some are malformed or rare ones written by hand.
type msvcName struct{ name, symbol, frame string }

func msvcNames(t testing.TB) (names []msvcName) {
	t.Helper()
	text, err := os.ReadFile("msvc/testdata/msvc.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			t.Fatalf("not three fields: %q", line)
		}
		names = append(names, msvcName{f[0], f[1], f[2]})
	}
	return names
}

// TestMSVC compares Microsoft's names with what llvm printed for them.
func TestMSVC(t *testing.T) {
	for _, n := range msvcNames(t) {
		if got := LLVM(n.name, true); got != n.symbol {
			t.Errorf("%s\n got %q\nwant %q", n.name, got, n.symbol)
		}
		if got := LLVM(n.name, false); got != n.frame {
			t.Errorf("%s in a frame\n got %q\nwant %q", n.name, got, n.frame)
		}
		if n.name[0] != '?' { // llvm removes a dot or an underscore before the name
			continue
		}
		if got := Demangle(n.name); got != n.frame {
			t.Errorf("Demangle(%q) = %q, want %q", n.name, got, n.frame)
		}
		if got := Symbol(n.name); got != n.symbol {
			t.Errorf("Symbol(%q) = %q, want %q", n.name, got, n.symbol)
		}
	}
}

// TestMSVCLive compares the names, and mutations of them, with the installed llvm. llvm demangles some malformed names, because
// its parser loses an error at the next pointer. Such names may stay unchanged here, but must not be demangled differently.
func TestMSVCLive(t *testing.T) {
	known := msvcNames(t)
	var names []string
	for _, n := range known {
		names = append(names, n.name)
	}
	r := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"A", "B", "C", "E", "H", "P", "Q", "V", "X", "Y", "Z", "0", "1", "2", "@", "@@", "?", "$", "_", "?$", "$$A6", "$$C", "$$V", "$0", "$1?",
		"$H", "$J", "$F", "$M", "PEA", "QEQC@@", "P8C@@", "P6A", "Y01", "?A0x1@", "?1??", "??_7", "??_R0", "$$Q", "_N", "_E", "?0", "?B", "$$J0", "W4", "V1@"}
	for range 20000 {
		s := names[r.IntN(len(known))]
		for range 1 + r.IntN(3) {
			at, to := r.IntN(len(s)+1), r.IntN(len(s)+1)
			switch r.IntN(4) {
			case 0:
				s = s[:at] + pieces[r.IntN(len(pieces))] + s[at:]
			case 1:
				s = s[:at] + pieces[r.IntN(len(pieces))] + s[min(at+1, len(s)):]
			case 2:
				s = s[:min(at, to)] + s[min(at, to)+min(1, len(s)-min(at, to)):]
			case 3:
				other := names[r.IntN(len(known))]
				s = s[:at] + other[min(to, len(other)):]
			}
		}
		if s != "" {
			names = append(names, s)
		}
	}
	want, demangled, unchanged := llvmSymbols(t, names), 0, 0
	for i, name := range names {
		got := LLVM(name, true)
		switch {
		case got == want[i]:
			if got != name {
				demangled++
			}
		case got == name && i >= len(known):
			unchanged++
		default:
			t.Errorf("%s\n got %q\nwant %q", name, got, want[i])
		}
	}
	if unchanged > demangled/10 {
		t.Errorf("%d names that llvm demangles are unchanged", unchanged)
	}
	t.Logf("%d of %d names were demangled; %d more are demangled only by llvm", demangled, len(names), unchanged)
}

// TestMSVCLength checks the limit on the length of names.
func TestMSVCLength(t *testing.T) {
	long := "?" + strings.Repeat("f", maxName) + "@@3HA"
	if got := LLVM(long, true); got != long {
		t.Errorf("a name of %d bytes was demangled", len(long))
	}
	if got := LLVM(long[:1]+long[7:], true); got != "int "+long[7:len(long)-5] {
		t.Errorf("a name of %d bytes was not demangled", len(long)-6)
	}
}
