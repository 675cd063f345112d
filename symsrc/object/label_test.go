package object_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/locate"
	"qss-filter/symsrc/object"
)

// labeledSource has a function with labels in it, and a label that stands alone.
const labeledSource = `
volatile int V;
__attribute__((noinline)) int labeled(int a) {
  V += a;
  __asm__ volatile("inner_label: nop");
  V *= a;
  __asm__ volatile(".globl outer_label\nouter_label: nop");
  return V ^ 5;
}
__asm__(".section .text.alone,\"ax\"\nalone: .globl alone\nnop\nnop\n.text");
int main(int c, char **v) { return labeled(c); }
`

// TestLabels names code after labels within functions as eu-addr2line does: after the function. Compilers emit such labels for MIPS16,
// and authors in inline assembly.
func TestLabels(t *testing.T) {
	for _, command := range [][]string{{"gcc", "-O1"}, {"gcc", "-O1", "-g"}, {"clang-22", "-O2", "-g"}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.out")
		cmd := exec.Command(command[0], append(command[1:], "-x", "c", "-", "-o", path)...)
		cmd.Stdin = strings.NewReader(labeledSource)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%v is skipped: %v: %s", command, err, out)
			continue
		}
		start := functions(t, path)["labeled"]
		if start.Size < 10 {
			t.Fatalf("%v: %+v", command, start)
		}
		found, err := locate.New(locate.Options{Objects: []string{path}})
		if err != nil {
			t.Fatal(err)
		}
		all := object.NewSource(found)
		defer all.Close()
		got := all.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Symbol: "alone", Offset: 1}).Frames
		if len(got) != 1 || got[0].Func != "alone" {
			t.Errorf("%v: a label outside of functions is %+v", command, got)
		}
		for addr := start.Value - 4; addr < start.Value+start.Size+4; addr++ {
			out, err := exec.Command("eu-addr2line", "-f", "-e", path, fmt.Sprintf("%#x", addr)).Output()
			if err != nil {
				t.Skip("eu-addr2line:", err)
			}
			want, _, _ := strings.Cut(string(out), "\n")
			first := object.NewSource(found)
			for _, src := range []*object.Source{first, all} {
				frames := src.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: addr}).Frames
				name := "??"
				if len(frames) > 0 && frames[0].Func != "" {
					name = frames[0].Func
				}
				if name != want && (name != "??" || addr-start.Value < start.Size) { // eu-addr2line also names what comes before a function
					t.Errorf("%v: %#x is %s, want %s", command, addr, name, want)
				}
			}
			first.Close()
		}
	}
}

// TestStrippedFunction removes the symbol of a function. The symbol before it, of the C library's start files, has no size, and is not
// the function's: its name is in the debug information, or unknown where that is missing.
func TestStrippedFunction(t *testing.T) {
	for _, command := range [][]string{{"gcc", "-g"}, {"gcc", "-gdwarf-4"}, {"clang-22", "-g"}, {"gcc", "-g", "-gsplit-dwarf"}, {"clang-22", "-g", "-gsplit-dwarf"}} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.out")
		cmd := exec.Command(command[0], append(command[1:], "-O1", "-x", "c", "-", "-c", "-o", "a.o")...)
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(labeledSource)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("%v is skipped: %v: %s", command, err, out)
			continue
		}
		if out, err := exec.Command("gcc", filepath.Join(dir, "a.o"), "-o", path).CombinedOutput(); err != nil {
			t.Skipf("gcc: %v: %s", err, out)
		}
		s := functions(t, path)["labeled"]
		if out, err := exec.Command("objcopy", "--strip-symbol=labeled", path).CombinedOutput(); err != nil {
			t.Skipf("objcopy: %v: %s", err, out)
		}
		names := func() map[string]bool {
			found, err := locate.New(locate.Options{Objects: []string{path}})
			if err != nil {
				t.Fatal(err)
			}
			src := object.NewSource(found)
			defer src.Close()
			all := make(map[string]bool)
			for i := range s.Size {
				for _, f := range src.Frames(t.Context(), symsrc.Addr{Module: symsrc.Module{Name: path}, Offset: s.Value + i}).Frames {
					all[f.Func] = true
				}
			}
			return all
		}
		if got := names(); len(got) != 1 || !got["labeled"] {
			t.Errorf("%v: the names are %v", command, got)
		}
		split, err := filepath.Glob(filepath.Join(dir, "*.dwo"))
		if err != nil || len(split) == 0 {
			continue
		}
		for _, name := range split {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
		}
		for name := range names() {
			if name != "" && name != "inner_label" && name != "outer_label" {
				t.Errorf("%v: without its .dwo file, a name is %q", command, name)
			}
		}
	}
}
