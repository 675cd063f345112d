//go:build linux || darwin

package cache

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// named is a source and finder of the files that paths of a log name, all of one build ID.
type named map[string]*struct {
	files    symsrc.Files
	function string
}

func (n named) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	if one := n[m.Name]; one != nil {
		return &one.files
	}
	return &symsrc.Files{ElfStatus: symsrc.NotFound, DebugStatus: symsrc.NotFound}
}

func (n named) Frames(ctx context.Context, q symsrc.Addr) symsrc.Answer {
	a := symsrc.Answer{Files: n.Find(ctx, q.Module)}
	if one := n[q.Module.Name]; one != nil {
		a.Frames = []symsrc.Frame{{Func: one.function, Linkage: one.function, File: "/f.c", Line: 1, Origin: symsrc.SymbolAndDebug}}
	}
	return a
}

func (n named) Probe(_ context.Context, q symsrc.Addr) symsrc.Probe {
	return symsrc.Probe{Known: n[q.Module.Name] != nil, Returns: true, Linked: q.Offset}
}

// TestForged checks that the answers of a file that was found by a path in the log are not used for other paths, whatever build ID the
// file claims, and that the answers of a file in a symbol tree are.
func TestForged(t *testing.T) {
	unhurried(t)
	dir, paths := tempDir(t), t.TempDir()
	write := func(name string) string {
		path := filepath.Join(paths, name)
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const id = symsrc.BuildID("0123456789")
	query := func(path string) symsrc.Addr {
		return symsrc.Addr{Module: symsrc.Module{Name: path, BuildID: id}, Offset: 0x10}
	}
	asks := func(n named, path string, probed bool) (function string, probe symsrc.Probe) {
		s := Wrap(n, Options{Dir: dir, Program: program, Finder: n, Local: n})
		connect(t, s)
		a := s.Frames(context.Background(), query(path))
		if probed {
			probe = s.Probe(context.Background(), query(path))
		}
		s.Close()
		eventually(t, "what was left is taken", func() bool { return figures(dir) != nil && len(spooled(dir)) == 0 })
		if len(a.Frames) > 0 {
			function = a.Frames[0].Func
		}
		return function, probe
	}
	t.Cleanup(func() { stop(t, dir) })
	forged, real, gone := write("forged"), write("real"), "/gone"
	all := named{forged: {symsrc.Files{Elf: forged, ByPath: true}, "forged"}, real: {symsrc.Files{Elf: real}, "real"}}
	for range 2 { // the second time from the cache, if it has the answer
		if function, _ := asks(all, forged, true); function != "forged" {
			t.Errorf("the file at the log's path answers %q", function)
		}
	}
	if function, probe := asks(all, gone, true); function != "" || probe.Known {
		t.Errorf("another path of the build ID has %q, %+v from the file at the first one", function, probe)
	}
	if function, _ := asks(all, real, true); function != "real" {
		t.Errorf("the file of a tree answers %q", function)
	}
	if function, _ := asks(all, gone, false); function != "real" {
		t.Errorf("another path of the build ID has %q, and not what the file of a tree has answered", function)
	}
	if function, _ := asks(all, forged, false); function != "forged" {
		t.Errorf("the file at the log's path answers %q afterwards", function)
	}
}

// TestForgedWithoutDebug is the same for a file without debug information, of which only results of Probe could be stored.
func TestForgedWithoutDebug(t *testing.T) {
	unhurried(t)
	dir := tempDir(t)
	t.Cleanup(func() { stop(t, dir) })
	a := &answers{probe: symsrc.Probe{Known: true, Linked: 4}, Answer: symsrc.Answer{
		Files: &symsrc.Files{Elf: "/x", ByPath: true, DebugStatus: symsrc.Incomplete}}}
	s := Wrap(a, Options{Dir: dir, Program: program, Finder: a, Local: a})
	s.Probe(context.Background(), symsrc.Addr{Module: symsrc.Module{Name: "/x", BuildID: "id"}})
	s.Close()
	if names := spooled(dir); len(names) > 0 {
		t.Errorf("%q are left", names)
	}
}
