package object

import (
	"bytes"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

var update = flag.Bool("update", false, "rebuild testdata with gcc, clang-22 and llvm-symbolizer-22")

// build is one way to build an ELF file from the sources in testdata/src.
type build struct {
	name     string
	compiler string
	flags    string
	then     string                                                           // a command to run on the file; its last argument is the path
	make     func(t *testing.T, b *build, out, prefix string) (oracle string) // builds the file in place of the compiler
	beside   string                                                           // the file in testdata that the debug information refers to
	base     uint64                                                           // what has to be added to addresses in the file that make returns
	decoded  string                                                           // a command to convert the file for the oracle; its last arguments are both paths
}

const freestanding = "-ffreestanding -nostdlib -fno-rtti -fno-exceptions -fno-stack-protector -w shapes.cpp other.cpp"

// run builds the file at out with additional compiler flags.
func (b *build) run(t *testing.T, out string, extra ...string) {
	t.Helper()
	need(t, b.compiler)
	args := append(strings.Fields(b.flags), strings.Fields(freestanding)...)
	command(t, b.compiler, append(append(args, extra...), "-o", out)...)
	if then := strings.Fields(b.then); len(then) > 0 {
		need(t, then[0])
		command(t, then[0], append(then[1:], out)...)
	}
}

// oracle returns the path of the file that the oracle reads in place of path.
func (b *build) oracle(t *testing.T, path string) string {
	t.Helper()
	decoded := strings.Fields(b.decoded)
	if len(decoded) == 0 {
		return path
	}
	command(t, decoded[0], append(decoded[1:], path, path+".decoded")...)
	return path + ".decoded"
}

// command runs a command in testdata/src.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join("testdata", "src")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// need skips the test if one of the programs is not installed.
func need(t testing.TB, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
		if p == "rustc" { // a proxy of rustup may be there alone
			if err := exec.Command(p, "--version").Run(); err != nil {
				t.Skipf("%s does not run: %v", p, err)
			}
		}
	}
}

// codeAddresses returns every step-th address of the executable sections.
func codeAddresses(t testing.TB, path string, step uint64) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR == 0 || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		for a := s.Addr; a < s.Addr+s.Size; a += step {
			addrs = append(addrs, a)
		}
	}
	return addrs
}

// symbolizer returns the answers of llvm-symbolizer-22 for addresses, in the form of render.
func symbolizer(t testing.TB, path string, addrs []uint64) []string {
	t.Helper()
	need(t, "llvm-symbolizer-22")
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := exec.Command("llvm-symbolizer-22", "--obj="+path, "--output-style=LLVM", "--inlines", "--no-demangle", "--no-debuginfod")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n\n"), "\n\n")
	if len(answers) != len(addrs) {
		t.Fatalf("%d answers for %d addresses", len(answers), len(addrs))
	}
	for i, a := range answers {
		lines := strings.Split(a, "\n")
		var frames []string
		for j := 0; j+1 < len(lines); j += 2 {
			frames = append(frames, lines[j]+" "+lines[j+1])
		}
		answers[i] = strings.Join(frames, " < ")
	}
	return answers
}

// render returns frames with linkage names on one line: `inner file:line:column < outer file:line:column`.
func render(frames []symsrc.Frame) string {
	if len(frames) == 0 {
		return "?? ??:0:0"
	}
	var b strings.Builder
	for i, f := range frames {
		if i > 0 {
			b.WriteString(" < ")
		}
		line := f.Line
		if f.Approx {
			line = 0 // as in llvm
		}
		fmt.Fprintf(&b, "%s %s:%d:%d", orUnknown(f.Linkage), orUnknown(f.File), line, f.Column)
	}
	return b.String()
}

func orUnknown(s string) string {
	if s == "" {
		return "??"
	}
	return s
}

// open opens a file until the end of the test.
func open(t testing.TB, path string) *File {
	t.Helper()
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// openAsLLVM is open with llvmPolicy.
func openAsLLVM(t testing.TB, path string) *File {
	t.Helper()
	f, err := openWith(path, symsrc.Range{}, &llvmPolicy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
