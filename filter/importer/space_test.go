package importer

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// mapsOf reads maps as a file has them.
func mapsOf(text string) (all []mapping) {
	for line := range strings.Lines(text) {
		if m, ok := parseMapping([]byte(line)); ok {
			all = append(all, m)
		}
	}
	return all
}

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]string{
		"55f5ef187000-55f5ef189000 r-xp 00002000 fe:00 5324893                    /usr/bin/a b": "55f5ef187000 55f5ef189000 r-xp 2000 /usr/bin/a b",
		"7ff81a286000-7ff81a28a000 r--p 00000000 00:00 0 ":                                      "7ff81a286000 7ff81a28a000 r--p 0 [anon]",
		"7ff81a286000-7ff81a28a000 r--p 00000000 00:00 0":                                       "7ff81a286000 7ff81a28a000 r--p 0 [anon]",
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]":   "ffffffffff600000 ffffffffff601000 --xp 0 [vsyscall]",
		"1000-2000 r-xp 00000000 fe:00 12 /tmp/x (deleted)":                                     "1000 2000 r-xp 0 /tmp/x (deleted)",
		"not-maps":                             "",
		"":                                     "",
		"2000-1000 r-xp 00000000 fe:00 12 /x":  "",
		"1000-2000 rrxp 00000000 fe:00 12 /x":  "",
		"1000-2000 r-xp 00000000 fe:00":        "",
		"1000-2000 r-xp 0000000g fe:00 12 /x":  "",
		"I 1000-2000 r-xp 00000000 fe:00 12 /": "",
	} {
		m, ok := parseMapping([]byte(line))
		if got := fmt.Sprintf("%x %x %s %x %s", m.start, m.end, m.perm, m.offset, m.path); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", line, got, ok)
		}
	}
}

// prober answers as one file does, whose first segment is at an address of its own.
type prober struct{ name, low string }

func (p prober) Frames(context.Context, symsrc.Addr) symsrc.Answer { return symsrc.Answer{} }

func (p prober) Probe(_ context.Context, q symsrc.Addr) symsrc.Probe {
	var low uint64
	if _, err := fmt.Sscanf(p.low, "%v", &low); err != nil || q.Module.Name != p.name {
		return symsrc.Probe{}
	}
	return symsrc.Probe{Linked: low + q.Offset, CallDistance: 1}
}

// TestPlaces checks where modules are taken to lie: a program at a fixed address, one that is moved, the layout of lld, two
// copies, what is below a library, and 32 bits.
func TestPlaces(t *testing.T) {
	const wide = "7fff00000000-7fff00001000 rw-p 00000000 00:00 0 [stack]\n"
	for _, c := range []struct {
		name, maps string
		addr       uint64
		want       string
		symbols    symsrc.Source
	}{
		{"fixed", "00400000-00401000 r--p 00000000 fe:00 1 /a\n00401000-00402000 r-xp 00001000 fe:00 1 /a\n" + wide, 0x401010, "/a+0x401010", nil},
		{"moved", "550000000000-550000001000 r--p 00000000 fe:00 1 /a\n550000001000-550000002000 r-xp 00001000 fe:00 1 /a\n", 0x550000001010, "/a+0x1010", nil},
		{"lld", "7f0000000000-7f0000001000 r--p 00000000 fe:00 1 /a\n7f0000001000-7f0000002000 r-xp 00000000 fe:00 1 /a\n", 0x7f0000001340, "/a+0x1340", nil},
		{"second copy", "7f0000000000-7f0000100000 r--p 00000000 fe:00 1 /a\n7f0000100000-7f0000101000 r--p 00000000 fe:00 1 /a\n" +
			"7f0000101000-7f0000202000 r-xp 00001000 fe:00 1 /a\n", 0x7f0000101340, "/a+0x1340", nil},
		{"anonymous between", "7f0000000000-7f0000001000 r--p 00000000 fe:00 1 /a\n7f0000001000-7f0000003000 ---p 00000000 00:00 0\n" +
			"7f0000003000-7f0000004000 r-xp 00001000 fe:00 1 /a\n", 0x7f0000003340, "/a+0x3340", nil},
		{"inside an archive", "7f0000000000-7f0000001000 r-xp 00340000 fe:00 1 /base.apk\n", 0x7f0000000340, "?", nil},
		{"inside an archive, known", "7f0000000000-7f0000001000 r-xp 00340000 fe:00 1 /base.apk\n", 0x7f0000000340, "/base.apk+0x340340", prober{"/base.apk", "0"}},
		{"prelinked", "3f0000000000-3f0000001000 r-xp 00000000 fe:00 1 /a\n", 0x3f0000000340, "/a+0x3f0000000340", prober{"/a", "0x3f0000000000"}},
		{"32 bits, fixed", "08048000-08049000 r-xp 00000000 fe:00 1 /a\n", 0x8048340, "/a+0x8048340", nil},
		{"32 bits, library", "b7000000-b7001000 r-xp 00000000 fe:00 1 /a\n", 0xb7000340, "/a+0x340", nil},
		{"32 bits, either", "00400000-00401000 r-xp 00000000 fe:00 1 /a\n", 0x400340, "?", nil},
		{"vdso", "7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]\n", 0x7f0000000340, "[vdso]+0x340", nil},
		{"below", "7f0000001000-7f0000002000 r-xp 00000000 fe:00 1 /a\n", 0x7f0000000fff, "-", nil},
		{"after", "7f0000001000-7f0000002000 r-xp 00000000 fe:00 1 /a\n", 0x7f0000002000, "-", nil},
		{"data", "7f0000001000-7f0000002000 rw-p 00000000 fe:00 1 /a\n", 0x7f0000001000, "-", nil},
	} {
		s := newSpace(mapsOf(c.maps), wholeMaps)
		got := "-"
		if m := s.find(c.addr); m != nil {
			got = "?"
			if off, ok := (placer{c.symbols}).inModule(context.Background(), s, m, c.addr); ok {
				got = fmt.Sprintf("%s+%#x", m.path, off)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// libraries are maps of n libraries, each with a gap after it.
func libraries(n int) []mapping {
	var all []mapping
	for i := range uint64(n) {
		base := 0x7f0000000000 + i*0x10000
		all = append(all, mapping{start: base, end: base + 0x1000, perm: "r--p", path: fmt.Sprintf("/usr/lib/lib%d.so", i)},
			mapping{start: base + 0x1000, end: base + 0x9000, perm: "r-xp", offset: 0x1000, path: fmt.Sprintf("/usr/lib/lib%d.so", i)})
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// TestFind compares the search with a walk over all mappings.
func TestFind(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 7, 1000} {
		s := newSpace(libraries(n), wholeMaps)
		if len(s.mappings) != n {
			t.Fatalf("%d executable mappings of %d", len(s.mappings), n)
		}
		for k := range uint64(4 * (n + 2)) {
			addr := 0x7efffffff000 + k*0x3fff
			var want *mapping
			for i := range s.mappings {
				if m := &s.mappings[i]; addr >= m.start && addr < m.end {
					want = m
				}
			}
			if got := s.find(addr); got != want {
				t.Fatalf("%d libraries: %#x is in %v, want %v", n, addr, got, want)
			}
		}
	}
}

// TestSnapshots checks the choice of maps: by number, a number that is not there, the newest dump, and of several for
// stacks that name none those that agree.
func TestSnapshots(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := func(start uint64, path string) string {
		return fmt.Sprintf("%x-%x r-xp 00000000 fe:00 1 %s\n", start, start+0x1000, path)
	}
	write("maps.0", line(0x7f0000000000, "/a")+line(0x7f0000010000, "/both"))
	write("maps.1", "malformed\n"+line(0x7f0000000000, "/b")+line(0x7f0000010000, "/both"))
	byID := write("by_id.txt", "stack 0 map_id 0\n  0x7f0000000100\n\nstack 1 map_id 1\n  0x7f0000000100\n\nstack 2 map_id 9\n  0x7f0000000100\n\nstack 3 map_id 0\n\n")
	export := write("export.txt", "[3] Call Stack (depth: 2)\n  0x7f0000000100\n  0x7f0000010100\n")
	log := write("log.txt", "start\n"+line(0x7f0000000000, "/a")+"[5] Call Stack (depth: 1)\n  0x7f0000000100\nnow\n"+line(0x7f0000010000, "/b")+
		"  0x7f0000000100\n  0x7f0000010100\n")
	for path, want := range map[string]string{
		byID:   "stack 0 map_id 0\n/a + 0x100\n\nstack 1 map_id 1\n/b + 0x100\n\nstack 2 map_id 9\n[unknown] + 0x7f0000000100\n\nstack 3 map_id 0\n\n",
		export: "[3] Call Stack (depth: 2)\n[unknown] + 0x7f0000000100\n/both + 0x100\n",
		log:    "start\n[5] Call Stack (depth: 1)\n/a + 0x100\nnow\n[unknown] + 0x7f0000000100\n/b + 0x100\n",
	} {
		if got, err := lines(t, path, Options{Offsets: InModule}); err != nil || got != want {
			t.Errorf("%s: %v\n%s", path, err, got)
		}
	}
	if text, err := lines(t, export, Options{By: ByModule}); err != nil || !strings.Contains(text, "100.00%  [unknown]") {
		t.Errorf("%v\n%s", err, text)
	}
	if _, _, err := readMaps(perFlowInput{write("none", "no maps\n"), mapsText}, &output{}); err == nil {
		t.Error("maps without a mapping are taken")
	}
}

// TestManySnapshots checks that a log with ever new maps needs no more memory for it.
func TestManySnapshots(t *testing.T) {
	var log strings.Builder
	for i := range uint64(2 * maxSnapshots) {
		fmt.Fprintf(&log, "map_id %d\n7f0000000000-7f0000001000 r-xp 00000000 fe:00 1 /a%d\n  0x7f0000000100\n", i, i)
	}
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := &output{Writer: bufio.NewWriter(io.Discard)}
	r := newStackReader(out)
	if err := r.text(context.Background(), perFlowInput{path, stacksLog}); err != nil || len(r.spaces) != maxSnapshots {
		t.Errorf("%v, %d snapshots", err, len(r.spaces))
	}
}

// BenchmarkWalk is the search of PerFlow itself, which goes through the libraries one by one: the ratio counts.
func BenchmarkWalk(b *testing.B) {
	s := newSpace(libraries(1000), wholeMaps)
	r := rand.New(rand.NewPCG(3, 4))
	n := 0
	for range b.N {
		addr := 0x7f0000001000 + r.Uint64N(1000)*0x10000 + r.Uint64N(0x8000)
		for i := range s.mappings {
			if m := &s.mappings[i]; addr >= m.start && addr < m.end {
				n += len(m.path)
				break
			}
		}
	}
	_ = n
}

// BenchmarkResolve resolves addresses among 1,000 libraries.
func BenchmarkResolve(b *testing.B) {
	s := newSpace(libraries(1000), wholeMaps)
	p := placer{}
	r := rand.New(rand.NewPCG(3, 4))
	addrs := make([]uint64, 1<<20)
	for i := range addrs {
		addrs[i] = 0x7f0000001000 + r.Uint64N(1000)*0x10000 + r.Uint64N(0x8000)
	}
	ctx := context.Background()
	var sum uint64
	b.ResetTimer()
	for i := range b.N {
		addr := addrs[i&(1<<20-1)]
		m := s.find(addr)
		if m == nil {
			b.Fatal("not found")
		}
		off, _ := p.inModule(ctx, s, m, addr)
		sum += off
	}
	_ = sum
}
