package ctxstate

import (
	"encoding/hex"
	"strings"
	"testing"

	"qss-filter/filter/mappings"
	"qss-filter/symsrc"
)

// add adds a line of a list of mappings, and reports whether it is one.
func add(p *Process, text string, line int) bool {
	m, ok := mappings.Parse([]byte(text))
	if ok {
		p.AddListed(&Listed{uint8(m.Format), m.Start, m.Last, m.Space, m.Offset, m.Mode, m.Names(), m.Path, m.Written, m.BuildID}, line)
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
