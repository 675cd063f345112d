//go:build linux || darwin

package cache

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"qss-filter/symsrc"
)

// TestSpoolAgain writes a full file of one module, and then one of another, which uses the memory of the former again: the second has
// the second module's answers and nothing else.
func TestSpoolAgain(t *testing.T) {
	dir := t.TempDir()
	s := newSpool(dir, newListing(dir), nil, func(err error) { t.Error(err) })
	entryOf := func(prefix string, at uint64) *pending {
		m := &module{prefix: prefix}
		f := symsrc.Frame{Func: fmt.Sprintf("%s_%d", prefix, at), File: "/src/" + prefix + ".c", Line: int(at)}
		return &pending{origin{m, &symsrc.Files{Debug: "/" + prefix}}, prefix, entry{at: at, frames: []symsrc.Frame{f}}}
	}
	for at := uint64(1); s.batch.size < spoolSize; at++ {
		s.batch.add(entryOf("first module", at))
	}
	if !s.leave() || s.batch.spare == nil || cap(s.text) < spoolSize {
		t.Fatal("the memory of a full file is not kept")
	}
	s.batch.add(entryOf("second module", 7))
	if !s.leave() || s.batch.spare != nil || s.text != nil {
		t.Fatal("the memory of a file that is not full is kept")
	}
	names := spooled(dir)
	if len(names) != 2 {
		t.Fatalf("%q were written, want two files", names)
	}
	text, err := os.ReadFile(filepath.Join(dir, spoolDir, names[1]))
	if err != nil {
		t.Fatal(err)
	}
	all, err := read(text)
	if err != nil || len(all) != 1 || all[0].place != "second module" {
		t.Fatalf("the second file has %v, %v", all, err)
	}
	e, err := all[0].page.read(all[0].spot, nil)
	if err != nil || len(e.frames) != 1 || e.frames[0].Func != "second module_7" || e.frames[0].File != "/src/second module.c" || e.frames[0].Line != 7 || e.source.files.Debug != "/second module" {
		t.Errorf("the second file has %+v, %v", e, err)
	}
	if n := len(all[0].page.strings); n != 3 {
		t.Errorf("the second file has %d strings, want 3: a function, a source file and a debug file", n)
	}
}
