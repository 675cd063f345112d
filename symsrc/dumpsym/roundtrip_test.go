package dumpsym

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/breakpad"
	"qss-filter/symsrc/object"
)

// oneFile finds the file that a module is called, and beside it perhaps a debug file.
type oneFile struct{ debug string }

func (f oneFile) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	files := &symsrc.Files{Elf: m.Name, Debug: f.debug, Unverified: true}
	if f.debug == "" {
		files.DebugStatus = symsrc.Incomplete
	}
	return files
}

// dump writes the symbols of a program.
func dump(t testing.TB, finder symsrc.Finder, path string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(context.Background(), finder, symsrc.Module{Name: path}, "", &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// chain is the text of an answer that both formats can hold: a Breakpad file has no columns, and no file without a line record.
func chain(frames []symsrc.Frame) string {
	var b strings.Builder
	for _, f := range frames {
		if f.Origin == symsrc.SymbolOnly || f.Origin == symsrc.SymbolInUnit { // that of the symbol table
			f.File = ""
		}
		if f.File == "" { // a call from no file
			f.Line = 0
		}
		fmt.Fprintf(&b, "%s %s:%d %v\n", f.Func, f.File, f.Line, f.Approx)
	}
	return b.String()
}

// roundTrip compares the engine's answers with those of the file dumped from them, for addresses of the code.
func roundTrip(t *testing.T, finder symsrc.Finder, path string, step uint64) {
	t.Helper()
	file, err := breakpad.New(dump(t, finder, path), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	src := object.NewSource(finder)
	defer src.Close()
	of, err := src.Describe(t.Context(), symsrc.Module{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	asked, named, inlined, guesses, nameless, bad := 0, 0, 0, 0, 0, 0
	for _, s := range e.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		for addr := s.Addr; addr < s.Addr+s.Size; addr += step {
			want := src.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: addr}).Frames
			got, err := file.Frames(addr - of.Base)
			if err != nil {
				t.Fatal(err)
			}
			asked++
			named += min(len(want), 1)
			inlined += max(len(want)-1, 0)
			if a, b := chain(got), chain(want); a != b {
				if len(want) == 1 && want[0].Line == 0 && want[0].Origin != symsrc.DebugOnly && len(got) == 0 {
					guesses++ // a label, whose end nothing tells
				} else if len(want) == 1 && want[0].Func == "" && len(got) == 0 {
					nameless++
				} else if bad++; bad < 10 {
					t.Errorf("%s: %#x:\n got %swant %s", path, addr, a, b)
				}
			}
		}
	}
	t.Logf("%s: %d addresses, %d named, %d inlined calls, %d behind labels, %d of no function, %d differ", filepath.Base(path), asked, named, inlined, guesses, nameless, bad)
	if asked == 0 || bad > 0 {
		t.Errorf("%d of %d differ", bad, asked)
	}
}

// TestRoundTripSamples dumps the small programs of the repository, of many compilers and machines.
func TestRoundTripSamples(t *testing.T) {
	paths, err := filepath.Glob("../object/testdata/*.elf")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	more, _ := filepath.Glob("../../testdata/rootfs/usr/apps/*/*")
	for _, path := range append(paths, more...) {
		e, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		e.Close()
		id := e.Section(".note.gnu.build-id")
		if e.Type == elf.ET_REL || id == nil {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, oneFile{}, path, 1)
	}
}

// TestRoundTripLibc dumps the C library with its debug file.
func TestRoundTripLibc(t *testing.T) {
	const lib = "/lib/x86_64-linux-gnu/libc.so.6"
	debug := debugFile(lib)
	if debug == "" {
		t.Skip("the debug file of libc is not installed (Debian: libc6-dbg)")
	}
	roundTrip(t, oneFile{debug}, lib, 7)
}

// debugFile is the debug file of a system library, "" where it is not installed.
func debugFile(lib string) string {
	f, err := object.Open(lib)
	if err != nil {
		return ""
	}
	defer f.Close()
	id := f.BuildID().String()
	path := "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// TestRoundTripCPlusPlus dumps a C++ program with many inlined calls, of each compiler that is there, linked in each way.
func TestRoundTripCPlusPlus(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.cpp")
	const text = `#include <algorithm>
#include <map>
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
    order.emplace_back(list.size(), name);
  std::sort(order.begin(), order.end());
  return order[0].second.size();
}
`
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, command := range []string{"clang++-22 -O2", "g++ -O2 -ffunction-sections -gdwarf-4", "clang++-22 -O1 -no-pie -fno-pie -fuse-ld=lld"} {
		words := strings.Fields(command)
		if _, err := exec.LookPath(words[0]); err != nil {
			t.Logf("%s is not installed", words[0])
			continue
		}
		program := filepath.Join(dir, fmt.Sprint("main", i))
		if out, err := exec.Command(words[0], append(words[1:], "-std=c++20", "-g", "-Wl,--build-id=sha1", "-o", program, source)...).CombinedOutput(); err != nil {
			t.Logf("%s: %v\n%s", command, err, out)
			continue
		}
		roundTrip(t, oneFile{}, program, 1)
	}
}
