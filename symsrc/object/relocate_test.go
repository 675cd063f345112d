package object

import (
	"debug/elf"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRelocatable compares relocatable files with llvm-symbolizer. If several code sections are long enough for an address, both take
// the first one; but llvm takes only the line from there, and the names from any of them.
func TestRelocatable(t *testing.T) {
	for _, c := range []struct{ name, compiler, flags string }{
		{"gcc-5", "g++", "-gdwarf-5 -O2"},
		{"gcc-4", "g++", "-gdwarf-4 -O1"},
		{"gcc-sections", "g++", "-gdwarf-5 -O2 -ffunction-sections"},
		{"gcc-sections-4", "g++", "-gdwarf-4 -O1 -ffunction-sections"},
		{"gcc-zlib", "g++", "-g -O2 -gz"},
		{"clang-5", clang, "-gdwarf-5 -O2"},
		{"clang-sections", clang, "-gdwarf-5 -O2 -ffunction-sections"},
		{"clang-sections-4", clang, "-gdwarf-4 -O0 -ffunction-sections"},
		{"i686", clang, "--target=i686-linux-gnu -g -O2 -ffunction-sections"},
		{"arm", clang, "--target=armv7a-linux-gnueabihf -g -O2 -ffunction-sections"},
		{"aarch64", clang, "--target=aarch64-linux-gnu -g -O2 -ffunction-sections"},
		{"riscv64", clang, "--target=riscv64-linux-gnu -g -O2 -ffunction-sections -mno-relax"},
		{"ppc64-big", clang, "--target=powerpc64-linux-gnu -g -O2 -ffunction-sections"},
		{"aarch64-gcc", "aarch64-linux-gnu-g++", "-g -O2 -ffunction-sections"},
		{"arm-gcc", "arm-linux-gnueabihf-g++", "-g -O2 -ffunction-sections"},
		{"ppc64-gcc", "powerpc64-linux-gnu-g++", "-g -O2 -ffunction-sections"},
		{"s390x-gcc", "s390x-linux-gnu-g++", "-g -O2 -ffunction-sections"},
		{"mips-gcc", "mips-linux-gnu-g++", "-g -O2 -ffunction-sections"},
		{"mips-4", "mips-linux-gnu-g++", "-gdwarf-4 -O1"},
		{"ppc-big", clang, "--target=powerpc-linux-gnu -g -O2"},
		{"s390x-big", clang, "--target=s390x-linux-gnu -gdwarf-4 -O2 -ffunction-sections"},
	} {
		t.Run(c.name, func(t *testing.T) {
			need(t, c.compiler)
			path := filepath.Join(t.TempDir(), "a.o")
			args := append(strings.Fields(c.flags), strings.Fields(freestanding)...)
			command(t, c.compiler, append(args[:len(args)-1], "-c", "-o", path)...)
			sections := codeLengths(t, path)
			var addrs []uint64
			for a := range sections[0] {
				addrs = append(addrs, a)
			}
			f := open(t, path)
			bad, same := 0, 0
			for i, want := range symbolizer(t, path, addrs) {
				got := render(f.Code(addrs[i]))
				if got == want {
					same++
				} else if !agrees(got, want, addrs[i] < sections[1]) {
					if bad++; bad <= 3 {
						t.Errorf("%#x:\n got %s\nwant %s", addrs[i], got, want)
					}
				}
			}
			if bad > 0 || same == 0 && c.name != "riscv64" {
				t.Errorf("%d of %d differ, %d are the same", bad, len(addrs), same)
			}
		})
	}
}

// TestRelocatableLinked compares a relocatable file with llvm-symbolizer's answers for the linked file, because llvm does not support
// the relocations of binutils for RISC-V.
func TestRelocatableLinked(t *testing.T) {
	for _, flags := range []string{"-g -O2", "-gdwarf-4 -O1", "-g -O1 -mno-relax"} {
		t.Run(flags, func(t *testing.T) {
			const compiler, base = "riscv64-linux-gnu-g++", 0x400000
			need(t, compiler)
			dir := t.TempDir()
			object, linked := filepath.Join(dir, "a.o"), filepath.Join(dir, "a.elf")
			command(t, compiler, append(strings.Fields(flags), "-w", "-c", "other.cpp", "-o", object)...)
			command(t, compiler, "-nostdlib", "-static", "-Wl,-e,0,--no-relax", fmt.Sprintf("-Wl,-Ttext=%#x", base), object, "-o", linked)
			var addrs, there []uint64
			for a := range codeLengths(t, object)[0] {
				addrs, there = append(addrs, a), append(there, base+a)
			}
			f := open(t, object)
			for i, want := range symbolizer(t, linked, there) {
				if got := render(f.Code(addrs[i])); got != want {
					t.Errorf("%#x:\n got %s\nwant %s", addrs[i], got, want)
				}
			}
		})
	}
}

// agrees reports whether frames agree with those of llvm, which always have the right line. Their names may be of another section if
// several are long enough (ambiguous); inlined calls may be missing; and on RISC-V the physical function may have the name of a label.
func agrees(got, want string, ambiguous bool) bool {
	if innermostLine(got) != innermostLine(want) {
		return false
	}
	if ambiguous {
		return true
	}
	outer := func(chain string) string {
		last := chain[strings.LastIndex(chain, " < ")+1:]
		name, _, _ := strings.Cut(strings.TrimPrefix(last, "< "), " ")
		return name
	}
	return outer(got) == outer(want) || strings.HasPrefix(outer(want), ".L")
}

// innermostLine returns the source position of the innermost one of rendered frames.
func innermostLine(chain string) string {
	inner, _, _ := strings.Cut(chain, " < ")
	return inner[strings.LastIndexByte(inner, ' ')+1:]
}

// codeLengths returns the sizes of the two largest code sections, the largest first.
func codeLengths(t *testing.T, path string) (longest [2]uint64) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		switch {
		case s.Flags&elf.SHF_EXECINSTR == 0:
		case s.Size > longest[0]:
			longest = [2]uint64{s.Size, longest[0]}
		case s.Size > longest[1]:
			longest[1] = s.Size
		}
	}
	return longest
}
