package object

import (
	"context"
	stdelf "debug/elf"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// spaceBuilds are different layouts of segments: in lld's, segments share pages of the file, and the address of code is greater than its
// file offset.
var spaceBuilds = []struct {
	build
	shared bool // segments share pages of the file
}{
	{build{name: "lld", compiler: clang, flags: "-g -O1" + lld}, true},
	{build{name: "lld-no-pie", compiler: clang, flags: "-g -O1 -no-pie" + lld}, true},
	{build{name: "lld-shared", compiler: clang, flags: "-g -O1 -fPIC -shared -Wl,-z,nostart-stop-gc" + lld}, true},
	{build{name: "lld-aarch64", compiler: clang, flags: "--target=aarch64-linux-gnu -g -O1" + lld}, true},
	{build{name: "lld-thumb", compiler: clang, flags: "--target=armv7a-linux-gnueabihf -mthumb -g -O1" + lld}, true},
	{build{name: "gnu", compiler: "g++", flags: "-g -O1"}, false},
	{build{name: "gnu-no-pie", compiler: "g++", flags: "-g -O1 -no-pie -fno-pie"}, false},
	{build{name: "gnu-one-page", compiler: "g++", flags: "-g -O1 -Wl,-z,noseparate-code"}, false},
}

// TestSpaces checks the conversion of every address of code from all spaces, for mappings as created by the kernel.
func TestSpaces(t *testing.T) {
	for _, b := range spaceBuilds {
		t.Run(b.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.elf")
			b.run(t, path)
			f := open(t, path)
			maps := mapsOf(t, path)
			low, text := maps[0].start, uint64(0)
			for _, m := range maps {
				if m.code {
					text = m.start
					break
				}
			}
			apart := false
			for _, a := range codeAddresses(t, path, 1) {
				for _, m := range maps {
					if !m.code || a < m.start || a >= m.end {
						continue
					}
					inFile := a - m.start + m.off
					apart = apart || inFile != a-low
					check := func(space symsrc.Space, off uint64) {
						if got, ok := f.Linked(off, space); !ok || got != a {
							t.Fatalf("%#x is offset %#x in space %d: got %#x, %v", a, off, space, got, ok)
						}
					}
					check(symsrc.Linked, a)
					check(symsrc.InFile, inFile)
					check(symsrc.InImage, a-low)
					check(symsrc.InText, a-text)
				}
			}
			if apart != b.shared {
				t.Errorf("file offsets differ from offsets in memory: %v", apart)
			}
			if a, ok := f.Linked(1<<40, symsrc.InFile); ok {
				t.Errorf("an offset after the file is converted to %#x", a)
			}
			if a, ok := f.Linked(1<<40, symsrc.InText); ok {
				t.Errorf("an offset after the code is converted to %#x", a)
			}
		})
	}
}

// listed is a mapping as in /proc/PID/maps, for a file that is mapped at its link-time address.
type listed struct {
	start, end, off uint64
	code            bool
}

// mapsOf returns the mappings of a file.
func mapsOf(t *testing.T, path string) (maps []listed) {
	t.Helper()
	f, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const page = 0xfff
	for _, p := range f.Progs {
		if p.Type == stdelf.PT_LOAD {
			maps = append(maps, listed{p.Vaddr &^ page, (p.Vaddr + p.Memsz + page) &^ page, p.Off &^ page, p.Flags&stdelf.PF_X != 0})
		}
	}
	return maps
}

// TestSpacesOfDebugFile checks the conversion for a debug file, whose segments have other file offsets than those of the runtime object.
func TestSpacesOfDebugFile(t *testing.T) {
	for _, objcopy := range []string{"objcopy", "llvm-objcopy-22"} {
		t.Run(objcopy, func(t *testing.T) {
			need(t, objcopy)
			dir := t.TempDir()
			b := build{compiler: clang, flags: "-g -O1 -Wl,--build-id" + lld}
			b.run(t, filepath.Join(dir, "a.full"))
			in(t, dir, objcopy, "--only-keep-debug", "a.full", "a.debug")
			in(t, dir, objcopy, "--strip-all", "a.full", "a.elf")
			debug, full := open(t, filepath.Join(dir, "a.debug")), open(t, filepath.Join(dir, "a.full"))
			main := findSymbol(t, full, "_Z5otheri")
			code := slices.IndexFunc(full.elf.Segments, func(s elf.Segment) bool { return s.Flags&stdelf.PF_X != 0 && main-s.Addr < s.Size })
			inFile := main - full.elf.Segments[code].Addr + full.elf.Segments[code].Offset

			if a, ok := debug.Linked(inFile, symsrc.InFile); ok {
				t.Errorf("alone: a file offset is converted to %#x", a)
			}
			if a, ok := debug.Linked(main, symsrc.InImage); !ok || a != main {
				t.Errorf("alone: an offset in the image is converted to %#x, %v", a, ok)
			}
			if text, ok := debug.Text(main, 4); ok {
				t.Errorf("alone: text % x", text)
			}
			for _, files := range []symsrc.Files{
				{Debug: filepath.Join(dir, "a.debug"), Elf: filepath.Join(dir, "a.elf")},
				{Elf: filepath.Join(dir, "a.full"), DebugStatus: symsrc.NotFound},
			} {
				for _, id := range []symsrc.BuildID{"", full.elf.ID} {
					s := NewSource(fixedFinder{&files})
					q := symsrc.Addr{Module: symsrc.Module{BuildID: id}, Offset: inFile, Space: symsrc.InFile}
					a := s.Frames(context.Background(), q)
					if len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" || !strings.HasSuffix(a.Frames[0].File, "other.cpp") {
						t.Errorf("%+v: %+v", files, a.Frames)
					}
					if p := s.Probe(context.Background(), q); !p.Known || p.Linked != main || p.Returns || p.Calls || p.CallDistance != 1 {
						t.Errorf("%+v: %+v", files, p)
					}
				}
			}
		})
	}
}

// fixedFinder is a finder with the same files for every module.
type fixedFinder struct{ files *symsrc.Files }

// Find implements symsrc.Finder.
func (f fixedFinder) Find(context.Context, symsrc.Module) *symsrc.Files { return f.files }
