package llvm

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/filter/filtertest"
)

// sweepBuilds are ways to build the sources in package object's testdata, and what is done to the file then.
var sweepBuilds = []struct{ name, build, then string }{
	{"gcc-5-O2", "g++ -gdwarf-5 -O2", ""},
	{"gcc-4-O0", "g++ -gdwarf-4 -O0", ""},
	{"gcc-g1", "g++ -g1 -O2", ""},
	{"gcc-no-pie", "g++ -g -O2 -no-pie -fno-pie", ""},
	{"gcc-no-debug", "g++ -O2", ""},
	{"gcc-half-debug", "g++ -O2", "half"},
	{"gcc-stripped", "g++ -g -O2 -rdynamic", "strip"},
	{"gcc-only-debug", "g++ -g -O2", "objcopy --only-keep-debug"},
	{"gcc-zlib", "g++ -g -O2", "objcopy --compress-debug-sections=zlib"},
	{"gcc-zdebug", "g++ -g -O2", "objcopy --compress-debug-sections=zlib-gnu"},
	{"gcc-sections", "g++ -g -O2 -ffunction-sections -Wl,--gc-sections", ""},
	{"gcc-object", "g++ -g -O2 -ffunction-sections -r", ""},
	{"clang-object", "clang++-22 -g -O2 -ffunction-sections -gdwarf-aranges -r", ""},
	{"clang-dropped", "clang++-22 -g -O2 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections,-e,other", ""},
	{"clang-dropped-4", "clang++-22 -gdwarf-4 -O0 -ffunction-sections -fuse-ld=lld -Wl,--gc-sections,-e,other", ""},
	{"clang-5-O2", "clang++-22 -gdwarf-5 -O2", ""},
	{"clang-4-O2", "clang++-22 -gdwarf-4 -O2", ""},
	{"clang-lines", "clang++-22 -gline-tables-only -O2", ""},
	{"gcc-no-rows", "g++ -g -O2", "objcopy --remove-section=.debug_line"},
	{"clang-no-rows", "clang++-22 -g -O2", "objcopy --remove-section=.debug_line"},
	{"gcc-dwz", "g++ -g -O2", "dwz"},
	{"clang-relative", "clang++-22 -g -O2 -fdebug-compilation-dir=. -fdebug-prefix-map==rel", ""},
}

// TestLLVMSweep asks for all addresses of programs built in many ways, by every kind of element, and in every way of
// showing names.
func TestLLVMSweep(t *testing.T) {
	filtertest.NeedPeer(t)
	ways := []peerRun{
		plainRun,
		{[]string{"--color=never", "--functions=short", "--basenames"}, Options{Functions: ShortNames, Basenames: true}},
		{[]string{"--color=never", "--functions=none", "--relativenames"}, Options{Functions: NoNames, RelativeNames: true}},
		{[]string{"--color=never", "--no-demangle", "--relativenames"}, Options{NoDemangle: true, RelativeNames: true}},
	}
	for i, b := range sweepBuilds {
		t.Run(b.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "a.elf")
			sweepBuild(t, path, b.build, b.then)
			if err := filtertest.LayOut(dir, "abcdef", path); err != nil {
				t.Fatal(err)
			}
			if b.then == "dwz" {
				sweepShare(t, path, filepath.Join(dir, ".build-id/ab"))
			}
			log := sweepLog(t, path, "abcdef", uint64(1+i%3))
			for _, way := range ways {
				samePeer(t, filtertest.TreeSource(dir), way, []string{dir}, log)
			}
		})
	}
}

func sweepBuild(t testing.TB, path, build, then string) {
	t.Helper()
	run := func(name string, args ...string) {
		t.Helper()
		if _, err := exec.LookPath(name); err != nil {
			t.Skip(name + " is not installed")
		}
		cmd := exec.Command(name, args...)
		cmd.Dir = "../../symsrc/object/testdata/src"
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
	}
	words := strings.Fields(build)
	flags := append(words[1:], strings.Fields("-ffreestanding -nostdlib -fno-rtti -fno-exceptions -fno-stack-protector -w")...)
	if then == "half" { // debug information for one of the units only
		run(words[0], append(flags, "-g", "-c", "shapes.cpp", "-o", path+".1.o")...)
		run(words[0], append(flags, "-c", "other.cpp", "-o", path+".2.o")...)
		run(words[0], append(flags, path+".1.o", path+".2.o", "-o", path)...)
		return
	}
	run(words[0], append(flags, "shapes.cpp", "other.cpp", "-o", path)...)
	if words := strings.Fields(then); len(words) > 0 && then != "dwz" {
		run(words[0], append(words[1:], path)...)
	}
}

// sweepShare moves what the program in the tree has in common with another one to a file beside it, which llvm does not
// read.
func sweepShare(t testing.TB, path, leaf string) {
	t.Helper()
	if _, err := exec.LookPath("dwz"); err != nil {
		t.Skip("dwz is not installed")
	}
	cmd := exec.Command("dwz", "-m", "common", "cdef.debug", path)
	cmd.Dir = leaf
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("dwz: %v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(leaf, "common")); err != nil {
		t.Fatal("dwz has made no common file: ", err)
	}
}

// sweepLog asks for every step-th address of the sections that are in memory, and some beyond them; and for the first ones, where
// linkers put what they drop.
func sweepLog(t testing.TB, path, id string, step uint64) string {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var log strings.Builder
	fmt.Fprintf(&log, "{{{module:0:a.elf:elf:%s}}}\n{{{mmap:0x10000000:0x10000000:load:0:rx:0x0}}}\n", id)
	asked := make(map[uint64]bool)
	for _, s := range append(file.Sections, &elf.Section{SectionHeader: elf.SectionHeader{Flags: elf.SHF_ALLOC, Size: 512}}) {
		if s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		for a := s.Addr; a < s.Addr+min(s.Size, 4096)+4; a += step {
			if asked[a] {
				continue
			}
			asked[a] = true
			fmt.Fprintf(&log, "{{{bt:%d:%#x:pc}}}\n{{{pc:%#[2]x}}} {{{data:%#[2]x}}}\n", a%100, a+0x10000000)
		}
	}
	return log.String()
}

// TestLLVMSystemLibrary asks for addresses all over the C library, if its debug file is installed.
func TestLLVMSystemLibrary(t *testing.T) {
	filtertest.NeedPeer(t)
	var path string
	for _, dir := range []string{"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64"} {
		if _, err := os.Stat(dir + "/libc.so.6"); err == nil {
			path = dir + "/libc.so.6"
		}
	}
	file, err := elf.Open(path)
	if err != nil {
		t.Skip("no C library: ", err)
	}
	defer file.Close()
	text, note := file.Section(".text"), file.Section(".note.gnu.build-id")
	if text == nil || note == nil {
		t.Skip("the C library has no build ID")
	}
	data, err := note.Data()
	if err != nil || len(data) < 17 {
		t.Fatal(err)
	}
	id := fmt.Sprintf("%x", data[16:])
	const dir = "/usr/lib/debug"
	if _, err := os.Stat(dir + "/.build-id/" + id[:2] + "/" + id[2:] + ".debug"); err != nil {
		t.Skip("the C library's debug file is not installed (Debian: libc6-dbg)")
	}
	var log strings.Builder
	fmt.Fprintf(&log, "{{{module:0:libc:elf:%s}}}\n{{{mmap:0x0:0x10000000:load:0:rx:0x0}}}\n", id)
	for a := text.Addr; a < text.Addr+text.Size; a += 509 {
		fmt.Fprintf(&log, "{{{bt:1:%#x:pc}}} {{{pc:%#[1]x}}} {{{data:%#[1]x}}}\n", a)
	}
	for _, way := range []peerRun{plainRun,
		{[]string{"--color=never", "--functions=short", "--basenames"}, Options{Functions: ShortNames, Basenames: true}},
		{[]string{"--color=never", "--functions=none", "--relativenames"}, Options{Functions: NoNames, RelativeNames: true}},
	} {
		samePeer(t, filtertest.TreeSource(dir), way, []string{dir}, log.String())
	}
}
