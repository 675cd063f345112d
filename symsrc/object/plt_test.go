package object

import (
	"debug/elf"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// stubBuilds are the forms of the procedure linkage table, and the disassemblers that support them.
var stubBuilds = []struct {
	name, compiler, flags, objdump string
	stubs                          int
}{
	{"x86-64", "gcc", "-nostdlib -shared", "objdump", 3},
	{"x86-64 CET", "gcc", "-nostdlib -shared -fcf-protection=full -Wl,-z,ibtplt", "objdump", 3},
	{"x86-64 bound at the start", "gcc", "-nostdlib -shared -Wl,-z,now", "objdump", 3},
	{"x86-64 bound at the start, CET", "gcc", "-nostdlib -shared -fcf-protection=full -Wl,-z,now -Wl,-z,ibtplt", "objdump", 3},
	{"x86-64 program", "gcc", "-nostartfiles -no-pie -fno-pie -Wl,-e,exported", "objdump", 3},
	{"x86-64 lld", "clang-22", "-nostdlib -shared -fuse-ld=lld", "objdump", 3},
	{"x86-64 lld CET", "clang-22", "-nostdlib -shared -fuse-ld=lld -fcf-protection=full -Wl,-z,force-ibt", "objdump", 3},
	{"i386 lld", "clang-22", "--target=i686-linux-gnu -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"i386", "gcc", "-m32 -nostdlib -shared -fcf-protection=none", "objdump", 3},
	{"i386 CET", "gcc", "-m32 -nostdlib -shared -fcf-protection=full -Wl,-z,ibtplt", "objdump", 3},
	{"i386 bound at the start", "gcc", "-m32 -nostdlib -shared -fcf-protection=none -Wl,-z,now", "objdump", 3},
	{"i386 program lld", "clang-22", "--target=i686-linux-gnu -fno-pic -nostdlib -no-pie -Wl,-e,exported -fuse-ld=lld LIB", "llvm-objdump-22", 3},
	{"AArch64", "aarch64-linux-gnu-gcc", "-nostdlib -shared", "aarch64-linux-gnu-objdump", 3},
	{"AArch64 BTI", "aarch64-linux-gnu-gcc", "-nostdlib -shared -mbranch-protection=standard -Wl,-z,force-bti", "aarch64-linux-gnu-objdump", 3},
	{"AArch64 PAC", "aarch64-linux-gnu-gcc", "-nostdlib -shared -Wl,-z,pac-plt", "aarch64-linux-gnu-objdump", 3},
	{"AArch64 program", "aarch64-linux-gnu-gcc", "-nostartfiles -no-pie -fno-pie -mbranch-protection=standard -Wl,-z,force-bti -Wl,-e,exported", "aarch64-linux-gnu-objdump", 3},
	{"AArch64 lld", "clang-22", "--target=aarch64-linux-gnu -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"AArch64 lld, BTI and PAC", "clang-22", "--target=aarch64-linux-gnu -nostdlib -shared -fuse-ld=lld -mbranch-protection=standard -Wl,-z,force-bti -Wl,-z,pac-plt", "llvm-objdump-22", 3},
	{"AArch64 big", "clang-22", "--target=aarch64_be-linux-gnu -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"ARM lld", "clang-22", "--target=armv7a-linux-gnueabi -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"Thumb lld", "clang-22", "--target=armv7a-linux-gnueabi -mthumb -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"ARM", "arm-linux-gnueabi-gcc", "-nostdlib -shared -marm", "arm-linux-gnueabi-objdump", 3},
	{"ARM, long", "arm-linux-gnueabi-gcc", "-nostdlib -shared -marm -Wl,--long-plt", "arm-linux-gnueabi-objdump", 3},
	{"Thumb", "arm-linux-gnueabihf-gcc", "-nostdlib -shared -mthumb", "arm-linux-gnueabihf-objdump", 3},
	{"RISC-V 64", "riscv64-linux-gnu-gcc", "-nostdlib -shared", "riscv64-linux-gnu-objdump", 3},
	{"s390x", "s390x-linux-gnu-gcc", "-nostdlib -shared", "s390x-linux-gnu-objdump", 3},
	{"RISC-V 64 lld", "clang-22", "--target=riscv64-linux-gnu -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
	{"RISC-V 32 lld", "clang-22", "--target=riscv32-linux-gnu -nostdlib -shared -fuse-ld=lld", "llvm-objdump-22", 3},
}

// TestStubs compares with the labels that disassemblers print before stubs. A stub extends to the next label.
func TestStubs(t *testing.T) {
	for _, b := range stubBuilds {
		t.Run(b.name, func(t *testing.T) {
			need(t, b.compiler, b.objdump)
			path := filepath.Join(t.TempDir(), "a.so")
			flags, linked := strings.CutSuffix(b.flags, " LIB")
			args := append([]string{"-O1", "-w", "-fPIC", "-fno-builtin"}, strings.Fields(flags)...)
			args = append(args, "-o", path, source(t, "calls.c", callsSource))
			if linked { // with a library that defines the functions
				lib := filepath.Join(t.TempDir(), "lib.so")
				command(t, b.compiler, append(strings.Fields(flags), "-shared", "-o", lib, source(t, "lib.c", "void puts(){} void atoi(){} void malloc(){}"))...)
				args = append(args, lib)
			}
			command(t, b.compiler, args...)
			labels := stubLabels(t, b.objdump, path)
			f := open(t, path)
			named := make(map[string]bool)
			for _, a := range stubAddresses(t, path) {
				want, instruction := labels[a]
				if !instruction {
					continue
				}
				got := f.Code(a)
				known := want != ""
				switch {
				case known && (len(got) != 1 || got[0].Linkage != want || got[0].Func != want):
					t.Errorf("%#x: %+v, want %s", a, got, want)
				case !known && len(got) > 0:
					t.Errorf("%#x: %+v, but %s has no label there", a, got, b.objdump)
				case known:
					named[want] = true
				}
			}
			if len(named) != b.stubs {
				t.Errorf("%d stubs, want %d", len(named), b.stubs)
			}
		})
	}
}

// stubLabels returns the name of the stub for the address of each instruction, from the label before it, or "".
func stubLabels(t *testing.T, objdump, path string) map[uint64]string {
	t.Helper()
	out, err := exec.Command(objdump, "-d", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	label := regexp.MustCompile(`^([0-9a-f]+) <(.*)>:$`)
	line := regexp.MustCompile(`^ *([0-9a-f]+):`)
	labels := make(map[uint64]string)
	name := ""
	for l := range strings.Lines(string(out)) {
		l = strings.TrimSuffix(l, "\n")
		if strings.HasPrefix(l, "Disassembly of section") {
			name = ""
		} else if m := label.FindStringSubmatch(l); m != nil {
			if name = m[2]; !strings.HasSuffix(name, "@plt") {
				name = ""
			}
		} else if m := line.FindStringSubmatch(l); m != nil {
			a, err := strconv.ParseUint(m[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			labels[a] = name
		}
	}
	return labels
}

// stubAddresses returns all addresses of the sections with stubs.
func stubAddresses(t *testing.T, path string) (addrs []uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".plt") {
			for a := s.Addr; a < s.Addr+s.Size; a++ {
				addrs = append(addrs, a)
			}
		}
	}
	return addrs
}

// TestStubsProgram checks the stubs of a program with a symbol without a size before them (_init), after which llvm names them, and with
// a C++ name.
func TestStubsProgram(t *testing.T) {
	need(t, "g++")
	path := filepath.Join(t.TempDir(), "a.out")
	command(t, "g++", "-O0", "-o", path, source(t, "new.cpp", "int main(int c, char **) { return *new int(c); }"))
	addrs := stubAddresses(t, path)
	f := open(t, path)
	operator := 0
	for _, a := range addrs {
		for _, fr := range f.Code(a) {
			switch {
			case !strings.HasSuffix(fr.Func, "@plt"):
				t.Errorf("%#x: %+v", a, fr)
			case fr.Linkage == "_Znwm@plt" && fr.Func == "operator new(unsigned long)@plt":
				operator++
			}
		}
	}
	if operator == 0 {
		t.Error("operator new is not named")
	}
	f = openAsLLVM(t, path)
	for i, want := range symbolizer(t, path, addrs) {
		if got := render(f.Code(addrs[i])); got != want {
			t.Errorf("%#x with llvmPolicy: %s, want %s", addrs[i], got, want)
		}
	}
}

// TestStubsDamaged damages a file and looks up its stubs.
func TestStubsDamaged(t *testing.T) {
	need(t, "gcc")
	path := filepath.Join(t.TempDir(), "a.so")
	command(t, "gcc", "-O1", "-w", "-fPIC", "-shared", "-nostdlib", "-s", "-o", path, source(t, "calls.c", callsSource))
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	addrs := stubAddresses(t, path)
	r := rand.New(rand.NewPCG(7, 8))
	for range *mutations * 5 {
		if err := readAll(damage(r, good), nil, addrs); err != nil {
			t.Fatal(err)
		}
	}
}
