package object

import (
	"bufio"
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// kept are the builds whose files are in testdata, for tests on machines without compilers: two word sizes, two byte orders, three DWARF
// versions, every compression. With each file are the answers of llvm-symbolizer for all its addresses.
var kept = []build{
	{name: "gcc5", compiler: "g++", flags: "-gdwarf-5 -O2 -Wl,--build-id"},
	{name: "clang4-zlib", compiler: clang, flags: "-gdwarf-4 -O2 -ffunction-sections -Wl,--gc-sections -Wl,--build-id" + lld,
		then: "llvm-objcopy-22 --compress-debug-sections=zlib"},
	{name: "ppc64-zstd", compiler: clang, flags: "--target=powerpc64-linux-gnu -gdwarf-5 -gdwarf64 -O2" + lld,
		then: "llvm-objcopy-22 --compress-debug-sections=zstd"},
	{name: "mips2", compiler: clang, flags: "--target=mips-linux-gnu -gdwarf-2 -O1" + lld},
}

// composed are further builds in testdata that need more than a compiler, most with another file that they refer to.
var composed = []build{
	{name: "dwz5", beside: "dwz5.common", make: makeDwz},
	{name: "split5", flags: "-gdwarf-5 -O2", beside: "split5.elf.dwp", make: makeSplit},
	{name: "split4", flags: "-gdwarf-4 -O2 -fuse-ld=lld --target=i686-linux-gnu", beside: "split4.elf.dwp", make: makeSplit},
	{name: "object5", flags: "-gdwarf-5 -O2 -w", make: makeObject, base: 0x400000},
}

// seeds are all files in testdata.
var seeds = slices.Concat(kept, composed)

// makeDwz builds a file whose common parts dwz moves to another one. It returns the path of the file before that.
func makeDwz(t *testing.T, b *build, out, prefix string) string {
	path, before, common := dwz(t, "-gdwarf-5 "+prefix, b.beside)
	copyFile(t, path, out)
	copyFile(t, common, filepath.Join(filepath.Dir(out), b.beside))
	return before
}

// makeSplit builds a file and a package of its split units.
func makeSplit(t *testing.T, b *build, out, prefix string) string {
	need(t, "llvm-dwp-22")
	dir := t.TempDir()
	path := split(t, dir, clang, b.flags+" -fno-asynchronous-unwind-tables -fdebug-compilation-dir=/src "+prefix)
	in(t, dir, "llvm-dwp-22", append(splitFiles(t, dir), "-o", "a.elf.dwp")...)
	copyFile(t, path, out)
	copyFile(t, path+".dwp", out+".dwp")
	return path
}

// makeObject builds a relocatable file with one code section. It returns the path of the linked file, because llvm confuses variables
// and functions of relocatable files, in which all sections begin at 0.
func makeObject(t *testing.T, b *build, out, prefix string) string {
	need(t, clang)
	command(t, clang, append(strings.Fields(b.flags), prefix, "-c", "other.cpp", "-o", out)...)
	linked := filepath.Join(t.TempDir(), "linked")
	command(t, clang, "-nostdlib", "-static", "-fuse-ld=lld", "-Wl,-e,0", fmt.Sprintf("-Wl,-Ttext=%#x", b.base), out, "-o", linked)
	return linked
}

// TestGolden compares all addresses of the files in testdata with the stored answers of llvm-symbolizer-22.
func TestGolden(t *testing.T) {
	for _, b := range seeds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join("testdata", b.name+".elf")
			if *update {
				b.remake(t, path)
			}
			addrs := codeAddresses(t, path, 1)
			compare(t, path, addrs, readGolden(t, path+".txt", addrs))
		})
	}
}

// remake rebuilds the file and its answers. The answer in a line is valid up to the address in the next one.
func (b *build) remake(t *testing.T, path string) {
	t.Helper()
	abs, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	src := filepath.Join(filepath.Dir(abs), "src")
	prefix, read := "-ffile-prefix-map="+src+"=/src", path
	if b.make != nil {
		read = b.make(t, b, abs, prefix)
	} else {
		b.run(t, abs, prefix, "-fno-asynchronous-unwind-tables")
	}
	addrs := codeAddresses(t, path, 1)
	var out bytes.Buffer
	last := ""
	there := slices.Clone(addrs)
	for i := range there {
		there[i] += b.base
	}
	for i, a := range symbolizer(t, read, there) {
		if a != last {
			fmt.Fprintf(&out, "%#x %s\n", addrs[i], a)
		}
		last = a
	}
	if err := os.WriteFile(path+".txt", out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readGolden returns the stored answers for addresses.
func readGolden(t *testing.T, path string, addrs []uint64) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	changes := make(map[string]string)
	for sc := bufio.NewScanner(file); sc.Scan(); {
		addr, answer, _ := strings.Cut(sc.Text(), " ")
		changes[addr] = answer
	}
	want := make([]string, len(addrs))
	last := ""
	for i, a := range addrs {
		if s, ok := changes[fmt.Sprintf("%#x", a)]; ok {
			last = s
		}
		want[i] = last
	}
	return want
}

// TestKnown checks some answers that do not come from llvm: demangled names, data, and addresses without an answer.
func TestKnown(t *testing.T) {
	f := open(t, filepath.Join("testdata", "gcc5.elf"))
	if !f.HasDebug() || !f.HasSymbols() || len(f.BuildID()) != 20 {
		t.Errorf("debug %v, symbols %v, build ID %s", f.HasDebug(), f.HasSymbols(), f.BuildID())
	}
	table := findSymbol(t, f, "table")
	frame, ok := f.Data(table + 5)
	if !ok || frame.Func != "table" || frame.Offset != 5 {
		t.Errorf("data: %+v %v", frame, ok)
	}
	other := findSymbol(t, f, "_Z5otheri")
	frames := f.Code(other)
	if len(frames) != 1 || frames[0].Func != "other(int)" || frames[0].Linkage != "_Z5otheri" || frames[0].File != "/src/other.cpp" {
		t.Errorf("code: %+v", frames)
	}
	if frames := f.Code(1 << 40); frames != nil {
		t.Errorf("code outside of the file: %+v", frames)
	}
	if frame, ok := f.Data(1); ok {
		t.Errorf("data outside of the file: %+v", frame)
	}
}

// findSymbol returns the address of a function or a variable.
func findSymbol(t *testing.T, f *File, name string) uint64 {
	t.Helper()
	if addr, ok := f.Symbol(name, 0); ok {
		return addr
	}
	x, err := elf.NewFile(bytes.NewReader(f.elf.Data))
	if err != nil {
		t.Fatal(err)
	}
	all, _ := x.Symbols()
	for _, s := range all {
		if s.Name == name {
			return s.Value
		}
	}
	t.Fatalf("no symbol %s", name)
	return 0
}
