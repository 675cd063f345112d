package ctxstate

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

// add adds a line of a list of mappings, and reports whether it is one.
func add(p *Process, text string, line int) bool {
	m, ok := mappings.Parse([]byte(text))
	if ok {
		p.AddListed(&Listed{List: uint8(m.Format), Start: m.Start, Last: m.Last, Space: m.Space, Offset: m.Offset, Mode: m.Mode,
			Module: m.Names(), Path: m.Path, Written: m.Written, BuildID: m.BuildID}, line)
	}
	return ok
}

// TestAddListed adds lists of mappings in all formats, and resolves an address in each.
func TestAddListed(t *testing.T) {
	for _, c := range []struct {
		name, list string
		addr       uint64
		path       string
		off        uint64
		space      symsrc.Space
	}{
		{"proc", `55cf1954e000-55cf1954f000 r--p 00000000 fe:00 5316636    /tmp/my\040prog+1
55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /tmp/my\040prog+1
7f0000000000-7f0000001000 rw-p 00000000 00:00 0 
7ffd6a5f1000-7ffd6a5f3000 r-xp 00000000 00:00 0                          [vdso]`,
			0x55cf1954f1b9, "/tmp/my prog+1", 0x11b9, symsrc.InFile},
		{"deleted", "55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636                    /bin/x (deleted)", 0x55cf1954f000, "/bin/x (deleted)", 0x1000, symsrc.InFile},
		{"tombstone, 32 bits", "    0d5e6000-0d5e6fff r-x      1000      1000  /system/bin/app_process32 (BuildId: 53b18348) (load bias 0x1000)",
			0xd5e6fff, "/system/bin/app_process32", 0x1fff, symsrc.InFile},
		{"tombstone, 64 bits", "--->0000006d'682c1000-0000006d'6838ffff r-x         0     cf000  /data/app/libQnnHtp.so", 0x6d68300000,
			"/data/app/libQnnHtp.so", 0x3f000, symsrc.InFile},
		{"Tizen", "b7461000 b75d2000 r-xp /lib/libc-2.13.so", 0xb74d57ad, "/lib/libc-2.13.so", 0x747ad, symsrc.InText},
		{"sanitizer", "\t0x55cf1954e000-0x55cf1954f000\t/bin/crash\n\t0x55cf19550000-0x55cf19560000\t/bin/crash\n\t0x7f0000000000-0x7f0000001000\t/lib/libc.so.6",
			0x55cf19550010, "/bin/crash", 0x2010, symsrc.InImage},
		{"gdb", "      0x555555554000     0x555555555000     0x1000        0x0  r--p   /bin/x\n      0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /bin/x",
			0x555555555010, "/bin/x", 0x1010, symsrc.InFile},
		{"old gdb", "      0x555555555000     0x555555556000     0x1000     0x1000 /bin/x", 0x555555555010, "/bin/x", 0x1010, symsrc.InFile},
	} {
		p := New().Process("")
		for i, line := range strings.Split(c.list, "\n") {
			if !add(p, line, i+1) {
				t.Errorf("%s: %q is not a mapping", c.name, line)
			}
		}
		m, ok := p.Resolve(c.addr)
		if !ok {
			t.Errorf("%s: nothing at %#x", c.name, c.addr)
			continue
		}
		if m.Module.Name != c.path || m.ModuleAddr(c.addr) != c.off || m.Space != c.space {
			t.Errorf("%s: %#x is %s+%#x in space %d, want %s+%#x in space %d", c.name, c.addr, m.Module.Name, m.ModuleAddr(c.addr), m.Space, c.path, c.off, c.space)
		}
		if c.name == "tombstone, 32 bits" && hex.EncodeToString([]byte(m.Module.BuildID)) != "53b18348" {
			t.Errorf("%s: build ID %x", c.name, m.Module.BuildID)
		}
	}
}

// TestNextList checks that a list replaces the previous one, but not mappings of markup.
func TestNextList(t *testing.T) {
	p := New().Process("")
	feed(t, p, "{{{module:0:marked:elf:aa}}}", "{{{mmap:0x9000:0x1000:load:0:rx:0x0}}}")
	list := func(line int, texts ...string) {
		for i, text := range texts {
			if !add(p, text, line+i) {
				t.Fatalf("%q is not a mapping", text)
			}
		}
	}
	at := func(addr uint64) string {
		m, ok := p.Resolve(addr)
		if !ok {
			return ""
		}
		return m.Module.Name
	}
	list(1, "00001000-00002000 r-xp 00000000 fe:00 1 /a", "00003000-00004000 r-xp 00000000 fe:00 1 /b")
	if at(0x1000) != "/a" || at(0x3000) != "/b" || at(0x9000) != "marked" || !p.Listed() {
		t.Fatalf("after the first list: %q %q %q", at(0x1000), at(0x3000), at(0x9000))
	}
	list(3, "00001000-00002000 r-xp 00000000 fe:00 1 /c")
	if at(0x1000) != "/c" || at(0x3000) != "" || at(0x9000) != "marked" {
		t.Fatalf("after the second list: %q %q %q", at(0x1000), at(0x3000), at(0x9000))
	}
	list(1000, "00005000-00006000 r-xp 00000000 fe:00 1 /d") // too many lines after that list
	if at(0x1000) != "" || at(0x5000) != "/d" {
		t.Fatalf("after the third list: %q %q", at(0x1000), at(0x5000))
	}
	p.Reset()
	if at(0x5000) != "" || p.Listed() {
		t.Fatal("the list remains after a reset")
	}
}

// layouts write a list of mappings of a process whose program is at base and whose libraries are at libs.
var layouts = map[string]func(base, libs uint64) []string{
	"proc": func(base, libs uint64) []string {
		line := func(at, size, off uint64, mode, path string) string {
			return fmt.Sprintf("%012x-%012x %s %08x fe:00 7 \t%s", at, at+size, mode, off, path)
		}
		return []string{
			line(base, 0x1000, 0, "r--p", "/bin/crash"), line(base+0x1000, 0x1000, 0x1000, "r-xp", "/bin/crash"), line(base+0x3000, 0x1000, 0x2000, "rw-p", "/bin/crash"),
			line(base+0x10000, 0x1000, 0, "rw-p", "[heap]"), line(libs, 0x1000, 0, "r--p", "/lib/libc.so.6"), line(libs+0x1000, 0x1000, 0x1000, "r-xp", "/lib/libc.so.6"),
			line(libs+0x8000, 0x1000, 0, "r-xp", "/lib/ld.so"), line(libs+0x9000, 0x1000, 0, "rw-p", ""), line(libs+0x20000, 0x1000, 0, "rw-p", "[stack]"),
			line(libs+0x22000, 0x1000, 0, "r-xp", "[vdso]"), line(0xffffffffff600000, 0x1000, 0, "--xp", "[vsyscall]"),
		}
	},
	"tombstone": func(base, libs uint64) []string {
		line := func(at, off uint64, mode, path string) string {
			return fmt.Sprintf("    %08x'%08x-%08x'%08x %s %9x %9x  %s", at>>32, at&0xffffffff, (at+0xfff)>>32, (at+0xfff)&0xffffffff, mode, off, 0x1000, path)
		}
		return []string{line(base, 0, "r--", "/bin/crash"), line(base+0x1000, 0x1000, "r-x", "/bin/crash"), line(libs+0x1000, 0x1000, "r-x", "/lib/libc.so.6"), line(libs+0x8000, 0, "r-x", "/lib/ld.so")}
	},
	"Tizen": func(base, libs uint64) []string {
		line := func(at uint64, path string) string { return fmt.Sprintf("%08x %08x r-xp %s", at, at+0x1000, path) }
		return []string{line(base+0x1000, "/bin/crash"), line(libs+0x1000, "/lib/libc.so.6"), line(libs+0x8000, "/lib/ld.so")}
	},
	"sanitizer": func(base, libs uint64) []string {
		line := func(at uint64, path string) string { return fmt.Sprintf("\t%#x-%#x\t%s", at, at+0x1000, path) }
		return []string{line(base, "/bin/crash"), line(base+0x1000, "/bin/crash"), line(base+0x201000, "/bin/crash"), line(libs, "/lib/libc.so.6"), line(libs+0x1000, "/lib/libc.so.6"), line(libs+0x8000, "/lib/ld.so")}
	},
	"gdb": func(base, libs uint64) []string {
		line := func(at, off uint64, mode, path string) string {
			return fmt.Sprintf("      %#x     %#x     0x1000     %#x  %s  %s", at, at+0x1000, off, mode, path)
		}
		return []string{line(base, 0, "r--p", "/bin/crash"), line(base+0x1000, 0x1000, "r-xp", "/bin/crash"), line(libs+0x1000, 0x1000, "r-xp", "/lib/libc.so.6"), line(libs+0x8000, 0, "r-xp", "/lib/ld.so")}
	},
}

// TestOrder adds the lines of a list in any order, after a list of another process, which must not count any more.
func TestOrder(t *testing.T) {
	const base, libs, otherBase, otherLibs = 0x55cf1954e000, 0x7f2000000000, 0x556000000000, 0x7f1000000000
	random := rand.New(rand.NewPCG(1, 2))
	for name, layout := range layouts {
		for range 50 {
			p, n := New().Process(""), 0
			list := func(texts []string) {
				for _, text := range texts {
					if n++; !add(p, text, n) {
						t.Fatalf("%s: %q is not a mapping", name, text)
					}
				}
			}
			before := layout(otherBase, otherLibs)
			random.Shuffle(len(before), func(i, j int) { before[i], before[j] = before[j], before[i] })
			list(before)
			n++ // another line
			texts := layout(base, libs)
			random.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
			p.EndList()
			list(texts)
			for addr, want := range map[uint64]string{base + 0x1010: "/bin/crash", libs + 0x1010: "/lib/libc.so.6", libs + 0x8010: "/lib/ld.so", otherBase + 0x1010: "", otherLibs + 0x1010: ""} {
				m, ok := p.Resolve(addr)
				if ok != (want != "") || ok && m.Module.Name != want {
					t.Fatalf("%s: %#x is in %+v, want %q\n%s", name, addr, m, want, strings.Join(texts, "\n"))
				}
				off := uint64(0x1010)
				if name == "Tizen" || want == "/lib/ld.so" {
					off = 0x10
				}
				if ok && m.ModuleAddr(addr) != off {
					t.Fatalf("%s: %#x is %s+%#x, want %#x\n%s", name, addr, want, m.ModuleAddr(addr), off, strings.Join(texts, "\n"))
				}
			}
		}
	}
}

// TestAnotherProcess adds lists one after the other, as they are or in another order, with nothing between them: those of the first process must not
// count after those of the second.
func TestAnotherProcess(t *testing.T) {
	const base, libs = 0x55cf1954e000, 0x7f2000000000
	random := rand.New(rand.NewPCG(3, 4))
	for name, layout := range layouts {
		for k, other := range [][2]uint64{{0x556000000000, 0x7f1000000000}, {0x550000000000, 0x7f3000000000}, {0x400000, 0x7f2100000000}, {base, libs}} {
			for round := range 50 {
				before, texts := layout(other[0], other[1]), layout(base, libs)
				if round > 0 {
					random.Shuffle(len(before), func(i, j int) { before[i], before[j] = before[j], before[i] })
					random.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
				}
				p := New().Process("")
				for i, text := range append(before, texts...) {
					add(p, text, i+1)
				}
				for _, addr := range []uint64{other[0] + 0x1010, other[1] + 0x1010} {
					if m, ok := p.Resolve(addr); ok && other[0] != base {
						t.Fatalf("%s %d: %#x is in %s of the process before\n%s", name, k, addr, m.Module.Name, strings.Join(append(before, texts...), "\n"))
					}
				}
				for addr, want := range map[uint64]string{base + 0x1010: "/bin/crash", libs + 0x1010: "/lib/libc.so.6", libs + 0x8010: "/lib/ld.so"} {
					if m, ok := p.Resolve(addr); ok && m.Module.Name != want || !ok && round == 0 {
						t.Fatalf("%s %d: %#x is in %+v, want %q\n%s", name, k, addr, m, want, strings.Join(append(before, texts...), "\n"))
					}
				}
			}
		}
	}
}

// FuzzAddListed checks that no line panics, and that mappings are valid.
func FuzzAddListed(f *testing.F) {
	f.Add("55cf1954f000-55cf19550000 r-xp 00001000 fe:00 5316636    /bin/x")
	f.Add("    0000006d'682c1000-0000006d'6838ffff r--         0     cf000  /data (BuildId: f2c90c1775a109e1) (load bias 0x4000)")
	f.Add("\t0x55cf1954e000-0x55cf1954f000\t/bin/crash")
	f.Fuzz(func(t *testing.T, line string) {
		p := New().Process("")
		add(p, line, 1)
		for _, m := range p.Mappings() {
			if m.Last < m.Start || m.Module.Name == "" {
				t.Fatalf("%q: %+v", line, m)
			}
		}
	})
}
