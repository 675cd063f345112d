package object

import (
	"path/filepath"
	"testing"
)

// TestPrefetch unpacks sections in the background, completely, and until the file is closed.
func TestPrefetch(t *testing.T) {
	for _, name := range []string{"clang4-zlib", "ppc64-zstd", "gcc5"} {
		path := filepath.Join("testdata", name+".elf")
		f := open(t, path)
		f.beginPrefetch()
		f.prefetch.running.Wait()
		for _, s := range f.dwarf.PrefetchSections() {
			if s.Unpacked() != s.Size {
				t.Errorf("%s: %d of %d bytes are unpacked", name, s.Unpacked(), s.Size)
			}
		}
		closed, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		closed.beginPrefetch()
		if err := closed.Close(); err != nil {
			t.Errorf("%s: close: %v", name, err)
		}
		closed.beginPrefetch() // does nothing, because the file is closed
		closed.prefetch.running.Wait()
	}
}

// TestMapped releases the memory of the mapping at every lookup, which must not change the answers.
func TestMapped(t *testing.T) {
	path := filepath.Join("testdata", "gcc5.elf")
	addrs := codeAddresses(t, path, 7)
	want := open(t, path)
	f := open(t, path)
	for _, a := range addrs {
		f.read.Store(maxMapped)
		if got, w := render(f.Code(a)), render(want.Code(a)); got != w {
			t.Fatalf("%#x: %s, want %s", a, got, w)
		}
	}
	if f.read.Load() >= maxMapped {
		t.Error("the count of read bytes was not reset")
	}
}
