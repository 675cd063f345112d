package object

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"qss-filter/symsrc/elf/elftest"
)

// FuzzStubs reads damaged procedure linkage tables of every machine. The name of a stub is that of an existing symbol, and the stub is in
// the section.
func FuzzStubs(f *testing.F) {
	const plt, slot = 0x2000, 0x4018
	sections := []string{".plt", ".plt.sec", ".plt.bnd", ".plt.got", ".iplt"}
	symbol := append(make([]byte, 24), elftest.LE(uint32(1), uint8(0x12), uint8(0), uint16(0), uint64(0), uint64(0))...)
	jump := elftest.LE([]byte{0xff, 0x25}, int32(slot-plt-6))
	relocation := elftest.LE(uint64(slot), uint64(1)<<32|uint64(elf.R_X86_64_JMP_SLOT), uint64(0))
	f.Add(append(jump, make([]byte, 10)...), relocation, symbol, []byte("\x00puts\x00"), uint16(elf.EM_X86_64), uint8(0))
	f.Add([]byte("\x17\x0e\x00\x00\x03\x3e\x8e\x01\x67\x03\x0e\x00\x13\x00\x00\x00"), relocation, symbol, []byte("\x00f\x00"), uint16(elf.EM_RISCV), uint8(0))
	f.Add([]byte("\x90\x00\x00\xf0\x11\x0e\x40\xf9\x10\x62\x00\x91\x20\x02\x1f\xd6"), relocation, symbol, []byte("\x00f\x00"), uint16(elf.EM_AARCH64), uint8(1))
	f.Add([]byte("\x00\xc6\x8f\xe2\x00\xca\x8c\xe2\x18\xf0\xbc\xe5"), relocation[:8], symbol[:16], []byte("\x00f\x00"), uint16(elf.EM_ARM), uint8(4))
	f.Add([]byte("\xc0\x10\x00\x00\x00\x00\xe3\x10\x10\x00\x00\x04\x07\xf1\x0d\x10"), relocation, symbol, []byte("\x00f\x00"), uint16(elf.EM_S390), uint8(0))
	f.Fuzz(func(t *testing.T, code, relocations, symbols, names []byte, machine uint16, form uint8) {
		const alloc = elf.SHF_ALLOC
		typ := elf.SHT_RELA
		if form&4 != 0 {
			typ = elf.SHT_REL
		}
		data := elftest.File(
			elftest.Part{Name: sections[int(form>>4)%len(sections)], Type: elf.SHT_PROGBITS, Flags: alloc | elf.SHF_EXECINSTR, Addr: plt, Data: code},
			elftest.Part{Name: ".rela.plt", Type: typ, Flags: alloc, Data: relocations},
			elftest.Part{Name: ".got.plt", Type: elf.SHT_PROGBITS, Flags: alloc, Addr: slot &^ 0xfff, Data: make([]byte, 8)},
			elftest.Part{Name: ".dynsym", Type: elf.SHT_DYNSYM, Flags: alloc, Data: symbols},
			elftest.Part{Name: ".dynstr", Type: elf.SHT_STRTAB, Flags: alloc, Data: names})
		binary.LittleEndian.PutUint16(data[18:], machine)
		shoff := binary.LittleEndian.Uint64(data[40:])
		binary.LittleEndian.PutUint32(data[shoff+64*4+40:], 5) // sh_link of .dynsym
		before := allocated()
		x, err := newFile(data)
		if err != nil {
			return
		}
		x.guard(func() { x.code.Stubs() })
		if fault := x.fault.Load(); fault != nil {
			t.Fatal(fault)
		}
		for _, s := range x.code.Stubs() {
			if s.Lo < plt || s.Hi > plt+uint64(len(code)) {
				t.Fatalf("a stub at %#x-%#x, in %d bytes of code", s.Lo, s.Hi, len(code))
			}
		}
		for a := uint64(plt); a < plt+uint64(min(len(code), 64)); a += 4 {
			for _, frame := range x.Code(a) {
				if linked, ok := strings.CutSuffix(frame.Linkage, "@plt"); ok && !slices.ContainsFunc(strings.Split(string(names), "\x00"),
					func(name string) bool { return strings.HasSuffix(name, linked) }) {
					t.Fatalf("%q is not in %q", frame.Linkage, names)
				}
			}
		}
		if used := allocated() - before; used > 32<<20+uint64(1000*len(data)) {
			t.Fatalf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}
