package elfdwarf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"qss-filter/symsrc/budget"
	"slices"
	"strings"
	"testing"
)

const callsSource = `
extern int puts(const char *); extern int atoi(const char *); extern void *malloc(unsigned long);
__attribute__((noinline)) static int local_one(int x) { return puts("a") + x; }
__attribute__((noinline)) static int local_two(int x) { return atoi("1") * local_one(x); }
__attribute__((noinline)) int exported(int x) { return local_two(x) + atoi("2"); }
void *address(void) { return (void *)&malloc; }
void *allocate(int x) { return malloc(x); }
`

// source writes a source file and gives its absolute path.
func source(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// miniDebugFile makes a shared object and its twin with MiniDebugInfo in place of the symbol table, as GDB's manual
// ("MiniDebugInfo") describes it.
func miniDebugFile(t *testing.T, xzFlags ...string) (full, mini string) {
	t.Helper()
	need(t, "gcc", "nm", "objcopy", "strip", "xz")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	full, mini = at("full.so"), at("mini.so")
	command(t, "gcc", "-O1", "-g", "-fPIC", "-shared", "-nostdlib", "-Wl,--build-id", "-o", full, source(t, "calls.c", callsSource))
	dynamic := symbolNames(t, full, "-D")
	var keep []string
	for _, name := range symbolNames(t, full) {
		if !slices.Contains(dynamic, name) {
			keep = append(keep, name)
		}
	}
	if err := os.WriteFile(at("keep"), []byte(strings.Join(keep, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	command(t, "objcopy", "--only-keep-debug", full, at("debug"))
	command(t, "objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment", "--keep-symbols="+at("keep"), at("debug"), at("mini"))
	command(t, "xz", append(xzFlags, at("mini"))...)
	command(t, "strip", "--strip-all", "-o", mini, full)
	command(t, "objcopy", "--add-section", ".gnu_debugdata="+at("mini.xz"), mini)
	return full, mini
}

// symbolNames are the names of the functions of a file, as nm has them.
func symbolNames(t *testing.T, path string, flags ...string) (names []string) {
	t.Helper()
	out, err := exec.Command("nm", append(flags, "--format=posix", "--defined-only", path)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 1 && strings.Contains("Tt", f[1]) {
			names = append(names, f[0])
		}
	}
	return names
}

// TestMiniDebug compares with the symbols of the file that was not stripped, at every address and as the first one.
func TestMiniDebug(t *testing.T) {
	for _, flags := range []string{"", "--check=crc32", "--check=sha256 -9", "--check=none", "--block-size=600 -T2"} {
		t.Run(flags, func(t *testing.T) {
			full, mini := miniDebugFile(t, strings.Fields(flags)...)
			want, got := open(t, full), open(t, mini)
			locals := 0
			for i, a := range codeAddresses(t, full, 1) {
				sym, ok := want.symtab.at(a)
				if !ok || !sym.sized {
					continue
				}
				if strings.HasPrefix(sym.name.linkage, "local_") {
					locals++
				}
				files := []*File{got}
				if i%16 == 0 {
					files = append(files, open(t, mini))
				}
				for _, f := range files {
					if frames := f.Code(a); len(frames) != 1 || frames[0].Linkage != sym.name.linkage {
						t.Fatalf("%#x: %+v instead of %s", a, frames, sym.name.linkage)
					}
				}
			}
			if locals == 0 || got.mini.table == nil {
				t.Errorf("%d addresses of local functions", locals)
			}
		})
	}
}

// TestMiniDebugLazy unpacks nothing where the file's own symbols suffice, and nothing at all in the style of llvm.
func TestMiniDebugLazy(t *testing.T) {
	full, mini := miniDebugFile(t)
	exported, local := findSymbol(t, open(t, full), "exported"), findSymbol(t, open(t, full), "local_one")
	f := open(t, mini)
	if got := render(f.Code(exported)); got != "exported ??:0:0" || f.mini.table != nil {
		t.Errorf("%s, unpacked: %v", got, f.mini.table != nil)
	}
	llvm := openAsLLVM(t, mini)
	addrs := []uint64{exported, local}
	for i, want := range symbolizer(t, mini, addrs) {
		if got := render(llvm.Code(addrs[i])); got != want {
			t.Errorf("%s instead of %s", got, want)
		}
	}
	if llvm.mini.table != nil {
		t.Error("unpacked in the style of llvm")
	}
	if got := render(f.Code(local)); got != "local_one ??:0:0" {
		t.Errorf("%s", got)
	}
}

// TestReadMini takes only what belongs to the file.
func TestReadMini(t *testing.T) {
	load := func(name string) (*File, []byte) {
		path := filepath.Join("testdata", name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return open(t, path), b
	}
	gcc, own := load("gcc5.elf")
	_, otherBuild := load("clang4-zlib.elf")
	_, otherMachine := load("mips2.elf")
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"its own", own, true}, {"of another build", otherBuild, false}, {"of another machine", otherMachine, false},
		{"no ELF file", []byte("text"), false}, {"cut off", own[:len(own)/2], false}, {"nothing", nil, false},
	} {
		if got := gcc.readMini(c.data) != nil; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// xzStream packs data as it stands, with an index of our own making.
func xzStream(data []byte, claimed uint64, blocks int) []byte {
	stored := append([]byte{1, byte((len(data) - 1) >> 8), byte(len(data) - 1)}, data...)
	block := append([]byte{2, 0, 0x21, 1, 40, 0, 0, 0, 0, 0, 0, 0}, append(stored, 0)...) // a dictionary of 4 GiB
	size := uint64(len(block))
	for len(block)%4 != 0 {
		block = append(block, 0)
	}
	index := binary.AppendUvarint([]byte{0}, uint64(blocks))
	out := []byte("\xfd7zXZ\x00\x00\x00....")
	for range blocks {
		index = binary.AppendUvarint(binary.AppendUvarint(index, size), claimed)
		out = append(out, block...)
	}
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	out = append(append(out, index...), "...."...)
	return append(binary.LittleEndian.AppendUint32(out, uint32(len(index)/4-1)), "\x00\x00YZ"...)
}

// TestXZ bounds what hostile streams make us do.
func TestXZ(t *testing.T) {
	data := bytes.Repeat([]byte("symbol "), 9)
	for _, c := range []struct {
		name string
		b    []byte
		want int // bytes, -1 for an error
	}{
		{"good", xzStream(data, 63, 1), 63},
		{"three blocks", xzStream(data, 63, 3), 189},
		{"less than there is", xzStream(data, 62, 1), 62},
		{"more than there is", xzStream(data, 64, 1), -1},
		{"a bomb", xzStream(data, 1<<20, 1), -1},
		{"beyond every limit", xzStream(data, 1<<62, 7), -1},
		{"many blocks", xzStream(data, 63, 4000), -1},
		{"many empty blocks", xzStream(data, 0, 1000), 0},
		{"empty", nil, -1},
		{"two magics", []byte("\xfd7zXZ\x00\x00\x00....................YZ"), -1},
	} {
		out, err := unxz(c.b, budget.NewFile(len(c.b)))
		if got := len(out); c.want < 0 && err == nil || c.want >= 0 && (err != nil || got != c.want) {
			t.Errorf("%s: %d bytes, %v", c.name, got, err)
		}
		if c.want == 63 && !bytes.Equal(out, data) {
			t.Errorf("%s: %q", c.name, out)
		}
	}
}

// TestXZDamaged damages a real stream everywhere: it unpacks to the same or not at all.
func TestXZDamaged(t *testing.T) {
	_, mini := miniDebugFile(t)
	f := open(t, mini)
	var good []byte
	for i := range f.sections {
		if f.sections[i].name == ".gnu_debugdata" {
			good, _ = f.contents(&f.sections[i])
		}
	}
	want, err := unxz(good, budget.NewFile(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := elf.NewFile(bytes.NewReader(want)); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for _, mask := range []byte{1, 0x80, 0xff} {
			b := bytes.Clone(good)
			b[i] ^= mask
			if got, err := unxz(b, budget.NewFile(len(b))); err == nil && !bytes.Equal(got, want) {
				t.Errorf("another result with byte %d changed by %#x", i, mask)
			}
		}
		if _, err := unxz(good[:i], budget.NewFile(i)); err == nil {
			t.Error(fmt.Sprint("unpacked the first ", i, " bytes"))
		}
	}
}

// FuzzXZ unpacks anything. A panic of the library would be an error here, as the bounds are.
func FuzzXZ(f *testing.F) {
	f.Add(xzStream([]byte("symbols"), 7, 1))
	f.Add(xzStream([]byte("symbols"), 7, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		if out, _ := unxz(b, budget.NewFile(len(b))); len(out) > maxXZRatio*len(b) {
			t.Errorf("%d bytes of %d", len(out), len(b))
		}
	})
}
