package locate

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"qss-filter/symsrc"
)

// TestKnownDirs follows a directory once for all modules that are looked for in it, for a while only.
func TestKnownDirs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "usr/lib/none"), nil)
	l := locator(t, Options{Rootfs: []string{dir}})
	l.dirs.began, l.dirs.all = time.Now().Add(time.Hour), make(map[knownDir]dirOutcome)
	for i := range 100 {
		if f := find(t, l, fmt.Sprintf("lib%d.so", i), idB); f.ElfStatus != symsrc.NotFound {
			t.Fatalf("%+v", f)
		}
	}
	few := len(l.dirs.all)
	for i := range 100 {
		find(t, l, fmt.Sprintf("more%d.so", i), idB)
	}
	if most := 2 * len(loaderDirs); few > most || len(l.dirs.all) != few {
		t.Errorf("%d directories were followed for some modules, %d for more", few, len(l.dirs.all))
	}
	write(t, filepath.Join(dir, "system/lib64/late"), full.bytes())
	if f := find(t, l, "late", idA); f.ElfStatus != symsrc.NotFound {
		t.Errorf("%+v, although the directory is not looked for", f)
	}
	l.dirs.began = time.Time{}
	clear(l.memo)
	if f := find(t, l, "late", idA); f.ElfStatus != symsrc.OK {
		t.Errorf("%+v, although the directory is there by now", f)
	}
	for i := range 2 * maxDirs {
		find(t, l, fmt.Sprintf("/opt/%d/x.so", i), idB)
	}
	if len(l.dirs.all) > maxDirs {
		t.Errorf("%d directories are remembered", len(l.dirs.all))
	}
}
