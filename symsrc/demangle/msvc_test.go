package demangle

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// msvcName is a line of msvc/testdata/msvc.txt: a name, then what llvm-symbolizer 22 makes of it in a symbol element and in a frame.
// The names are clang's (22, for x86_64-pc-windows-msvc and i686-pc-windows-msvc), and some that are malformed or rare.
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

// TestMSVC compares names of Microsoft's compiler with what llvm made of them.
func TestMSVC(t *testing.T) {
	for _, n := range msvcNames(t) {
		if got := LLVM(n.name, true); got != n.symbol {
			t.Errorf("%s\n got %q\nwant %q", n.name, got, n.symbol)
		}
		if got := LLVM(n.name, false); got != n.frame {
			t.Errorf("%s in a frame\n got %q\nwant %q", n.name, got, n.frame)
		}
		if n.name[0] != '?' { // llvm takes off what may stand before a name
			continue
		}
		if got := Demangle(n.name); got != n.frame {
			t.Errorf("outside llvm's style, %s gives %q, want %q", n.name, got, n.frame)
		}
		if got := Symbol(n.name); got != n.symbol {
			t.Errorf("outside llvm's style, %s by itself gives %q, want %q", n.name, got, n.symbol)
		}
	}
}

// TestMSVCLive compares with the llvm that is installed: the names as they are, and with changes. Of what is
// malformed llvm reads some where a pointer makes it forget the error; such names stay as they are, but none reads otherwise.
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
	want, read, kept := llvmSymbols(t, names), 0, 0
	for i, name := range names {
		got := LLVM(name, true)
		switch {
		case got == want[i]:
			if got != name {
				read++
			}
		case got == name && i >= len(known):
			kept++
		default:
			t.Errorf("%s\n got %q\nwant %q", name, got, want[i])
		}
	}
	if kept > read/10 {
		t.Errorf("%d names stay as they are that llvm reads", kept)
	}
	t.Logf("%d of %d names are readable; %d stay as they are that llvm reads", read, len(names), kept)
}

// TestMSVCLength holds the bound on the length of names.
func TestMSVCLength(t *testing.T) {
	long := "?" + strings.Repeat("f", maxName) + "@@3HA"
	if got := LLVM(long, true); got != long {
		t.Errorf("a name of %d bytes was demangled", len(long))
	}
	if got := LLVM(long[:1]+long[7:], true); got != "int "+long[7:len(long)-5] {
		t.Errorf("a name of %d bytes was not demangled", len(long)-6)
	}
}
