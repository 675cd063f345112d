package itanium

import (
	"bufio"
	"debug/elf"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// cxxfilt is a running llvm-cxxfilt. It answers name by name, and starting it takes longer than thousands of answers.
type cxxfilt struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

// running is the process that answers, once a test has asked. It ends with the tests.
var running *cxxfilt

// start starts llvm-cxxfilt if none is running. It skips the test if llvm is not installed.
func start(t testing.TB) *cxxfilt {
	t.Helper()
	if running != nil {
		return running
	}
	tool, err := exec.LookPath("llvm-cxxfilt-22")
	if err != nil {
		t.Skip("llvm-cxxfilt-22 is not installed")
	}
	cmd := exec.Command(tool)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	running = &cxxfilt{in, bufio.NewReader(out), cmd}
	return running
}

// peer returns llvm's readable forms of names, all from one process. It skips the test if llvm is not installed or crashes,
// which happens for some random names.
func peer(t testing.TB, names []string) []string {
	t.Helper()
	const last = "the end" // no name: it comes back as it is
	p := start(t)
	go io.WriteString(p.in, strings.Join(names, "\n")+"\n"+last+"\n")
	var lines []string
	for {
		line, err := p.out.ReadString('\n')
		if err != nil {
			running = nil
			t.Skipf("llvm-cxxfilt-22: %v", p.cmd.Wait())
		}
		if line = strings.TrimSuffix(line, "\n"); line == last {
			break
		}
		lines = append(lines, line)
	}
	if len(lines) != len(names) {
		t.Fatalf("%d lines of output for %d names", len(lines), len(names))
	}
	return lines
}

// compare compares style LLVM with llvm, byte for byte, and logs how many of the names were demangled.
func compare(t testing.TB, names []string) {
	t.Helper()
	demangled := 0
	for i, want := range peer(t, names) {
		got, ok := Demangle(names[i], LLVM)
		if !ok {
			got = names[i]
		} else {
			demangled++
		}
		if len(want) <= maxOutput && got != want {
			t.Errorf("%s\n got %s\nwant %s", names[i], got, want)
		}
	}
	t.Logf("%d of %d names were demangled", demangled, len(names))
}

// namesRead are what realNames has read.
var namesRead []string

// realNames returns the names of the C++ library or, if it is not installed, of the file of names.
func realNames(t testing.TB) []string {
	if namesRead == nil {
		namesRead = readNames(t)
	}
	return namesRead
}

func readNames(t testing.TB) []string {
	paths, err := filepath.Glob("/usr/lib/*-linux-gnu/libstdc++.so.6")
	if err != nil || len(paths) == 0 {
		names, _ := namesOfLLVM(t)
		return names
	}
	f, err := elf.Open(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "_Z") {
			names = append(names, s.Name)
		}
	}
	return names
}

// oneWord reports whether llvm-cxxfilt reads a name as one word.
func oneWord(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_', i > 0 && (c|' ' >= 'a' && c|' ' <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '$'):
		default:
			return false
		}
	}
	return len(name) > 1
}

// pieces are inserted into names by mutate.
var pieces = strings.Fields(`T_ S_ S0_ S1_ TL0__ I E J X L Li1E Dp DpT_ sp N Z cv UlvE_ UlT_E_ Ut_ K R O P F FvvE A3_ M1A St Sa Ss
	B3foo Q rq Tk1C Ty Tni TtTyE Tp sr srN DTfp_E Dt Do DO Dw U3foo u3foo H W1m D0 C1 CI1 gs il tl1A di1x dx dX fl fLpl fr fR
	so mc nx sZ sP nw_ pi dl cl cp qu pt dt aS gt cm st sz te ti sc dc li1x v13foo on dn _ 0 1 9 v i z Lf3f800000E LDnE
	LUlvE_E LA3_cE L_Z1fvE LZ1fvE TV TI Th_ Tv0_n8_ GR GV TC TW .x Ua9enable_if Ts Te DB8_ DF16_ Dv4_ Dv_ Dk DK G C 1a 2ab
	d_ d0_ s _1 __12_ DC1a1bE U9objcproto1A`)

// mutate changes a name at up to three places: it removes bytes, or inserts pieces or parts of the same or another name.
func mutate(r *rand.Rand, names []string) string {
	s := names[r.IntN(len(names))]
	part := func(of string) string {
		from := r.IntN(len(of))
		return of[from:min(len(of), from+1+r.IntN(20))]
	}
	for range 1 + r.IntN(3) {
		at := min(len(s), 2+r.IntN(len(s)))
		before, after, piece := s[:at], s[at:], pieces[r.IntN(len(pieces))]
		switch r.IntN(6) {
		case 0:
			s = before + after[min(len(after), 1+r.IntN(3)):]
		case 1, 2:
			s = before + piece + after
		case 3:
			s = before + piece + after[min(len(after), len(piece)):]
		case 4:
			s = before + part(s) + after
		default:
			s = before + part(names[r.IntN(len(names))]) + after
		}
	}
	return s
}

// madeUp returns random names: half of them are mutated, half are derived from the grammar.
func madeUp(t testing.TB, seed uint64, count int) []string {
	r := rand.New(rand.NewPCG(seed, 0))
	real := realNames(t)
	names := make([]string, 0, count)
	for len(names) < count {
		name := mutate(r, real)
		if len(names)%2 == 0 {
			name = derive(r)
		}
		if oneWord(name) && len(name) <= maxName {
			names = append(names, name)
		}
	}
	return names
}

// TestMadeUp compares random names with llvm.
func TestMadeUp(t *testing.T) { compare(t, madeUp(t, 1, 20_000)) }

// FuzzPeer compares random names with llvm; each seed is a batch of names.
func FuzzPeer(f *testing.F) {
	f.Add(uint64(2))
	f.Fuzz(func(t *testing.T, seed uint64) { compare(t, madeUp(t, seed, 2000)) })
}

// TestTables compares the symbols of large programs and libraries, where they are installed.
func TestTables(t *testing.T) {
	for _, pattern := range []string{
		"/usr/lib/*-linux-gnu/libclang-cpp.so.*", "/usr/lib/*-linux-gnu/debug/libstdc++.so.6", "/usr/lib/llvm-22/lib/libLLVM.so.22*",
		"/usr/bin/ceph-osd", "/usr/bin/gdb", "/usr/lib/jvm/*/lib/server/libjvm.so",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			t.Run(path, func(t *testing.T) { compare(t, tableNames(t, path)) })
		}
	}
}

// tableNames returns the C++ names in the symbol tables of a file.
func tableNames(t *testing.T, path string) (names []string) {
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	full, _ := f.Symbols() // usually missing
	dynamic, _ := f.DynamicSymbols()
	for _, s := range append(full, dynamic...) {
		if strings.HasPrefix(s.Name, "_Z") && oneWord(s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		t.Skip("no C++ names")
	}
	return names
}
