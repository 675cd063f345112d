package child

import (
	"bytes"
	"debug/elf"
	wire "encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// writeELF writes a header that is all of an ELF file, in the place of what was there, until that shows: the clock of the file
// system is coarse. It gives the inode.
func writeELF(t *testing.T, path string, typ elf.Type) uint64 {
	t.Helper()
	h := elf.Header64{Type: uint16(typ), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := wire.Write(&b, wire.LittleEndian, &h); err != nil {
		t.Fatal(err)
	}
	var before, after unix.Stat_t
	_ = unix.Stat(path, &before) // it need not be there
	for after = before; after.Ctim == before.Ctim; {
		if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := unix.Stat(path, &after); err != nil {
			t.Fatal(err)
		}
	}
	return after.Ino
}

// TestSameInode puts another program in the place of one that is known, in the same inode.
func TestSameInode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	f := files{}
	var m mapping
	for _, typ := range []elf.Type{elf.ET_DYN, elf.ET_EXEC, elf.ET_DYN} {
		m = mapping{inode: writeELF(t, path, typ), path: path}
		for range 2 {
			f.forgetChanged([]mapping{m})
			if b := f.of(m); b == nil || b.movable != (typ == elf.ET_DYN) {
				t.Errorf("%v: %+v", typ, b)
			}
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if f.forgetChanged([]mapping{m}); f.of(m) != nil {
		t.Error("a file that is gone is known")
	}
}
