package importer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// manyMappings is a dump that is longer than what is looked at of a file at first.
func manyMappings() string {
	var b strings.Builder
	for i := range uint64(2 * headSize / 60) {
		start := 0x7f0000000000 + i*0x10000
		fmt.Fprintf(&b, "%x-%x r-xp 00000000 fe:00 %d                  /usr/lib/lib%d.so\n", start, start+0x1000, i+1, i)
	}
	return b.String()
}

// TestLongDump reads logs whose stacks come after so long a dump, or after so much other text, that their first part does not show
// what they are.
func TestLongDump(t *testing.T) {
	chatter := strings.Repeat("the program says something that is no stack\n", 2*headSize/40)
	stack := "[3] Call Stack (depth: 1)\n  0x7f0000010100\n"
	for _, c := range []struct {
		name, text, kind, want string
	}{
		{"dump", manyMappings() + stack, "", "/usr/lib/lib1.so + 0x100\n"},
		{"dump", manyMappings() + stack, "perflow", "/usr/lib/lib1.so + 0x100\n"},
		{"dump, then talk", manyMappings() + chatter + stack, "", "/usr/lib/lib1.so + 0x100\n"},
		{"talk", chatter + manyMappings() + stack, "perflow", "/usr/lib/lib1.so + 0x100\n"},
		{"talk", chatter + manyMappings() + stack, "", "not a file of Scaler"},
		{"zero byte", "a\x00b\n" + manyMappings() + stack, "perflow", "/usr/lib/lib1.so + 0x100\n"},
		{"bare", manyMappings() + "0x7f0000010100\n", "", "/usr/lib/lib1.so + 0x100\n"},
		{"bare alone", "  0x7f0000010100\n", "perflow", "[unknown] + 0x7f0000010100\n"},
		{"maps", manyMappings(), "", "[0x00007f0000010000 - 0x00007f0000011000] (0x1000 bytes) [x] /usr/lib/lib1.so\n"},
		{"nothing", chatter, "perflow", "neither a stack nor a library map"},
	} {
		path := filepath.Join(t.TempDir(), "x.log")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		text, err := lines(t, path, Options{Kind: c.kind, Offsets: InModule})
		if err != nil {
			text += err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s as %q: %v, no %q in %d bytes", c.name, c.kind, err, c.want, len(text))
		}
		in, err := lines(t, filepath.Dir(path), Options{Kind: c.kind, Offsets: InModule}) // by its directory
		if c.name == "dump" && (err != nil || !strings.Contains(in, c.want)) {
			t.Errorf("the directory: %v", err)
		}
	}
}

// TestOwnName reads a thread's file that has another name, where its kind is named.
func TestOwnName(t *testing.T) {
	dir := t.TempDir()
	writeTrace(t, dir, "main.trace", &call{kind: normalNode, file: -1, inner: []*call{{kind: normalNode, start: 1, end: 2}}})
	text, err := lines(t, filepath.Join(dir, "main.trace"), Options{Kind: "scaler"})
	if !strings.Contains(text, "thread main.trace: 2 nodes\n  file#0 func#0 start=1 dur=1us\n") || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestLongLines says that lines longer than any of ours pass as they are, and mappings after them are read.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 5<<20)
	dir := t.TempDir()
	text := "7f0000000000-7f0000001000 r-xp 00000000 fe:00 1 /" + long + "\n" + "7f0000002000-7f0000003000 r-xp 00000000 fe:00 1 /a\n"
	for name, want := range map[string]string{
		"log":    text + "[1] Call Stack (depth: 2)\n0x7f0000002010\n0x7f0000000010\n",
		"maps.0": text,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := lines(t, path, Options{Kind: "perflow", Offsets: InModule})
		if err != nil || name == "log" && !strings.HasSuffix(got, "/a + 0x10\n[unknown] + 0x7f0000000010\n") || name == "log" && !strings.Contains(got, long) ||
			name == "maps.0" && strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
}

// TestManyMappings says what of a process with too many mappings is not read.
func TestManyMappings(t *testing.T) {
	var said []string
	out := &output{}
	l := mappingList{out: out}
	for range maxMappings + 5 {
		l.add(mapping{})
	}
	said = out.notes
	if len(l.all) != maxMappings || len(said) != 1 {
		t.Errorf("%d mappings, %q", len(l.all), said)
	}
}

// TestSnapshotsByMemory says that snapshots are dropped where they take too much memory, the newest last.
func TestSnapshotsByMemory(t *testing.T) {
	out := &output{}
	r := newStackReader(out)
	r.room = 4 * newSpace(libraries(100), wholeMaps).size()
	for _, id := range []uint64{7, 1, 3, 9, 2, 0} {
		r.keep(id, newSpace(libraries(100), wholeMaps))
	}
	if len(r.spaces) != 4 || r.spaces[0] == nil || r.spaces[1] != nil || len(out.notes) != 1 || r.room != 0 {
		t.Errorf("%d snapshots, %q, room for %d bytes", len(r.spaces), out.notes, r.room)
	}
}

// TestDeleted says that code of a file which was deleted has no name: what its path has now may be another file.
func TestDeleted(t *testing.T) {
	const module = "/usr/lib/libdemo-1.2.3.so"
	s := symbols(t)
	for _, suffix := range []string{"", " (deleted)"} {
		dir := t.TempDir()
		log := filepath.Join(dir, "x.log")
		text := "7f0000000000-7f0000001000 r--p 00000000 fe:00 1 " + module + suffix + "\n7f0000001000-7f0000002000 r-xp 00001000 fe:00 1 " + module + suffix +
			"\n[1] Call Stack (depth: 1)\n  0x7f0000001131\n"
		if err := os.WriteFile(log, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		maps := filepath.Join(t.TempDir(), "maps.0.libmap.txt")
		stacks := filepath.Join(filepath.Dir(maps), "samples.txt")
		if err := errors.Join(os.WriteFile(maps, []byte("[0x00007f0000001000 - 0x00007f0000002000] (0x1000 bytes) [x] "+module+suffix+"\n"), 0o600),
			os.WriteFile(stacks, []byte("[1] Call Stack (depth: 1)\n  0x7f0000001131\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
		db := copyOf(t, "chop.db")
		execute(t, db, "UPDATE map SET path = path || '"+suffix+"'", "UPDATE module SET name = name || '"+suffix+"'")
		for _, path := range []string{log, stacks, db} {
			plain, err := lines(t, path, Options{Symbols: s})
			if err != nil {
				t.Fatal(err)
			}
			table, err := lines(t, path, Options{Symbols: s, By: ByFunction, Kind: map[bool]string{true: "chopstix"}[path == db]})
			if err != nil {
				t.Fatal(err)
			}
			shown := through(t, plain, s)
			named := strings.Contains(shown, "demo/top.c") || strings.Contains(shown, "in busy_hash")
			if counted := strings.Contains(table, "inner_func") || path == db && !strings.Contains(table, suffix+"]"); named != (suffix == "") || path != db && counted != named {
				t.Errorf("%s, %q: named %v, counted %v\n%s\n%s", filepath.Base(path), suffix, named, counted, shown, table)
			}
			if !strings.Contains(shown, module+suffix) {
				t.Errorf("%s, %q: the name of the module is not kept:\n%s", filepath.Base(path), suffix, shown)
			}
		}
	}
}
