package object

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"qss-filter/symsrc"
)

// byPath is a finder that takes the name of a module as the path of its file.
type byPath struct{}

func (byPath) Find(_ context.Context, m symsrc.Module) *symsrc.Files {
	return &symsrc.Files{Elf: m.Name, DebugStatus: symsrc.Incomplete, Unverified: true}
}

// TestPlace checks addresses and load addresses in a program that is linked to 0x200000, and in others.
func TestPlace(t *testing.T) {
	src := NewSource(byPath{})
	defer src.Close()
	const fixed = "../../testdata/breakpad/rootfs/usr/bin/fixed"
	for _, tc := range []struct {
		path       string
		space      symsrc.Space
		off        uint64
		addr, base uint64
		ok         bool
	}{
		{fixed, symsrc.Linked, 0x201710, 0x201710, 0x200000, true},
		{fixed, symsrc.InImage, 0x1710, 0x201710, 0x200000, true},
		{fixed, symsrc.InFile, 0x710, 0x201710, 0x200000, true},
		{"../../testdata/breakpad/rootfs/usr/bin/inline", symsrc.Linked, 0x17e0, 0x17e0, 0, true},
		{"testdata/object5.elf", symsrc.Linked, 0x10, 0, 0, false},
		{"testdata/none", symsrc.Linked, 0x10, 0, 0, false},
	} {
		m := symsrc.Module{Name: tc.path}
		addr, base, ok := src.Place(t.Context(), symsrc.Addr{Module: m, Space: tc.space, Offset: tc.off})
		if ok != tc.ok || ok && (addr != tc.addr || base != tc.base) {
			t.Errorf("%s: %#x of space %d: %#x, %#x, %v", tc.path, tc.off, tc.space, addr, base, ok)
		}
		if d, err := src.Describe(t.Context(), m); tc.ok != (err == nil) || tc.ok && (len(d.ID) != 20 || d.Machine != "x86_64" || d.Darwin != "" || d.Base != tc.base) {
			t.Errorf("%s: %+v %v", tc.path, d, err)
		}
	}
}

// TestWalk compares the pieces of the test programs with the frames of their first and last addresses.
func TestWalk(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.elf")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		src, asked := NewSource(byPath{}), NewSource(byPath{})
		m, last, inlined := symsrc.Module{Name: path}, uint64(0), 0
		next, err := src.Walk(t.Context(), m, 0, 1<<30, func(p *Piece) error {
			if p.Lo < last || p.Lo >= p.Hi {
				t.Errorf("%s: a piece from %#x to %#x after %#x", path, p.Lo, p.Hi, last)
			}
			last = p.Hi
			inlined += len(p.Calls)
			first := asked.Frames(t.Context(), symsrc.Addr{Module: m, Offset: p.Lo}).Frames
			end := asked.Frames(t.Context(), symsrc.Addr{Module: m, Offset: p.Hi - 1}).Frames
			if n := len(first); n != len(p.Calls)+1 || first[n-1].Func != p.Func || !reflect.DeepEqual(first, end) {
				t.Errorf("%s: %+v\n first %+v\n last %+v", path, p, first, end)
			}
			return nil
		})
		if next != ^uint64(0) || err != nil || last == 0 || inlined == 0 {
			t.Errorf("%s: %#x, %v, up to %#x, %d inlined calls", path, next, err, last, inlined)
		}
		stop := errors.New("stop")
		if _, err := src.Walk(t.Context(), m, 0, 1<<30, func(*Piece) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("%s: stopped with %v", path, err)
		}
		src.Close()
		asked.Close()
	}
}
