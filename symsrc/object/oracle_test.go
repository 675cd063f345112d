package object

import (
	"path/filepath"
	"testing"
)

const clang, lld = "clang++-22", " -fuse-ld=lld"

// builds are the variants of DWARF that compilers and linkers write.
var builds = []build{
	{name: "gcc-2-O0", compiler: "g++", flags: "-gdwarf-2 -O0"},
	{name: "gcc-2-O2", compiler: "g++", flags: "-gdwarf-2 -O2"},
	{name: "gcc-3-O2", compiler: "g++", flags: "-gdwarf-3 -O2"},
	{name: "gcc-4-O0", compiler: "g++", flags: "-gdwarf-4 -O0"},
	{name: "gcc-4-O2", compiler: "g++", flags: "-gdwarf-4 -O2"},
	{name: "gcc-5-O0", compiler: "g++", flags: "-gdwarf-5 -O0"},
	{name: "gcc-5-O2", compiler: "g++", flags: "-gdwarf-5 -O2"},
	{name: "gcc-5-O3-no-pie", compiler: "g++", flags: "-gdwarf-5 -O3 -no-pie -fno-pie"},
	{name: "gcc-types", compiler: "g++", flags: "-gdwarf-5 -O2 -fdebug-types-section"},
	{name: "gcc-types-4", compiler: "g++", flags: "-gdwarf-4 -O2 -fdebug-types-section"},
	{name: "gcc-dwarf64", compiler: "g++", flags: "-gdwarf-5 -gdwarf64 -O2"},
	{name: "gcc-gc", compiler: "g++", flags: "-g -O1 -ffunction-sections -Wl,--gc-sections"},
	{name: "gcc-gc-4", compiler: "g++", flags: "-gdwarf-4 -O1 -ffunction-sections -Wl,--gc-sections"},
	{name: "gcc-lto", compiler: "g++", flags: "-g -O2 -flto"},
	{name: "gcc-g1", compiler: "g++", flags: "-g1 -O2"},
	{name: "gcc-zlib", compiler: "g++", flags: "-g -O2", then: "objcopy --compress-debug-sections=zlib"},
	// llvm no longer reads .zdebug sections.
	{name: "gcc-zlib-gnu", compiler: "g++", flags: "-g -O2", then: "objcopy --compress-debug-sections=zlib-gnu",
		decoded: "objcopy --decompress-debug-sections"},
	{name: "clang-2-O0", compiler: clang, flags: "-gdwarf-2 -O0"},
	{name: "clang-3-O2", compiler: clang, flags: "-gdwarf-3 -O2"},
	{name: "clang-4-O0", compiler: clang, flags: "-gdwarf-4 -O0"},
	{name: "clang-4-O2", compiler: clang, flags: "-gdwarf-4 -O2"},
	{name: "clang-5-O0", compiler: clang, flags: "-gdwarf-5 -O0"},
	{name: "clang-5-O2", compiler: clang, flags: "-gdwarf-5 -O2"},
	{name: "clang-types", compiler: clang, flags: "-gdwarf-5 -O2 -fdebug-types-section"},
	{name: "clang-dwarf64", compiler: clang, flags: "-gdwarf-5 -gdwarf64 -O2"},
	{name: "clang-dwarf64-4", compiler: clang, flags: "-gdwarf-4 -gdwarf64 -O2"},
	{name: "clang-aranges", compiler: clang, flags: "-g -O2 -gdwarf-aranges"},
	{name: "clang-lines-only", compiler: clang, flags: "-gline-tables-only -O2"},
	{name: "clang-gc", compiler: clang, flags: "-g -O1 -ffunction-sections -Wl,--gc-sections" + lld},
	{name: "clang-gc-4", compiler: clang, flags: "-gdwarf-4 -O1 -ffunction-sections -Wl,--gc-sections" + lld},
	{name: "clang-icf", compiler: clang, flags: "-g -O1 -ffunction-sections -Wl,--icf=all" + lld},
	{name: "clang-lto", compiler: clang, flags: "-g -O2 -flto" + lld},
	{name: "clang-zstd", compiler: clang, flags: "-g -O2", then: "llvm-objcopy-22 --compress-debug-sections=zstd"},
	{name: "i686", compiler: clang, flags: "--target=i686-linux-gnu -g -O2" + lld},
	{name: "thumb", compiler: clang, flags: "--target=armv7a-linux-gnueabihf -mthumb -g -O2" + lld},
	{name: "arm", compiler: clang, flags: "--target=armv7a-linux-gnueabihf -gdwarf-4 -O2" + lld},
	{name: "aarch64", compiler: clang, flags: "--target=aarch64-linux-gnu -g -O2" + lld},
	{name: "aarch64-big", compiler: clang, flags: "--target=aarch64_be-linux-gnu -gdwarf-4 -O2" + lld},
	{name: "ppc64-big", compiler: clang, flags: "--target=powerpc64-linux-gnu -g -O2" + lld},
	{name: "ppc-big", compiler: clang, flags: "--target=powerpc-linux-gnu -g -O2" + lld},
	{name: "mips-big", compiler: clang, flags: "--target=mips-linux-gnu -gdwarf-2 -O1" + lld},
	{name: "riscv64", compiler: clang, flags: "--target=riscv64-linux-gnu -g -O2" + lld},
	{name: "s390x-big", compiler: clang, flags: "--target=s390x-linux-gnu -g -O2" + lld},
}

// TestOracle builds the sources in all variants, and compares the frames of all addresses with llvm-symbolizer.
func TestOracle(t *testing.T) {
	for i, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			addrs := codeAddresses(t, path, uint64(1+i%3))
			want := symbolizer(t, b.oracle(t, path), addrs)
			compare(t, path, addrs, want)
		})
	}
}

// compare looks up all addresses in one file, which builds tables, and some of them in a file that was just opened.
func compare(t *testing.T, path string, addrs []uint64, want []string) {
	t.Helper()
	f := open(t, path)
	bad := 0
	for i, a := range addrs {
		if got := render(f.Code(a)); got != want[i] {
			if bad++; bad <= 3 {
				t.Errorf("%#x:\n got %s\nwant %s", a, got, want[i])
			}
		}
	}
	for i := 0; i < len(addrs); i += 1 + len(addrs)/50 {
		if got := render(open(t, path).Code(addrs[i])); got != want[i] {
			bad++
			t.Errorf("%#x as the first address:\n got %s\nwant %s", addrs[i], got, want[i])
		}
	}
	if bad > 0 {
		t.Errorf("%d of %d differ", bad, len(addrs))
	}
}
