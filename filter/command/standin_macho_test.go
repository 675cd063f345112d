package command_test

import (
	"bytes"
	"debug/macho"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fatDSYM makes the dSYM of a program of two architectures.
func fatDSYM(t *testing.T) string {
	t.Helper()
	for _, tool := range [...]string{"clang-22", "ld64.lld-22", "dsymutil-22", "llvm-lipo-22", "llvm-symbolizer-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	var code strings.Builder
	for i := range 150 {
		fmt.Fprintf(&code, "static inline __attribute__((always_inline)) int in%[1]d(int a, int b) {\n  int r = a * %[2]d;\n  if (b > %[1]d) r += b;\n  return r ^ (b | 1);\n}\n"+
			"template <class T> struct V%[1]d { __attribute__((noinline)) T get(T x) { T s = 0;\n for (T i = 0; i < x; i++) s += in%[1]d(i, s);\n return s; } };\n"+
			"int f%[1]d(int x) { V%[1]d<int> v;\n  return v.get(x) +\n    in%[1]d(x, 3); }\n", i, i+3)
	}
	code.WriteString("int main() { return 0; }\n")
	if err := os.WriteFile(filepath.Join(dir, "a.cpp"), []byte(code.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arch := range [...]string{"x86_64", "arm64"} {
		run("clang-22", "--target="+arch+"-apple-macos11", "-O1", "-g", "-c", "a.cpp", "-o", arch+".o")
		run("ld64.lld-22", "-arch", arch, "-platform_version", "macos", "11.0", "11.0", "-e", "_main", "-undefined", "dynamic_lookup", arch+".o", "-o", arch)
		run("dsymutil-22", "--flat", arch, "-o", arch+".dwarf")
	}
	dsym := filepath.Join(dir, "prog.dSYM", "Contents", "Resources", "DWARF", "prog")
	if err := os.MkdirAll(filepath.Dir(dsym), 0o700); err != nil {
		t.Fatal(err)
	}
	run("llvm-lipo-22", "-create", "x86_64.dwarf", "arm64.dwarf", "-output", dsym)
	return dsym
}

// codeOf returns addresses in the code of an architecture.
func codeOf(t *testing.T, fat, arch string, count int) (addrs []uint64) {
	t.Helper()
	f, err := macho.OpenFat(fat)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := rand.New(rand.NewPCG(39, 5))
	for _, a := range f.Arches {
		if (a.Cpu == macho.CpuAmd64) == (arch == "x86_64") {
			s := a.Section("__text")
			for range count {
				addrs = append(addrs, s.Addr+r.Uint64N(s.Size))
			}
		}
	}
	return addrs
}

// TestStandInDarwin compares at least 20,000 answers for files of several architectures with those of llvm-symbolizer-22, for addresses of code. It
// names code for data and headers, too, by the symbol before these.
func TestStandInDarwin(t *testing.T) {
	dsym := fatDSYM(t)
	t.Run("atos", func(t *testing.T) { standInAtos(t, dsym) })
	for _, arch := range [...]string{"x86_64", "arm64"} {
		// Padding, which llvm-symbolizer names by the symbol before it, is no function's for certain where no list says where functions start.
		var addrs []uint64
		all := codeOf(t, dsym, arch, 30000)
		for i, chain := range jsonChains(t, dsym+":"+arch, all) {
			if chain[0].FileName != "" {
				addrs = append(addrs, all[i])
			}
		}
		if len(addrs) < 20000 {
			t.Fatalf("%s: %d of %d addresses have a line", arch, len(addrs), len(all))
		}
		for _, args := range [...][]string{
			{"--obj=" + dsym, "--default-arch=" + arch},
			{"--obj=" + dsym + ":" + arch},
			{"--obj=" + dsym + ":" + arch, "--output-style=JSON"},
			{"--obj=" + dsym, "--default-arch=" + arch, "--output-style=GNU", "-f", "-i", "-a"},
		} {
			var in bytes.Buffer
			for _, a := range addrs {
				fmt.Fprintf(&in, "%#x\n", a)
			}
			answer := func(cmd *exec.Cmd) []string {
				t.Helper()
				cmd.Stdin = bytes.NewReader(in.Bytes())
				out, err := cmd.Output()
				if err != nil {
					t.Fatal(cmd, err)
				}
				return strings.Split(string(out), "\n")
			}
			got, want := answer(startTool(t, "llvm-symbolizer", args...)), answer(exec.Command("llvm-symbolizer-22", append(args, "--no-debuginfod")...))
			if !slices.Equal(got, want) {
				t.Errorf("%v: %d and %d lines, not the same", args, len(got), len(want))
				for i := range min(len(got), len(want)) {
					if got[i] != want[i] {
						t.Errorf("line %d: %s, want %s", i, got[i], want[i])
						break
					}
				}
			}
		}
	}
}

// standInAtos compares 20,000 answers of atos with what llvm-symbolizer-22 says of the same addresses, which atos writes in other words.
func standInAtos(t *testing.T, dsym string) {
	t.Helper()
	thin := filepath.Join(dsym, "..", "..", "..", "..", "..", "arm64.dwarf")
	for _, c := range [...]struct {
		arch string
		ok   bool
	}{{"arm64", true}, {"arm64e", true}, {"x86_64", false}} {
		out, err := startTool(t, "atos", "-o", thin, "-arch", c.arch, "0x100001000").CombinedOutput()
		if (err == nil) != c.ok || bytes.Contains(out, []byte("is for arm64, not for x86_64")) == c.ok {
			t.Errorf("a file for arm64, as one for %s: %v\n%s", c.arch, err, out)
		}
	}
	for _, arch := range [...]string{"x86_64", "arm64"} {
		addrs := codeOf(t, dsym, arch, 20000)
		const image, load = 0x100000000, 0x104f8c000
		chains := jsonChains(t, dsym+":"+arch, addrs)
		for _, c := range []struct {
			flags   []string
			add     uint64
			inlines bool
			full    bool
		}{
			{flags: nil},
			{flags: []string{"-l", "0x104f8c000"}, add: load - image},
			{flags: []string{"-s", "0x4f8c000"}, add: load - image},
			{flags: []string{"-offset", "-i"}, add: -image & (1<<64 - 1), inlines: true},
			{flags: []string{"-i", "-fullPath", "-l", "104f8c000"}, add: load - image, inlines: true, full: true},
		} {
			var in, want strings.Builder
			for i, a := range addrs {
				fmt.Fprintf(&in, "%#x\n", a+c.add)
				chain := chains[i]
				if !c.inlines {
					chain = chain[len(chain)-1:]
				}
				for _, f := range chain {
					if start, err := strconv.ParseUint(strings.TrimPrefix(f.StartAddress, "0x"), 16, 64); err == nil && f.FileName == "" { // padding
						fmt.Fprintf(&want, "%s (in prog) + %d\n", f.FunctionName, a-start)
						continue
					}
					file := f.FileName
					if !c.full {
						file = path.Base(file)
					}
					fmt.Fprintf(&want, "%s (in prog) (%s:%d)\n", f.FunctionName, file, f.Line)
				}
			}
			cmd := startTool(t, "atos", append([]string{"-o", dsym, "-arch", arch}, c.flags...)...)
			cmd.Stdin = strings.NewReader(in.String())
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			got, wanted := strings.Split(string(out), "\n"), strings.Split(want.String(), "\n")
			bad := 0
			for i := range min(len(got), len(wanted)) {
				if got[i] != wanted[i] && !(strings.Contains(wanted[i], "(in prog) + ") && strings.HasPrefix(got[i], "0x")) {
					if bad++; bad <= 3 {
						t.Errorf("%s %v: line %d: %s, want %s", arch, c.flags, i, got[i], wanted[i])
					}
				}
			}
			if bad > 0 || len(got) != len(wanted) {
				t.Errorf("%s %v: %d lines, %d wanted, %d differ", arch, c.flags, len(got), len(wanted), bad)
			}
		}
	}
}

// jsonFrame is a frame of llvm-symbolizer's.
type jsonFrame struct {
	FunctionName, FileName, StartAddress string
	Line                                 int
}

// jsonChains returns what llvm-symbolizer-22 says of addresses of a file.
func jsonChains(t *testing.T, file string, addrs []uint64) (chains [][]jsonFrame) {
	t.Helper()
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer-22", "--no-debuginfod", "--output-style=JSON", "--obj="+file)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var answer struct{ Symbol []jsonFrame }
		if err := json.Unmarshal([]byte(line), &answer); err != nil || len(answer.Symbol) == 0 {
			t.Fatal(line, err)
		}
		chains = append(chains, answer.Symbol)
	}
	if len(chains) != len(addrs) {
		t.Fatal(len(chains), len(addrs))
	}
	return chains
}
