package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// byteOrder is both interfaces of a byte order.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// maker writes ELF files of a layout.
type maker struct {
	order byteOrder
	word  int
}

// makers are those of every layout.
var makers = map[string]maker{
	"64 bit, little": {binary.LittleEndian, 8}, "64 bit, big": {binary.BigEndian, 8},
	"32 bit, little": {binary.LittleEndian, 4}, "32 bit, big": {binary.BigEndian, 4},
}

func (m maker) halves(b []byte, all ...uint16) []byte {
	for _, v := range all {
		b = m.order.AppendUint16(b, v)
	}
	return b
}

func (m maker) words(b []byte, all ...uint32) []byte {
	for _, v := range all {
		b = m.order.AppendUint32(b, v)
	}
	return b
}

// numbers appends numbers of the size of an address.
func (m maker) numbers(b []byte, all ...uint64) []byte {
	for _, v := range all {
		if m.word == 4 {
			b = m.order.AppendUint32(b, uint32(v))
		} else {
			b = m.order.AppendUint64(b, v)
		}
	}
	return b
}

// sizes returns the sizes of the ELF header and of a program header.
func (m maker) sizes() (header, segment uint64) {
	if m.word == 4 {
		return 52, 32
	}
	return 64, 56
}

// header returns an ELF header with a number of program headers after it.
func (m maker) header(kind elf.Type, segments uint16) []byte {
	class, data := elf.ELFCLASS64, elf.ELFDATA2LSB
	if m.word == 4 {
		class = elf.ELFCLASS32
	}
	if m.order == byteOrder(binary.BigEndian) {
		data = elf.ELFDATA2MSB
	}
	size, each := m.sizes()
	b := append([]byte(elf.ELFMAG), byte(class), byte(data), 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = m.words(m.halves(b, uint16(kind), uint16(elf.EM_NONE)), 1)
	b = m.words(m.numbers(b, 0, size, 0), 0)
	return m.halves(b, uint16(size), uint16(each), segments, 0, 0, 0)
}

// program appends a program header.
func (m maker) program(b []byte, s segment) []byte {
	if m.word == 4 {
		return m.words(b, uint32(s.kind), uint32(s.offset), uint32(s.address), 0, uint32(s.fileSize), uint32(s.memorySize), uint32(s.flags), 4)
	}
	return m.numbers(m.words(b, uint32(s.kind), uint32(s.flags)), s.offset, s.address, 0, s.fileSize, s.memorySize, 4)
}

// note returns a note.
func (m maker) note(owner string, kind uint32, content []byte) []byte {
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	b := m.words(nil, uint32(len(owner)+1), uint32(len(content)), kind)
	return pad(append(pad(append(b, owner+"\x00"...)), content...))
}

// library returns the beginning of a shared library with a build ID.
func (m maker) library(id string) []byte {
	note := m.note("GNU", buildIDNote, []byte(id))
	header, each := m.sizes()
	b := m.program(m.header(elf.ET_DYN, 1), segment{kind: elf.PT_NOTE, offset: header + each, fileSize: uint64(len(note))})
	return append(b, note...)
}

// list returns NT_FILE.
func (m maker) list(files ...file) []byte {
	b := m.numbers(nil, uint64(len(files)), 4096)
	for _, f := range files {
		b = m.numbers(b, f.start, f.end, f.offset/4096)
	}
	for _, f := range files {
		b = append(append(b, f.name...), 0)
	}
	return b
}

// core returns a core file: its segments have their contents one after the other.
func (m maker) core(programs []segment, contents ...[]byte) []byte {
	header, each := m.sizes()
	at := header + uint64(len(programs))*each
	b := m.header(elf.ET_CORE, uint16(min(len(programs), 0xffff)))
	for i, s := range programs {
		s.offset, s.fileSize = at, uint64(len(contents[i]))
		b = m.program(b, s)
		at += s.fileSize
	}
	return append(b, bytes.Join(contents, nil)...)
}

// Addresses of the two mappings of a file in the core files of tests.
const base, text = 0x70000000, 0x70001000

// liba are the mappings of a library.
var liba = []file{{base, text, 0, "/lib/liba.so"}, {text, text + 0x2000, 4096, "/lib/liba.so"}}

// sample returns a core file with the mappings of liba, of which the first page was dumped.
func (m maker) sample() []byte {
	first := m.library("\x01\x02\x03\x04\x05\x06\x07\x08")
	return m.core([]segment{{kind: elf.PT_NOTE}, {kind: elf.PT_LOAD, flags: elf.PF_R, address: base, memorySize: 0x1000},
		{kind: elf.PT_LOAD, flags: elf.PF_R | elf.PF_X, address: text, memorySize: 0x2000}},
		append(m.note("CORE", 1, make([]byte, 10)), m.note("CORE", fileNote, m.list(liba...))...), first, nil)
}

// sampleList is what the sample has, and bareList the same without build IDs.
const (
	sampleList = "    0000000070000000-0000000070000fff r--         0      1000  /lib/liba.so (BuildId: 0102030405060708)\n" +
		"    0000000070001000-0000000070002fff r-x      1000      2000  /lib/liba.so (BuildId: 0102030405060708)\n"
	bareList = "    0000000070000000-0000000070000fff r--         0      1000  /lib/liba.so\n" +
		"    0000000070001000-0000000070002fff r-x      1000      2000  /lib/liba.so\n"
)

// streamed hides that a reader can seek.
type streamed struct{ io.Reader }

// both reads a core file with and without Seek, which must not matter.
func both(t *testing.T, b []byte) (string, error) {
	t.Helper()
	got, err := List(bytes.NewReader(b))
	again, streamErr := List(streamed{bytes.NewReader(b)})
	if !bytes.Equal(got, again) || (err == nil) != (streamErr == nil) {
		t.Errorf("with Seek %q, %v; without %q, %v", got, err, again, streamErr)
	}
	return string(got), err
}

func TestList(t *testing.T) {
	for name, m := range makers {
		if got, err := both(t, m.sample()); got != sampleList || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	m := makers["64 bit, little"]
	for name, b := range map[string][]byte{"empty": nil, "text": []byte("a line\n"), "a library": m.library("12345678"),
		"an ELF header of no class": append([]byte(elf.ELFMAG), make([]byte, 60)...)} {
		if got, err := both(t, b); !errors.Is(err, ErrNoCore) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := both(t, m.core([]segment{{kind: elf.PT_NOTE}}, m.note("CORE", 1, nil))); !errors.Is(err, ErrNoList) {
		t.Errorf("without NT_FILE: %q, %v", got, err)
	}
}

// TestOrder reads notes that follow the memory, as another writer may have them.
func TestOrder(t *testing.T) {
	for name, m := range makers {
		b := m.core([]segment{{kind: elf.PT_LOAD, flags: elf.PF_R, address: base, memorySize: 0x1000},
			{kind: elf.PT_LOAD, flags: elf.PF_R | elf.PF_X, address: text, memorySize: 0x2000}, {kind: elf.PT_NOTE}},
			append(m.library("\x01\x02\x03\x04\x05\x06\x07\x08"), make([]byte, 300<<10)...), make([]byte, 200<<10), m.note("CORE", fileNote, m.list(liba...)))
		if got, err := both(t, b); got != sampleList || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

// TestMany reads a core file with more segments than its header can count.
func TestMany(t *testing.T) {
	m := makers["64 bit, little"]
	programs, contents := []segment{{kind: elf.PT_NOTE}}, [][]byte{m.note("CORE", fileNote, m.list(liba...))}
	for i := range uint64(70000) {
		programs = append(programs, segment{kind: elf.PT_LOAD, address: 0x1000 * i, memorySize: 0x1000})
		contents = append(contents, nil)
	}
	programs = append(programs, segment{kind: elf.PT_LOAD, flags: elf.PF_R, address: base, memorySize: 0x1000},
		segment{kind: elf.PT_LOAD, flags: elf.PF_R | elf.PF_X, address: text, memorySize: 0x2000})
	contents = append(contents, m.library("\x01\x02\x03\x04\x05\x06\x07\x08"), nil)
	if got, err := both(t, m.core(programs, contents...)); got != sampleList || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// TestNames holds that no line says what the core file does not: a name that a list cannot hold, or one of two builds, is left out.
func TestNames(t *testing.T) {
	m := makers["64 bit, little"]
	for _, name := range []string{"/a\nb", "/a (BuildId: 0102)", "/a (load bias 0x1000)", "", " /a", "/a "} {
		b := m.core([]segment{{kind: elf.PT_NOTE}}, m.note("CORE", fileNote, m.list(file{base, text, 0, name})))
		if got, err := both(t, b); got != "" || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	replaced := append([]file{{0x1000, 0x2000, 0, "/lib/liba.so"}, {0x3000, 0x4000, 0, "/b"}}, liba...)
	b := m.core([]segment{{kind: elf.PT_NOTE}, {kind: elf.PT_LOAD, address: 0x1000, memorySize: 0x1000}, {kind: elf.PT_LOAD, address: base, memorySize: 0x1000}},
		m.note("CORE", fileNote, m.list(replaced...)), m.library("12345678"), m.library("87654321"))
	if got, err := both(t, b); strings.Contains(got, "liba.so") || !strings.Contains(got, "/b\n") || err != nil {
		t.Errorf("two builds: %q, %v", got, err)
	}
}

// TestCut holds that a core file of which the end is missing has the right build IDs, none, or no list at all.
func TestCut(t *testing.T) {
	for name, m := range makers {
		whole := m.sample()
		for n := range whole {
			got, err := both(t, whole[:n])
			if (err == nil) != (got != "") || got != "" && got != sampleList && got != bareList {
				t.Fatalf("%s, %d of %d bytes: %q, %v", name, n, len(whole), got, err)
			}
		}
	}
}

// zeros is a reader of n zeros.
type zeros struct{ n int64 }

func (z *zeros) Read(b []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := int(min(z.n, int64(len(b))))
	clear(b[:n])
	z.n -= int64(n)
	return n, nil
}

// TestMemory reads core files that are large, or claim to be, in little memory.
func TestMemory(t *testing.T) {
	m := makers["64 bit, little"]
	const size = 1 << 30
	header, each := m.sizes()
	at := header + 3*each
	first, note := m.library("\x01\x02\x03\x04\x05\x06\x07\x08"), m.note("CORE", fileNote, m.list(liba...))
	large := m.header(elf.ET_CORE, 3)
	large = m.program(large, segment{kind: elf.PT_LOAD, flags: elf.PF_R | elf.PF_X, address: text, memorySize: size, offset: at, fileSize: size})
	large = m.program(large, segment{kind: elf.PT_LOAD, flags: elf.PF_R, address: base, memorySize: 0x1000, offset: at + size, fileSize: uint64(len(first))})
	large = m.program(large, segment{kind: elf.PT_NOTE, offset: at + size + uint64(len(first)), fileSize: uint64(len(note))})
	claimed := m.program(m.header(elf.ET_CORE, 0xffff), segment{kind: elf.PT_NOTE, offset: 1 << 60, fileSize: 1 << 60})
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"large":    {io.MultiReader(bytes.NewReader(large), &zeros{size}, bytes.NewReader(append(first, note...))), sampleList},
		"claiming": {bytes.NewReader(claimed), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := List(c.in)
		runtime.ReadMemStats(&after)
		if string(got) != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d bytes allocated", name, used)
		}
	}
}

// program crashes.
const program = "#include <stdlib.h>\nint main(void) { abort(); }\n"

// TestReal reads core files that the kernel and gdb write, and compares with what gdb prints of them.
func TestReal(t *testing.T) {
	dir := t.TempDir()
	source, exe := filepath.Join(dir, "crash.c"), filepath.Join(dir, "crash")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-Wl,--build-id=0x0102030405060708", "-o", exe, source).CombinedOutput(); err != nil {
		t.Skipf("no gcc: %v %s", err, out)
	}
	for name, command := range map[string][]string{
		"kernel": {"sh", "-c", "ulimit -c unlimited; exec ./crash"},
		"gdb":    {"gdb", "-nx", "-batch", "-ex", "run", "-ex", "generate-core-file core", "./crash"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(command[0], command[1:]...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			core := filepath.Join(dir, "core")
			found, _ := filepath.Glob(core + "*")
			if len(found) == 0 {
				t.Skipf("no core file: %v %s", err, out)
			}
			defer os.Remove(found[0])
			in, err := os.Open(found[0])
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			list, err := List(in)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(found[0])
			if err != nil {
				t.Fatal(err)
			}
			if again, err := List(streamed{bytes.NewReader(b)}); !bytes.Equal(list, again) || err != nil {
				t.Errorf("as a stream: %s, %v", again, err)
			}
			peer, err := exec.Command("gdb", "-nx", "-batch", "-ex", "info proc mappings", "-c", found[0], exe).Output()
			if err != nil {
				t.Skip("no gdb to compare with")
			}
			compare(t, string(list), string(peer), exe)
		})
	}
}

// compare compares a list with the mappings that gdb prints: start, end, size, offset, in newer versions permissions, and the file.
func compare(t *testing.T, list, peer, exe string) {
	n := 0
	for line := range strings.Lines(peer) {
		f := strings.Fields(line)
		if len(f) < 5 || !strings.HasPrefix(f[0], "0x") {
			continue
		}
		n++
		name := f[len(f)-1]
		want := fmt.Sprintf("    %016s-", f[0][2:])
		_, mine, found := strings.Cut(list, want)
		mine, _, _ = strings.Cut(mine, "\n")
		if mine = strings.Join(strings.Fields(mine), " "); !found || !strings.Contains(mine+" ", fmt.Sprintf(" %s %s %s ", f[3][2:], f[2][2:], name)) {
			t.Errorf("%s: %q", line, mine)
		}
		if name == exe && !strings.HasSuffix(mine, " (BuildId: 0102030405060708)") {
			t.Errorf("%s: no build ID: %q", line, mine)
		}
	}
	if n == 0 || n != strings.Count(list, "\n") {
		t.Errorf("gdb prints %d mappings, the list has\n%s", n, list)
	}
	if !strings.Contains(list, " r-x ") {
		t.Errorf("nothing is executable in\n%s", list)
	}
}

// FuzzList reads damaged core files: nothing panics, and lines have the form of a list.
func FuzzList(f *testing.F) {
	for _, m := range makers {
		f.Add(m.sample())
	}
	for at := range makers["64 bit, little"].sample() {
		b := makers["64 bit, little"].sample()
		b[at] ^= 0xff
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := both(t, b)
		if err != nil && got != "" {
			t.Errorf("%q, %v", got, err)
		}
		for line := range strings.Lines(got) {
			if !strings.HasPrefix(line, "    ") || len(line) < 50 || line[20] != '-' || line[37] != ' ' {
				t.Errorf("%q", line)
			}
		}
	})
}
