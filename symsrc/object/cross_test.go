package object

import (
	"os"
	"path/filepath"
	"testing"
)

// crossBuilds are builds with Debian's cross compilers, gcc and the linker of binutils: other machines, word sizes and byte orders.
var crossBuilds = []build{
	{name: "aarch64", compiler: "aarch64-linux-gnu-g++", flags: "-g -O2"},
	{name: "aarch64-4", compiler: "aarch64-linux-gnu-g++", flags: "-gdwarf-4 -O1"},
	{name: "armhf-thumb", compiler: "arm-linux-gnueabihf-g++", flags: "-g -O2 -mthumb"},
	{name: "armhf-arm", compiler: "arm-linux-gnueabihf-g++", flags: "-gdwarf-3 -O2 -marm"},
	{name: "riscv64", compiler: "riscv64-linux-gnu-g++", flags: "-g -O2"},
	{name: "riscv64-0", compiler: "riscv64-linux-gnu-g++", flags: "-gdwarf-4 -O0"},
	{name: "ppc64", compiler: "powerpc64-linux-gnu-g++", flags: "-g -O2"},
	{name: "ppc64-no-pie", compiler: "powerpc64-linux-gnu-g++", flags: "-gdwarf-4 -O1 -no-pie -fno-pie"},
	{name: "s390x", compiler: "s390x-linux-gnu-g++", flags: "-g -O2"},
	{name: "mips", compiler: "mips-linux-gnu-g++", flags: "-g -O2"},
	{name: "mips-2", compiler: "mips-linux-gnu-g++", flags: "-gdwarf-2 -O1"},
}

// TestCross compares all addresses with llvm-symbolizer.
func TestCross(t *testing.T) {
	for i, b := range crossBuilds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			addrs := codeAddresses(t, path, uint64(1+i%3))
			compare(t, path, addrs, symbolizer(t, path, addrs))
		})
	}
}

// descriptorSource has functions that are only in the symbol table.
const descriptorSource = `
static __attribute__((noinline)) int hidden(int x) { return x * x + 1; }
int visible(int x) { return hidden(x) + hidden(x + 1); }
int main(int argc, char **argv) { return visible(argc); }
`

// TestDescriptors looks up functions whose symbols refer to descriptors: in a program, in its debug file, which does not contain the
// descriptors, and in a relocatable file.
func TestDescriptors(t *testing.T) {
	const tool = "powerpc64-linux-gnu-"
	need(t, tool+"gcc", tool+"objcopy")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(descriptorSource), 0o644); err != nil {
		t.Fatal(err)
	}
	in(t, dir, tool+"gcc", "-O1", "a.c", "-o", "a.full")
	in(t, dir, tool+"gcc", "-O1", "-c", "a.c", "-o", "a.o")
	in(t, dir, tool+"objcopy", "--only-keep-debug", "a.full", "a.debug")
	in(t, dir, tool+"objcopy", "--strip-all", "a.full", "a.elf")
	full := open(t, filepath.Join(dir, "a.full"))
	main := findSymbol(t, full, "main")

	late := open(t, filepath.Join(dir, "a.debug"))
	late.runtimeFile.path = filepath.Join(dir, "a.elf")
	beside := open(t, filepath.Join(dir, "a.debug"))
	beside.other = open(t, filepath.Join(dir, "a.elf"))
	for name, f := range map[string]*File{"full": full, "late": late, "beside": beside} {
		for _, fn := range []string{"visible", "main"} {
			addr := findSymbol(t, full, fn)
			if got := f.Code(addr + 4); len(got) != 1 || got[0].Func != fn {
				t.Errorf("%s: %#x: %+v, want %s", name, addr, got, fn)
			}
		}
	}
	alone := open(t, filepath.Join(dir, "a.debug"))
	if got := alone.Code(main); got != nil {
		t.Errorf("without descriptors: %+v", got)
	}
	object := open(t, filepath.Join(dir, "a.o"))
	if got := object.Code(0); len(got) != 1 || got[0].Func != "hidden" || got[0].File != "a.c" {
		t.Errorf("relocatable file: %+v", got)
	}
}
