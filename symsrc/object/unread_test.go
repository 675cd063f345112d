package object

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qss-filter/symsrc"
)

// unknownPacking marks the sections of debug information of a 64-bit ELF file as compressed by an unknown method.
func unknownPacking(t *testing.T, data []byte) {
	t.Helper()
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	headers := data[binary.LittleEndian.Uint64(data[0x28:]):]
	for i, s := range f.Sections {
		if !strings.HasPrefix(s.Name, ".debug_") || s.Size < 24 {
			continue
		}
		flags := headers[i*64+8:]
		binary.LittleEndian.PutUint64(flags, uint64(s.Flags|elf.SHF_COMPRESSED))
		head := data[s.Offset:]
		binary.LittleEndian.PutUint32(head, 0x1234)
		binary.LittleEndian.PutUint64(head[8:], s.Size)
	}
}

// TestUnknownPacking checks that a file whose debug information cannot be unpacked answers from its symbol table, and that the Files say so.
func TestUnknownPacking(t *testing.T) {
	data, err := os.ReadFile("../../testdata/rootfs/usr/lib/liba.so")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "liba.so")
	ask := func() symsrc.Answer {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s := NewSource(byName{"": {Elf: path}})
		defer s.Close()
		return s.Frames(t.Context(), symsrc.Addr{Offset: 0x110d})
	}
	whole := ask()
	if len(whole.Frames) != 1 || whole.Frames[0].Line == 0 {
		t.Fatalf("%+v", whole)
	}
	unknownPacking(t, data)
	a := ask()
	if len(a.Frames) != 1 || a.Frames[0].Func != whole.Frames[0].Func || a.Frames[0].Line != 0 {
		t.Errorf("%+v", a.Frames)
	}
	if a.Files.ElfStatus != symsrc.OK || a.Files.DebugStatus != symsrc.UnsupportedCompressed || !strings.Contains(a.Files.Note, "compression 4660") {
		t.Errorf("%+v", a.Files)
	}
}
