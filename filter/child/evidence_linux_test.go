package child

import (
	"bufio"
	"bytes"
	"context"
	"debug/elf"
	wire "encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMaps asks for maps while a command with a child of its own lives, and after their end.
func TestMaps(t *testing.T) {
	in, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := NewMaps()
	m.unrecorded = true
	if len(m.All()) != 0 {
		t.Error("maps before the start")
	}
	done := make(chan int)
	go func() {
		status, _ := Run(context.Background(), Options{
			Argv: []string{"sh", "-c", "echo x; cat; exit 3"}, New: newStream, Stdin: in, Stdout: out, Stderr: out, Maps: m,
		})
		done <- status
	}()
	var all []Snapshot
	for len(all) < 2 || !bytes.Contains(all[0].raw, []byte("/cat")) && !bytes.Contains(all[0].raw, []byte("/coreutils")) {
		all = m.All()
	}
	in.Close()
	stop.Close()
	if status := <-done; status != 3 {
		t.Errorf("status %d", status)
	}
	after := m.All() // they are gone
	if len(after) != len(all) {
		t.Errorf("%d processes, %d after their end", len(all), len(after))
	}
	for i, s := range after {
		if s.PID != all[i].PID || !bytes.Contains(s.raw, []byte(" r-xp ")) {
			t.Errorf("process %d, after its end: %q", s.PID, s.raw)
		}
	}
}

// TestReadAhead kills a command before its maps were asked for.
func TestReadAhead(t *testing.T) {
	in, stop, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	m := NewMaps()
	m.unrecorded = true
	known := func() int {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.kept)
	}
	done := make(chan int)
	go func() {
		status, _ := Run(context.Background(), Options{
			Argv: []string{"sh", "-c", "read line; kill -9 $$"}, New: newStream, Stdin: in, Stdout: os.Stdout, Stderr: os.Stdout, Maps: m,
		})
		done <- status
	}()
	for known() == 0 {
		runtime.Gosched()
	}
	stop.Close()
	if status := <-done; status != 128+9 || known() != 1 {
		t.Errorf("status %d, %d processes are known", status, known())
	}
}

// compiled builds testdata/said.c with the library that it needs and the one that it is given, in a new directory.
func compiled(t *testing.T, flags ...string) (dir string) { return compiledAs(t, "said", flags...) }

// compiledAs builds a program of testdata with these libraries.
func compiledAs(t *testing.T, program string, flags ...string) (dir string) {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"early.c": "void early(void) {}\n", "late.c": "void late(void) {}\n", "other.c": "void other(void) {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	source, err := filepath.Abs("testdata/" + program + ".c")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-Wl,--build-id,-soname,libearly.so.1", "-o", "libearly.so", "early.c"},
		{"-shared", "-fPIC", "-Wl,--build-id", "-o", "late.so", "late.c"},
		{"-shared", "-fPIC", "-Wl,--build-id", "-o", "other.so", "other.c"},
		append(flags, "-Wl,--build-id,-rpath,"+dir, "-o", program, source, "libearly.so", "-ldl", "-pthread"),
	} {
		build := exec.Command("gcc", args...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Skipf("gcc: %v\n%s", err, out)
		}
	}
	if err := os.Symlink("libearly.so", filepath.Join(dir, "libearly.so.1")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// started starts a program, which runs until the test ends, and returns the addresses that it says and what is known of its mappings.
func started(t *testing.T, dir string, argv ...string) (said map[string]uint64, m *Maps) {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait()
	})
	said = map[string]uint64{}
	for r := bufio.NewReader(stdout); ; {
		line, err := r.ReadString('\n')
		if err != nil || line == "\n" {
			break
		}
		var name string
		var addr uint64
		if _, err := fmt.Sscanf(line, "%s 0x%x", &name, &addr); err == nil {
			said[name] = addr
		}
	}
	m = NewMaps()
	m.root = cmd.Process.Pid
	return said, m
}

// listedCode starts a program, changes its directory, and returns the files in the list of its maps at the addresses that it
// says. raw is what the kernel says of it.
func listedCode(t *testing.T, dir string, change func(dir string) error, argv ...string) (at map[string]string, raw string) {
	t.Helper()
	said, m := started(t, dir, argv...)
	if err := change(dir); err != nil {
		t.Fatal(err)
	}
	all := m.All()
	if len(said) < 4 || len(all) != 1 {
		t.Skipf("%s does not run here: it says %v, there are %d processes", strings.Join(argv, " "), said, len(all))
	}
	at = map[string]string{}
	for line := range strings.Lines(string(all[0].Text)) {
		var start, last uint64
		var mode, path string
		var offset, size uint64
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %x %s", &start, &last, &mode, &offset, &size, &path); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for name, addr := range said {
			if start <= addr && addr <= last {
				at[name] = strings.TrimRight(filepath.Base(path), "-.0123456789")
			}
		}
	}
	return at, string(all[0].raw)
}

// TestEvidence asks which mappings count as evidence.
func TestEvidence(t *testing.T) {
	if random, err := randomized("/proc/self"); err != nil || !random {
		t.Skip("places are not random here")
	}
	own := map[string]string{"main": "said"}
	needed := map[string]string{"early": "libearly.so", "puts": "libc.so"}
	both := maps.Clone(own)
	maps.Copy(both, needed)
	away := own // what the program still leads to
	if followsMapped() {
		away = both
	}
	keep := func(string) error { return nil }
	for _, c := range []struct {
		name   string
		flags  []string
		change func(dir string) error
		argv   []string
		want   map[string]string
	}{
		{"position-independent", []string{"-fpie", "-pie"}, keep, []string{"./said"}, both},
		{"with another library", []string{"-fpie", "-pie"}, keep, []string{"./said", "./late.so"}, both},
		{"at a fixed address", []string{"-fno-pie", "-no-pie"}, keep, []string{"./said", "./late.so"}, needed},
		{"nothing is random", []string{"-fpie", "-pie"}, keep, []string{"setarch", "-R", "./said"}, nil},
		{"a library is gone", []string{"-fpie", "-pie"}, func(dir string) error { return os.Remove(dir + "/libearly.so") },
			[]string{"./said"}, away},
		{"a library is another by now", []string{"-fpie", "-pie"}, func(dir string) error { return os.Rename(dir+"/late.so", dir+"/libearly.so") },
			[]string{"./said"}, away},
		{"the program is gone", []string{"-fpie", "-pie"}, func(dir string) error { return os.Remove(dir + "/said") }, []string{"./said"}, both},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := exec.LookPath(c.argv[0]); err != nil && c.argv[0] == "setarch" {
				t.Skip("setarch is not installed")
			}
			got, raw := listedCode(t, compiled(t, c.flags...), c.change, c.argv...)
			if !maps.Equal(got, c.want) {
				t.Errorf("%v count, want %v, of\n%s", got, c.want, raw)
			}
		})
	}
}

// TestRan asks which files a program was seen with: those that it has mapped, by any path, as long as they lie there.
func TestRan(t *testing.T) {
	dir := compiled(t, "-fpie", "-pie")
	if err := os.Symlink("late.so", filepath.Join(dir, "link.so")); err != nil {
		t.Fatal(err)
	}
	replace := func(old, with string) func() error {
		return func() error { return os.Rename(filepath.Join(dir, with), filepath.Join(dir, old)) }
	}
	_, m := started(t, dir, "./said", "./late.so")
	for _, c := range []struct {
		when   string
		change func() error
		ran    []string
		not    []string
	}{
		{"it runs", nil, []string{"said", "late.so", "link.so", "libearly.so", "libearly.so.1", "/lib/x86_64-linux-gnu/libc.so.6"}, []string{"other.so", "said.c", "none", ""}},
		{"a library is another by now", replace("late.so", "other.so"), []string{"said", "libearly.so"}, []string{"late.so", "link.so", "other.so"}},
		{"the program is gone", func() error { return os.Remove(filepath.Join(dir, "said")) }, []string{"libearly.so"}, []string{"said", "late.so"}},
	} {
		if c.change != nil {
			if err := c.change(); err != nil {
				t.Fatal(err)
			}
		}
		if all := m.All(); len(all) != 1 {
			t.Skipf("there are %d processes", len(all))
		}
		for name, file := range map[string]string{"said": "said", "libearly.so": "libearly.so", "libearly.so.1": "libearly.so", "other.so": "", "": ""} {
			path, id := m.Named(name)
			if here := path != "" && id == ""; here != slices.Contains(c.ran, file) || here && path != filepath.Join(dir, file) {
				t.Errorf("when %s: %s is at %q, with ID %q", c.when, name, path, id)
			}
		}
		for i, path := range append(c.ran, c.not...) {
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			if got, want := m.Ran(path), i < len(c.ran); got != want {
				t.Errorf("when %s: %s: %t", c.when, path, got)
			}
		}
	}
}

// TestBuildIDs compares build IDs in the list with those that readelf shows.
func TestBuildIDs(t *testing.T) {
	if _, err := exec.LookPath("readelf"); err != nil {
		t.Skip("readelf is not installed (Debian: binutils)")
	}
	dir := compiled(t, "-fpie", "-pie")
	var list []mapping
	for i, name := range []string{"said", "late.so"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, mapping{lowest, lowest + 0x1000, 0x1000, info.Sys().(*syscall.Stat_t).Ino, filepath.Join(dir, name)})
		var s Snapshot
		f := files{}
		f.set(&s, nil, f.lasting(list[i:], list[i].inode), true)
		got := string(s.Text)
		out, err := exec.Command("readelf", "-n", filepath.Join(dir, name)).Output()
		if err != nil {
			t.Fatal(err)
		}
		id := regexp.MustCompile(`Build ID: ([0-9a-f]+)`).FindSubmatch(out)
		want := fmt.Sprintf("0000000100000000-0000000100000fff r-x 1000 1000 %s (BuildId: %s)\n", list[i].path, id[1])
		if got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

// TestNames holds that a library counts only where no other one might be that which is needed.
func TestNames(t *testing.T) {
	program := mapping{lowest, lowest + 1, 0, 1, "/said"}
	library := func(inode uint64, path string) mapping { return mapping{lowest << 1, lowest<<1 + 1, 0, inode, path} }
	f := files{
		{1, "/said"}:   {needed: []string{"libx.so.1"}, movable: true},
		{2, "/x.so"}:   {soname: "libx.so.1", movable: true},
		{3, "/x.so"}:   {soname: "libx.so.1", movable: true},
		{4, "/x.so"}:   nil,
		{5, "/x.so"}:   {movable: true},
		{6, "/memfd:"}: nil,
		{7, "/x.so"}:   {soname: "libx.so.1"},
	}
	for name, c := range map[string]struct {
		others []mapping
		want   int
	}{
		"the program alone":       {nil, 1},
		"what it needs":           {[]mapping{library(2, "/x.so")}, 2},
		"something else":          {[]mapping{library(5, "/x.so")}, 1},
		"two of a name":           {[]mapping{library(2, "/x.so"), library(3, "/x.so")}, 1},
		"one that cannot be read": {[]mapping{library(2, "/x.so"), library(4, "/x.so")}, 1},
		"generated code":          {[]mapping{library(2, "/x.so"), library(6, "/memfd:")}, 2},
		"at a fixed address":      {[]mapping{library(7, "/x.so")}, 1},
		"the program, twice":      {[]mapping{program, library(2, "/x.so")}, 0},
		"32 bits":                 {[]mapping{{0xf7000000, 0xf7000001, 0, 2, "/x.so"}}, 1},
	} {
		var s Snapshot
		f.set(&s, nil, f.lasting(slices.Concat([]mapping{program}, c.others), program.inode), true)
		if n := bytes.Count(s.Text, []byte("\n")); n != c.want {
			t.Errorf("%s: %d count, want %d:\n%s", name, n, c.want, s.Text)
		}
	}
}

// TestReadMappings reads lines of /proc/PID/maps.
func TestReadMappings(t *testing.T) {
	got := readMappings([]byte("55cf1954e000-55cf1954f000 r--p 00000000 fe:00 5316636    /a b/prog\n" +
		"55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /a b/prog\n" +
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n" +
		"7ffd6a5f1000-7ffd6a5f3000 r-xp 00000000 00:00 0                          [vdso]\n" +
		"x /y\n/z\n" +
		"7f0000002000-7f0000003000 r-xp 00000000 fe:00 7 /lib.so (deleted)"))
	want := []mapping{{0x55cf1954f000, 0x55cf19550000, 0x1000, 5316636, "/a b/prog"},
		{0x7f0000002000, 0x7f0000003000, 0, 7, "/lib.so"}}
	if !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// writeELF writes a header that is all of an ELF file, in the place of what was there, until that shows: the clock of the file
// system is coarse. It returns the inode.
func writeELF(t *testing.T, path string, typ elf.Type) uint64 {
	t.Helper()
	h := elf.Header64{Type: uint16(typ), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := wire.Write(&b, wire.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	var before, after unix.Stat_t
	_ = unix.Stat(path, &before) // it need not be there
	for after = before; after.Ctim == before.Ctim; {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Stat(path, &after); err != nil {
			t.Fatal(err)
		}
	}
	return after.Ino
}

// TestSameInode puts another program in the place of one that is known, in the same inode.
func TestSameInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f := files{}
	var m mapping
	for _, typ := range []elf.Type{elf.ET_DYN, elf.ET_EXEC, elf.ET_DYN} {
		m = mapping{inode: writeELF(t, path, typ), path: path}
		for range 2 {
			f.forgetChanged([]mapping{m})
			if b := f.of(m); b == nil || b.movable != (typ == elf.ET_DYN) {
				t.Errorf("%v: %+v", typ, b)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if f.forgetChanged([]mapping{m}); f.of(m) != nil {
		t.Error("a file that is gone is known")
	}
}

// TestIsRandom has places that kernels chose: of 120,000 starts on x86-64 those where the loader was highest, and of starts without randomization.
func TestIsRandom(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the places are those of x86-64")
	}
	for _, c := range []struct {
		base uint64
		want bool
	}{
		{0x7ffbff269000, true}, {0x7ffbfeebb000, true}, {0x7ffbf8a0c000, true}, {0x7f0000000000, true}, {0x55d1a3c4e000, true}, {0x400000, true},
		{0x7ffff7fc3000, false},
		{0x7fffbaf9a000, false}, // ulimit -s 1000000
		{0x555555554000, false},
		{0x2aaaaaaab000, false}, // ulimit -s unlimited
	} {
		if got := isRandom(c.base); got != c.want {
			t.Errorf("%#x: %v", c.base, got)
		}
	}
}
