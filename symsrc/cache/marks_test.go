//go:build linux || darwin

package cache

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// onDisk is a source and finder whose files are on this machine.
type onDisk struct {
	engine
	files *symsrc.Files
}

func (h *onDisk) Find(context.Context, symsrc.Module) *symsrc.Files { return h.files }

func (h *onDisk) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := h.engine.Frames(ctx, q)
	a.Files = h.files
	return a
}

func (h *onDisk) Probe(context.Context, symsrc.Addr) symsrc.Probe {
	return symsrc.Probe{Known: true, Linked: 4}
}

// TestStoredOnce checks that answers of local files are stored once: a second filter writes no spool file, unless the database was
// emptied meanwhile or has lost them.
func TestStoredOnce(t *testing.T) {
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	elf := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(elf, []byte("a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(n int) (wrote int64) {
		t.Helper()
		h := &onDisk{files: &symsrc.Files{Elf: elf, Debug: elf}}
		s := Wrap(h, Options{Dir: dir, Program: program, Finder: h, Local: h})
		for i := range n {
			s.Probe(context.Background(), addr(i))
		}
		if ask(s, 0, n) != expected(0, n) {
			t.Error("answers differ")
		}
		s.Close()
		wrote = s.spool.bytes
		if wrote > 0 {
			c, w := source(t, dir, &engine{gone: true}) // starts the process
			connect(t, c)
			eventually(t, "what was left is taken", func() bool { return len(spooled(dir)) == 0 })
			c.Close()
			w.check(t)
			stop(t, dir)
		}
		return wrote
	}
	first := run(many)
	if first == 0 {
		t.Fatal("nothing is stored")
	}
	if wrote := run(many); wrote > 0 {
		t.Errorf("%d bytes are written again", wrote)
	}
	if wrote := run(many + 100); wrote == 0 || wrote > first/2 {
		t.Errorf("%d bytes are written for a tenth more, %d for the rest", wrote, first)
	}
	e := &engine{gone: true}
	s, _ := source(t, dir, e)
	connect(t, s)
	if got := ask(s, 0, many+100); got != expected(0, many+100) {
		t.Error("without the files, answers differ")
	}
	s.Close()
	stop(t, dir)
	if err := os.RemoveAll(filepath.Join(dir, databaseDir)); err != nil {
		t.Fatal(err)
	}
	if wrote := run(many); wrote < first/2 {
		t.Errorf("after the database was removed, %d bytes are written, not %d", wrote, first)
	}
	if err := os.Truncate(filepath.Join(dir, databaseDir, marksName), 100); err != nil {
		t.Fatal(err)
	}
	if wrote := run(many); wrote < first/2 {
		t.Errorf("with damaged marks, %d bytes are written", wrote)
	}
}

// TestMarks checks that a page that loses entries loses their marks, and that an emptied database has none.
func TestMarks(t *testing.T) {
	db, _, err := openStore(filepath.Join(t.TempDir(), databaseDir), 64<<20, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer db.close()
	key := appendKey(nil, testPlace, 0)
	page := func(at ...uint64) []byte {
		var w pageWriter
		w.reset()
		for _, at := range at {
			w.add(&entry{at: at, tag: probeKind, shows: symsrc.Probe{Known: true}})
		}
		return w.appendTo(nil, key)
	}
	first, second := page(1, 2), page(2, 3)
	for _, c := range []change{{key, nil, first}, {key, first, second}} {
		if _, err := db.keep([]change{c}); err != nil {
			t.Fatal(err)
		}
	}
	for at, want := range []bool{false, false, true, true} {
		if got := db.marks.has(markOf(testPlace, uint64(at), probeKind)); got != want {
			t.Errorf("%d is marked: %v", at, got)
		}
	}
	db.saveMarks()
	if got := readMarks(db.dir); !got.has(markOf(testPlace, 3, probeKind)) {
		t.Error("the file has other marks")
	}
	if err := db.reset(); err != nil {
		t.Fatal(err)
	}
	if got := readMarks(db.dir); got != nil || db.marks != nil {
		t.Error("marks outlive what they mark")
	}
}

const testPlace = "engineid\x04\x01\x02\x03\x04"
