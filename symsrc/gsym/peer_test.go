package gsym

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

const peer = "llvm-gsymutil-22"

// needPeer skips the test if the peer is not installed.
func needPeer(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath(peer); err != nil {
		t.Skip(peer + " is not installed (Debian: llvm-22)")
	}
}

// convert converts a program to a GSYM file and returns its path.
func convert(t *testing.T, program string) string {
	t.Helper()
	needPeer(t)
	path := filepath.Join(t.TempDir(), "out.gsym")
	if out, err := exec.Command(peer, "--convert="+program, "--out-file="+path, "--quiet", "--num-threads=1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// ask returns the lines that the peer prints for each address.
func ask(t *testing.T, path string, addrs []uint64) [][]string {
	t.Helper()
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x %s\n", a, path)
	}
	cmd := exec.Command(peer, "--addresses-from-stdin")
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var answers [][]string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSuffix(line, "\n")
		if addr, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(line, "0x") && len(addr) == 18 {
			answers = append(answers, nil)
			line = rest
		}
		if line = strings.TrimSpace(line); line != "" && len(answers) > 0 {
			answers[len(answers)-1] = append(answers[len(answers)-1], line)
		}
	}
	if len(answers) != len(addrs) {
		t.Fatalf("%d answers for %d addresses", len(answers), len(addrs))
	}
	return answers
}

// parseFrame parses a frame as the peer prints it: `name + offset @ dir/base:line [inlined]`.
func parseFrame(line string) symsrc.Frame {
	line = strings.TrimSuffix(line, " [inlined]")
	name, place, _ := strings.Cut(line, " @ ")
	if at := strings.LastIndex(name, " + "); at > 0 {
		name = name[:at]
	}
	f := symsrc.Frame{Linkage: name}
	if at := strings.LastIndexByte(place, ':'); at > 0 {
		f.File = place[:at]
		fmt.Sscan(place[at+1:], &f.Line)
	}
	return f
}

// compare compares the answers of both readers. It ignores the peer's answers after the last symbol, whose end is unknown.
func compare(t *testing.T, path string, addrs []uint64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := New(data)
	if err != nil {
		t.Fatal(err)
	}
	bad, named, inlined := 0, 0, 0
	for i, want := range ask(t, path, addrs) {
		got, err := f.Frames(addrs[i])
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 0 && (strings.HasPrefix(want[0], "error:") || addrs[i] > f.addr(f.count-1)) {
			continue
		}
		if len(got) == 1 && got[0].Line == 0 && strings.Contains(want[0], "is not in the line table") {
			continue // here the answer is the function without a line
		}
		named++
		inlined += max(len(got)-1, 0)
		var a, b []symsrc.Frame
		for _, line := range want {
			a = append(a, parseFrame(line))
		}
		for _, fr := range got {
			b = append(b, symsrc.Frame{Linkage: fr.Linkage, File: fr.File, Line: fr.Line})
		}
		if fmt.Sprint(a) != fmt.Sprint(b) {
			if bad++; bad < 10 {
				t.Errorf("%#x:\n got %+v\nwant %q", addrs[i], got, want)
			}
		}
	}
	t.Logf("%d addresses, %d named, %d inlined calls, %d differ", len(addrs), named, inlined, bad)
}

// addresses returns some addresses of each function of a program.
func addresses(t *testing.T, path string, each int) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Section == elf.SHN_UNDEF {
			continue
		}
		for k := range uint64(each) {
			addrs = append(addrs, s.Value+k*max(s.Size, 1)/uint64(each))
		}
		addrs = append(addrs, s.Value+s.Size)
	}
	return addrs
}

// TestPeerSmall compares every address of the test programs.
func TestPeerSmall(t *testing.T) {
	needPeer(t)
	for name, low := range map[string]uint64{"testdata/inline.gsym": 0x1600, "testdata/fixed.gsym": 0x201500} {
		var addrs []uint64
		for a := low; a < low+0x400; a++ {
			addrs = append(addrs, a)
		}
		compare(t, name, addrs)
	}
}

// TestPeerLibc compares functions of the C library.
func TestPeerLibc(t *testing.T) {
	const lib = "/lib/x86_64-linux-gnu/libc.so.6"
	debug := debugFile(lib)
	if debug == "" {
		t.Skip("the debug file of libc is not installed (Debian: libc6-dbg)")
	}
	compare(t, convert(t, debug), addresses(t, debug, 4))
}

// TestPeerCPlusPlus compares a heavily inlined C++ program.
func TestPeerCPlusPlus(t *testing.T) {
	program := build(t)
	compare(t, convert(t, program), addresses(t, program, 40))
}

// debugFile returns the path of the debug file of a system library, or "" if it is not installed.
func debugFile(lib string) string {
	f, err := elf.Open(lib)
	if err != nil {
		return ""
	}
	defer f.Close()
	note := f.Section(".note.gnu.build-id")
	if note == nil {
		return ""
	}
	data, err := note.Data()
	if err != nil || len(data) < 18 {
		return ""
	}
	path := fmt.Sprintf("/usr/lib/debug/.build-id/%x/%x.debug", data[16:17], data[17:])
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// build compiles a C++ program with many inlined calls.
func build(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("clang++-22"); err != nil {
		t.Skip("clang++-22 is not installed (Debian: clang-22)")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "main.cpp")
	text := `#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>
int main(int argc, char **argv) {
  std::map<std::string, std::vector<int>> all;
  std::istringstream in(argv[0]);
  for (std::string s; std::getline(in, s, '/');)
    all[s].push_back(argc);
  std::vector<std::pair<int, std::string>> order;
  for (auto &[name, list] : all)
    order.emplace_back(std::accumulate(list.begin(), list.end(), 0), name);
  std::sort(order.begin(), order.end());
  return order[0].second.size();
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "main")
	if out, err := exec.Command("clang++-22", "-std=c++20", "-O2", "-g", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("clang++-22 cannot build C++ here: %v\n%s", err, out)
	}
	return program
}
