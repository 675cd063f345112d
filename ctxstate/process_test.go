package ctxstate

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"qss-filter/markup"
)

// feed applies context elements, without their braces, to a process.
func feed(t testing.TB, p *Process, lines ...string) {
	t.Helper()
	for _, line := range lines {
		e, ok := markup.Next([]byte("{{{"+line+"}}}"), 0)
		if !ok {
			t.Fatalf("no element: %s", line)
		}
		var err error
		switch e.Tag {
		case markup.Reset:
			p.Reset()
		case markup.Module:
			var m markup.ModuleFields
			if m, err = markup.ParseModule(&e); err == nil {
				p.AddModule(m)
			}
		case markup.MMap:
			var m markup.MMapFields
			if m, err = markup.ParseMMap(&e); err == nil {
				_, err = p.AddMMap(m)
			}
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
}

// where returns the module of an address and the address in it, as "name+0x1", or "-".
func where(p *Process, addr uint64) string {
	m, ok := p.Resolve(addr)
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%s+%#x", m.Module.Name, m.ModuleAddr(addr))
}

// expect compares the results of where.
func expect(t *testing.T, p *Process, want map[uint64]string) {
	t.Helper()
	for addr, w := range want {
		if got := where(p, addr); got != w {
			t.Errorf("%#x: %s, want %s", addr, got, w)
		}
	}
}

// dump returns the mappings as text, sorted by address.
func dump(p *Process) string {
	var b strings.Builder
	for _, m := range p.Mappings() {
		fmt.Fprintf(&b, "%x-%x %s %s %x\n", m.Start, m.Last, m.Module.Name, m.Mode, m.Rel)
	}
	return b.String()
}

// TestResolveSpecificationExample checks the example of the markup specification: p_vaddr 0x1000, p_memsz 0x1234, mapped at
// 0x7acba69d5000.
func TestResolveSpecificationExample(t *testing.T) {
	p := New().Process("")
	feed(t, p, "module:1:libc.so:elf:83238ab56ba10497", "mmap:0x7acba69d5000:0x1234:load:1:rx:0x1000")
	expect(t, p, map[uint64]string{
		0x7acba69d4fff: "-", 0x7acba69d5000: "libc.so+0x1000", 0x7acba69d6233: "libc.so+0x2233", 0x7acba69d6234: "-",
		0: "-", math.MaxUint64: "-",
	})
	m := p.Modules()[0]
	if m.ID != 1 || m.BuildID != "\x83\x23\x8a\xb5\x6b\xa1\x04\x97" {
		t.Errorf("%+q", m.BuildID)
	}
}

// TestReuseOfARange maps a library in the range of an unloaded one, without a reset: the newest mapping counts, and the addresses that the
// new library does not cover still belong to the old one.
func TestReuseOfARange(t *testing.T) {
	p := New().Process("")
	feed(t, p,
		"module:8:./plugin.so:elf:aa", "mmap:0x7f0000:0x1000:load:8:r:0x0", "mmap:0x7f1000:0x1000:load:8:rx:0x1000",
		"mmap:0x7f2000:0x2000:load:8:rw:0x2000")
	expect(t, p, map[uint64]string{0x7f1560: "./plugin.so+0x1560"})
	before := p.Generation()
	feed(t, p,
		"module:9:./poke.so:elf:bb", "mmap:0x7f0000:0x800:load:9:r:0x0", "mmap:0x7f0800:0x1900:load:9:rx:0x1800",
		"mmap:0x7f2100:0x100:load:9:rw:0x4100")
	if p.Generation() == before {
		t.Error("the generation did not change")
	}
	expect(t, p, map[uint64]string{
		0x7f07ff: "./poke.so+0x7ff", 0x7f1560: "./poke.so+0x2560", 0x7f2000: "./poke.so+0x3000", 0x7f2100: "./poke.so+0x4100",
		0x7f2200: "./plugin.so+0x2200", 0x7f3fff: "./plugin.so+0x3fff",
	})
	// A redefinition does not change existing mappings.
	feed(t, p, "module:9:./third.so:elf:cc")
	expect(t, p, map[uint64]string{0x7f1560: "./poke.so+0x2560"})
	feed(t, p, "mmap:0x7f1000:0x1000:load:9:rx:0x0")
	expect(t, p, map[uint64]string{0x7f0fff: "./poke.so+0x1fff", 0x7f1560: "./third.so+0x560", 0x7f2000: "./poke.so+0x3000"})
}

func TestCuts(t *testing.T) {
	const base = "1000-1fff old rx 500\n"
	for _, c := range []struct{ name, mmap, want string }{
		{"inside", "0x1400:0x200", "1000-13ff old rx 500\n1400-15ff new r 0\n1600-1fff old rx b00\n"},
		{"the start", "0x1000:0x200", "1000-11ff new r 0\n1200-1fff old rx 700\n"},
		{"the end", "0x1e00:0x200", "1000-1dff old rx 500\n1e00-1fff new r 0\n"},
		{"across the start", "0x800:0x900", "800-10ff new r 0\n1100-1fff old rx 600\n"},
		{"across the end", "0x1fff:0x2", "1000-1ffe old rx 500\n1fff-2000 new r 0\n"},
		{"all of it", "0x1000:0x1000", "1000-1fff new r 0\n"},
		{"more than it", "0x0:0x9000", "0-8fff new r 0\n"},
		{"the whole space except its last address", "0x0:0xffffffffffffffff", "0-fffffffffffffffe new r 0\n"},
		{"right before", "0xfff:0x1", "fff-fff new r 0\n" + base},
		{"right after", "0x2000:0x1", base + "2000-2000 new r 0\n"},
		{"nothing", "0x1800:0", base},
	} {
		p := New().Process("")
		feed(t, p, "module:0:old:elf:aa", "module:1:new:elf:bb", "mmap:0x1000:0x1000:load:0:rx:0x500",
			"mmap:"+c.mmap+":load:1:r:0x0")
		if got := dump(p); got != c.want {
			t.Errorf("%s:\n%swant\n%s", c.name, got, c.want)
		}
	}
}

func TestAddMMapAtTheEndOfTheAddressSpace(t *testing.T) {
	p := New().Process("")
	feed(t, p, "module:0:vsyscall:elf:aa", "mmap:0xfffffffffffff000:0x1000:load:0:x:0x0")
	expect(t, p, map[uint64]string{math.MaxUint64: "vsyscall+0xfff", 0xfffffffffffff000: "vsyscall+0x0", 0: "-"})
	before := p.Generation()
	for _, m := range []markup.MMapFields{
		{Start: math.MaxUint64, Size: 2}, {Start: 1, Size: math.MaxUint64}, {Start: 0xfffffffffffff000, Size: 0x1001},
	} {
		got, err := p.AddMMap(m)
		if fits := m.Start == 1; fits != (err == nil) || !fits && !errors.Is(err, ErrRange) || !fits && got != nil {
			t.Errorf("%+v: %v %v", m, got, err)
		}
	}
	if p.Generation() == before { // the mapping that starts at 1 ends at the last address
		t.Error("the generation did not change")
	}
	// The module address may wrap: Zircon maps below the module's own addresses.
	feed(t, p, "mmap:0x1000:0x10:load:0:rx:0xffffffffffffffff")
	expect(t, p, map[uint64]string{0x1000: "vsyscall+0xffffffffffffffff", 0x1001: "vsyscall+0x0"})
}

func TestSizeZeroCoversNothing(t *testing.T) {
	p := New().Process("")
	p.AddModule(markup.ModuleFields{ID: 3, Name: "m"})
	before := p.Generation()
	m, err := p.AddMMap(markup.MMapFields{Start: 0x6000, ModuleID: 3, Mode: "r"})
	if err != nil || m.Last != 0x5fff || m.Module.Name != "m" || p.Generation() != before || len(p.Mappings()) != 0 {
		t.Error(m, err)
	}
	expect(t, p, map[uint64]string{0x5fff: "-", 0x6000: "-"})
}

// TestUnknownModule checks that a mapping of an unknown module clears its range, in which old names would be wrong.
func TestUnknownModule(t *testing.T) {
	p := New().Process("")
	feed(t, p, "module:0:a:elf:aa", "mmap:0x1000:0x1000:load:0:rx:0x0")
	before := p.Generation()
	if _, err := p.AddMMap(markup.MMapFields{Start: 0x5000, Size: 16, ModuleID: 7}); !errors.Is(err, ErrUnknownModule) ||
		err.Error() != "mmap 0x5000: unknown module ID 0x7" || p.Generation() != before {
		t.Error(err)
	}
	if _, err := p.AddMMap(markup.MMapFields{Start: 0x1800, Size: 16, ModuleID: 7}); !errors.Is(err, ErrUnknownModule) ||
		p.Generation() == before {
		t.Error(err)
	}
	expect(t, p, map[uint64]string{0x17ff: "a+0x7ff", 0x1800: "-", 0x180f: "-", 0x1810: "a+0x810"})
}

func TestAddModule(t *testing.T) {
	p := New().Process("")
	first := markup.ModuleFields{ID: 1, Name: "a", BuildID: "x"}
	if got := p.AddModule(first); got != nil {
		t.Error("new", got)
	}
	m, _ := p.Module(1)
	if got := p.AddModule(first); got != nil {
		t.Error("identical", got)
	}
	if same, ok := p.Module(1); same != m || !ok {
		t.Error("an identical definition replaced the first one")
	}
	for _, next := range []markup.ModuleFields{{ID: 1, Name: "b", BuildID: "x"}, {ID: 1, Name: "b", BuildID: "y"}} {
		if got := p.AddModule(next); got != m {
			t.Errorf("replaced %v, want %v", got, m)
		}
		m, _ = p.Module(1)
	}
	p.AddModule(markup.ModuleFields{ID: math.MaxUint64})
	p.AddModule(markup.ModuleFields{ID: 0})
	if all := p.Modules(); len(all) != 3 || all[0].ID != 0 || all[1].Name != "b" || all[2].ID != math.MaxUint64 {
		t.Error(all)
	}
	if _, ok := p.Module(2); ok {
		t.Error("module 2")
	}
}

func TestRepeatedMMapChangesNothing(t *testing.T) {
	p := New().Process("")
	feed(t, p, "module:0:a:elf:aa", "mmap:0x1000:0x1000:load:0:rx:0x0")
	before := p.Generation()
	old, _ := p.Resolve(0x1000)
	feed(t, p, "module:0:a:elf:aa", "mmap:0x1000:0x1000:load:0:rx:0x0")
	if now, _ := p.Resolve(0x1000); p.Generation() != before || now != old {
		t.Error("a repeated mmap changed the generation")
	}
	for _, line := range []string{
		"mmap:0x1000:0x1000:load:0:r:0x0", "mmap:0x1000:0x1000:load:0:r:0x10", "mmap:0x1000:0x1001:load:0:r:0x10",
	} {
		feed(t, p, line)
		if p.Generation() == before {
			t.Error(line, "did not change the generation")
		}
		before = p.Generation()
	}
}

// TestMappingsDoNotChange checks that a mapping that a caller holds does not change.
func TestMappingsDoNotChange(t *testing.T) {
	p := New().Process("")
	feed(t, p, "module:0:a:elf:aa", "mmap:0x1000:0x1000:load:0:rx:0x0")
	held, _ := p.Resolve(0x1000)
	before := *held
	feed(t, p, "module:0:b:elf:bb", "mmap:0x1100:0x10:load:0:r:0x0", "mmap:0x1000:0x10:load:0:r:0x0", "reset")
	if *held != before || held.Module.Name != "a" {
		t.Error(*held, before)
	}
}

func TestReset(t *testing.T) {
	s := New()
	p, q := s.Process("1"), s.Process("2")
	if p.Reset() {
		t.Error("Reset of an empty process returned true")
	}
	for _, other := range []*Process{p, q} {
		feed(t, other, "module:0:a:elf:aa", "mmap:0x1000:0x1000:load:0:rx:0x0")
	}
	expect(t, p, map[uint64]string{0x1000: "a+0x0"})
	before := p.Generation()
	if !p.Reset() || p.Reset() || p.Generation() == before {
		t.Error("reset")
	}
	expect(t, p, map[uint64]string{0x1000: "-"})
	expect(t, q, map[uint64]string{0x1000: "a+0x0"})
	p.AddModule(markup.ModuleFields{})
	if !p.Reset() {
		t.Error("Reset of a process with only a module returned false")
	}
}
