package object

import (
	"context"
	"debug/elf"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf/elftest"
)

// allocates returns the number of bytes that f allocates.
func allocates(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// askAll opens data as a file and sends it queries of all kinds. A panic of the reader is an error.
func askAll(t *testing.T, data []byte) (f *File, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err = Open(path); err != nil {
		return nil, err
	}
	t.Cleanup(func() { f.Close() })
	for a := uint64(elftest.CodeAt); a < elftest.CodeAt+elftest.CodeSize; a += elftest.CodeSize / 64 {
		f.Code(a)
		f.ShortCode(a)
		f.Data(a)
		f.Probe(a, symsrc.InFile)
		f.Probe(a, symsrc.Linked)
	}
	if _, err := givenUp(f); err != nil {
		t.Errorf("damaged: %v", err)
	}
	return f, nil
}

// TestHugeSections opens small files with a section whose header says that it has 4 GiB: nothing of that size is allocated.
func TestHugeSections(t *testing.T) {
	for _, name := range []string{".debug_info", ".debug_str", ".debug_frame", ".symtab", ".strtab", ".eh_frame", ".note", ".gnu_debugdata",
		".gopclntab", ".opd", ".plt", ".gnu_debugaltlink", ".debug_cu_index"} {
		typ := elf.SHT_PROGBITS
		switch name {
		case ".symtab":
			typ = elf.SHT_SYMTAB
		case ".note":
			typ = elf.SHT_NOTE
		}
		for _, flags := range []elf.SectionFlag{0, elf.SHF_ALLOC, elf.SHF_COMPRESSED} {
			for _, size := range []uint64{4 << 30, 1<<64 - 1} {
				data := elftest.CodeFile(elftest.Part{Name: name, Type: typ, Flags: flags, Addr: elftest.CodeAt, Data: make([]byte, 512), Size: size})
				if len(data) > 1<<10 {
					t.Fatalf("the file has %d bytes", len(data))
				}
				if n := allocates(func() { askAll(t, data) }); n > 1<<20 {
					t.Errorf("%s of %d bytes, flags %v: %d bytes allocated", name, size, flags, n)
				}
			}
		}
	}
}

// TestBombs opens files with compressed sections whose headers have the wrong uncompressed size, or a huge one.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 64<<20)
	for _, c := range []struct {
		name  string
		data  []byte
		opens bool
		most  uint64 // to be allocated
	}{
		{"zlib, declared size too small", elftest.ZlibSection(t, zeros, 4096), true, 2 << 20},
		{"zlib, declared size too large", elftest.ZlibSection(t, zeros[:1<<20], 4<<30), false, 1 << 20},
		{"zlib, impossible ratio", elftest.ZlibSection(t, zeros[:4096], 1<<30), false, 1 << 20},
		{"zstd, declared size too small", elftest.ZSTDSection(t, zeros, 4096), true, 16 << 20},
		{"zstd, impossible ratio", elftest.ZSTDSection(t, zeros, uint64(len(zeros))), false, 1 << 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, name := range []string{".debug_info", ".debug_frame"} {
				data := elftest.CodeFile(elftest.Part{Name: name, Type: elf.SHT_PROGBITS, Flags: elf.SHF_COMPRESSED, Data: c.data})
				var err error
				if n := allocates(func() { _, err = askAll(t, data) }); n > c.most {
					t.Errorf("%s: %d bytes allocated", name, n)
				}
				if c.opens != (err == nil) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Abbreviation declarations of the units in these tests.
var hostileDecls = elftest.AbbrevTable(
	[]byte{1, numTagCompileUnit, 1, attrLowPCNumber, 1, attrHighPCNumber, 6},                    // unit
	[]byte{2, numTagSubprogram, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, originNumber, 0x13}, // subprogram with an origin
	[]byte{3, 0x1d, 1, attrLowPCNumber, 1, attrHighPCNumber, 6, originNumber, 0x13},             // inlined subroutine
	[]byte{4, numTagSubprogram, 0, specificationNumber, 0x13},                                   // subprogram with a specification
	[]byte{5, numTagSubprogram, 0, attrRangesNumber, 0x17},                                      // subprogram with ranges
	[]byte{6, numTagSubprogram, 1, 0x01, 0x13, attrLowPCNumber, 1, attrHighPCNumber, 6},         // subprogram with a sibling
)

// Attributes (DWARF 5 §7.5.4).
const (
	attrLowPCNumber     = 0x11
	attrHighPCNumber    = 0x12
	originNumber        = 0x31
	specificationNumber = 0x47
	attrRangesNumber    = 0x55
)

// entry returns an entry with a range and a reference of four bytes.
func entry(code uint8, lo uint64, size uint32, ref uint32) []byte {
	return elftest.LE(code, lo, size, ref)
}

// entrySize is the size of the result of entry, in bytes.
const entrySize = 17

// rootEntry is the root entry of a unit that covers all code.
var rootEntry = elftest.LE(uint8(1), uint64(elftest.CodeAt), uint32(elftest.CodeSize))

// TestOriginCycles checks entries with cyclic or invalid origins. The function is found, without a name.
func TestOriginCycles(t *testing.T) {
	first := uint32(elftest.UnitHead4 + len(rootEntry))
	end := []byte{0}
	for name, entries := range map[string][][]byte{
		"itself":          {entry(2, elftest.CodeAt, elftest.CodeSize, first), end},
		"each other":      {entry(2, elftest.CodeAt, elftest.CodeSize, first+entrySize+1), end, entry(2, 0, 0, first), end},
		"inlined, itself": {entry(2, elftest.CodeAt, elftest.CodeSize, first+entrySize), entry(3, elftest.CodeAt, elftest.CodeSize, first+entrySize), end, end},
		"specification":   {entry(2, elftest.CodeAt, elftest.CodeSize, first+entrySize+1), end, elftest.LE(uint8(4), first+entrySize+1)},
		"alternating":     {entry(2, elftest.CodeAt, elftest.CodeSize, first+entrySize+1), end, elftest.LE(uint8(4), first)},
		"outside":         {entry(2, elftest.CodeAt, elftest.CodeSize, 1<<31), end},
		"into the root":   {entry(2, elftest.CodeAt, elftest.CodeSize, elftest.UnitHead4), end},
		"into the middle": {entry(2, elftest.CodeAt, elftest.CodeSize, first+3), end},
	} {
		t.Run(name, func(t *testing.T) {
			info := rootEntry
			for _, e := range entries {
				info = append(info[:len(info):len(info)], e...)
			}
			f, err := askAll(t, elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(append(info, 0))), elftest.DebugPart(".debug_abbrev", hostileDecls)))
			if err != nil {
				t.Fatal(err)
			}
			frames := f.Code(elftest.CodeAt + 4)
			if len(frames) == 0 || len(frames) > 2 || frames[0].Func != "" {
				t.Errorf("%+v", frames)
			}
		})
	}
}

// TestDeepInlining checks calls that are nested more deeply than allowed.
func TestDeepInlining(t *testing.T) {
	const depth = 1 << 16
	first := uint32(elftest.UnitHead4 + len(rootEntry))
	info := append(rootEntry[:len(rootEntry):len(rootEntry)], entry(2, elftest.CodeAt, elftest.CodeSize, first)...)
	for range depth {
		info = append(info, entry(3, elftest.CodeAt, elftest.CodeSize, first)...)
	}
	info = append(info, make([]byte, depth+2)...)
	f, err := askAll(t, elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(info)), elftest.DebugPart(".debug_abbrev", hostileDecls)))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(f.Code(elftest.CodeAt)); n == 0 || n > mostInlined+1 {
		t.Errorf("%d frames", n)
	}
}

// TestEndlessRanges checks many functions whose range lists all extend to the end of a large section without end marks.
func TestEndlessRanges(t *testing.T) {
	const functions, pairs = 1 << 14, 1 << 16
	var ranges []byte
	for i := range uint64(pairs) {
		ranges = append(ranges, elftest.LE(i%16+1, i%16+2)...)
	}
	info := rootEntry[:len(rootEntry):len(rootEntry)]
	for i := range uint32(functions) {
		info = append(info, elftest.LE(uint8(5), i*16)...)
	}
	f, err := askAll(t, elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(append(info, 0))), elftest.DebugPart(".debug_abbrev", hostileDecls),
		elftest.DebugPart(".debug_ranges", ranges)))
	if err != nil {
		t.Fatal(err)
	}
	if gone, _ := givenUp(f); !gone || f.Code(elftest.CodeAt) != nil {
		t.Errorf("a file that has exceeded its budget answers %+v", f.Code(elftest.CodeAt))
	}
}

// TestSiblings checks sibling references that go backward, to the entry itself, and out of the unit.
func TestSiblings(t *testing.T) {
	first := uint32(elftest.UnitHead4 + len(rootEntry))
	for _, sibling := range []uint32{0, 1, first, first + 1, first + entrySize, 1 << 20, 1<<32 - 1} {
		info := append(rootEntry[:len(rootEntry):len(rootEntry)], elftest.LE(uint8(6), sibling, uint64(elftest.CodeAt), uint32(16))...)
		info = append(info, 0)
		info = append(info, entry(2, elftest.CodeAt+16, 16, first)...)
		askAll(t, elftest.CodeFile(elftest.DebugPart(".debug_info", elftest.Unit4(append(info, 0, 0))), elftest.DebugPart(".debug_abbrev", hostileDecls)))
	}
}

// TestRuntimeTruncated truncates the runtime object of a debug file. The debug file still answers.
func TestRuntimeTruncated(t *testing.T) {
	dir := t.TempDir()
	need(t, "objcopy")
	b := build{compiler: "g++", flags: "-g -O1 -Wl,--build-id"}
	b.run(t, filepath.Join(dir, "a.elf"))
	in(t, dir, "objcopy", "--only-keep-debug", "a.elf", "a.debug")
	f := open(t, filepath.Join(dir, "a.elf"))
	addr := findSymbol(t, f, "_Z5otheri")
	s := NewSource(fixedFinder{&symsrc.Files{Elf: filepath.Join(dir, "a.elf"), Debug: filepath.Join(dir, "a.debug")}})
	q := symsrc.Addr{Module: symsrc.Module{BuildID: f.elf.ID}, Offset: addr}
	if p := s.Probe(context.Background(), q); !p.Known {
		t.Fatalf("%+v", p)
	}
	if err := os.Truncate(filepath.Join(dir, "a.elf"), 100); err != nil {
		t.Fatal(err)
	}
	s.module(q.Module).checked.Store(math.MaxInt64) // prevents the check for changes on disk
	for range 2 {
		if p := s.Probe(context.Background(), q); p.Known || p.Linked != addr || p.Trampoline {
			t.Errorf("%+v", p)
		}
		if a := s.Frames(context.Background(), q); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" {
			t.Errorf("%+v", a)
		}
	}
	s.module(q.Module).checked.Store(0)
	if a := s.Frames(context.Background(), q); len(a.Frames) != 1 || a.Frames[0].Func != "other(int)" {
		t.Errorf("loaded again: %+v", a)
	}
}
