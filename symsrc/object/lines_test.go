package object

import (
	"debug/dwarf"
	"debug/elf"
	"io"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestLines compares the position of every address with the line tables according to debug/dwarf.
func TestLines(t *testing.T) {
	for _, name := range []string{"gcc5.elf", "clang4-zlib.elf", "mips2.elf"} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name)
			want := standardLines(t, file)
			f := open(t, file)
			n := 0
			for _, addr := range codeAddresses(t, file, 1) {
				w, located := want[addr]
				frames := f.Code(addr)
				if !located {
					continue
				}
				n++
				if len(frames) == 0 {
					t.Fatalf("%#x: no answer, want %+v", addr, w)
				}
				got := frames[0]
				if got.Approx {
					got.Line = 0
				}
				if !sameFile(got.File, w.File.Name) || got.Line != w.Line || got.Column != w.Column {
					t.Errorf("%#x: %s:%d:%d, want %s:%d:%d", addr, got.File, got.Line, got.Column, w.File.Name, w.Line, w.Column)
				}
			}
			if n < 500 {
				t.Errorf("only %d addresses have a line", n)
			}
		})
	}
}

// sameFile compares a path with that of debug/dwarf, which is cleaned, and which has no directory if a file of version 5 is in
// directory 0.
func sameFile(got, standard string) bool {
	got = path.Clean(got)
	return got == standard || !path.IsAbs(standard) && strings.HasSuffix(got, "/"+standard)
}

// standardLines returns the row of every address of a linked file according to debug/dwarf.
func standardLines(t *testing.T, path string) map[uint64]dwarf.LineEntry {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[uint64]dwarf.LineEntry)
	for r := data.Reader(); ; r.SkipChildren() {
		unit, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if unit == nil {
			return rows
		}
		lines, err := data.LineReader(unit)
		if err != nil || lines == nil {
			t.Fatalf("%v, %v", lines, err)
		}
		var last, e dwarf.LineEntry
		last.EndSequence = true
		for start := uint64(0); lines.Next(&e) != io.EOF; last = e {
			if last.EndSequence {
				start = e.Address
			} else if start != 0 {
				for a := last.Address; a < e.Address; a++ {
					rows[a] = last
				}
			}
		}
	}
}

// TestApproximateLine checks the lines of code with line 0 in a file of testdata.
func TestApproximateLine(t *testing.T) {
	path := filepath.Join("testdata", "clang4-zlib.elf")
	f := open(t, path)
	last := make(map[string]int) // previous line, by function and file
	approx, none := 0, 0
	for _, addr := range codeAddresses(t, path, 1) {
		frames := f.Code(addr)
		if len(frames) == 0 {
			continue
		}
		inner := frames[0]
		switch {
		case inner.Approx:
			approx++
			if inner.Line == 0 {
				t.Errorf("%#x: approximate but without a line", addr)
			}
		case inner.Line == 0 && inner.File != "":
			none++
			if line := last[inner.Linkage+inner.File]; line != 0 && len(frames) == 1 {
				t.Errorf("%#x: no line after %d", addr, line)
			}
		}
		last[inner.Linkage+inner.File] = inner.Line
	}
	if approx == 0 || none == 0 {
		t.Errorf("%d approximate lines and %d without a line: the file tests nothing", approx, none)
	}
}
