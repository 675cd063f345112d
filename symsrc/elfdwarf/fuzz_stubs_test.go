package elfdwarf

import (
	"debug/elf"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// FuzzStubs reads damaged procedure linkage tables of every machine: a stub is named after a symbol that there is, and
// lies in the section.
func FuzzStubs(f *testing.F) {
	const plt, slot = 0x2000, 0x4018
	symbol := append(make([]byte, 24), le(uint32(1), uint8(0x12), uint8(0), uint16(0), uint64(0), uint64(0))...)
	jump := le([]byte{0xff, 0x25}, int32(slot-plt-6))
	relocation := le(uint64(slot), uint64(1)<<32|uint64(elf.R_X86_64_JMP_SLOT), uint64(0))
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
		data := elfFile(
			part{name: stubSections[int(form>>4)%len(stubSections)], typ: elf.SHT_PROGBITS, flags: alloc | elf.SHF_EXECINSTR, addr: plt, data: code},
			part{name: ".rela.plt", typ: typ, flags: alloc, data: relocations},
			part{name: ".got.plt", typ: elf.SHT_PROGBITS, flags: alloc, addr: slot &^ 0xfff, data: make([]byte, 8)},
			part{name: ".dynsym", typ: elf.SHT_DYNSYM, flags: alloc, data: symbols},
			part{name: ".dynstr", typ: elf.SHT_STRTAB, flags: alloc, data: names})
		binary.LittleEndian.PutUint16(data[18:], machine)
		shoff := binary.LittleEndian.Uint64(data[40:])
		binary.LittleEndian.PutUint32(data[shoff+64*4+40:], 5) // the names of .dynsym
		before := allocated()
		x, err := newFile(data)
		if err != nil {
			return
		}
		var stubs []stub
		x.guard(func() { stubs = x.code.allStubs() })
		if fault := x.fault.Load(); fault != nil {
			t.Fatal(fault)
		}
		for _, s := range stubs {
			if s.lo < plt || s.hi > plt+uint64(len(code)) {
				t.Fatalf("a stub at %#x-%#x of %d bytes of code", s.lo, s.hi, len(code))
			}
		}
		for a := uint64(plt); a < plt+uint64(min(len(code), 64)); a += 4 {
			for _, frame := range x.Code(a) {
				if linked, ok := strings.CutSuffix(frame.Linkage, "@plt"); ok && !slices.ContainsFunc(strings.Split(string(names), "\x00"),
					func(name string) bool { return strings.HasSuffix(name, linked) }) {
					t.Fatalf("%q is none of %q", frame.Linkage, names)
				}
			}
		}
		if used := allocated() - before; used > 32<<20+uint64(1000*len(data)) {
			t.Fatalf("%d bytes of memory for a file of %d", used, len(data))
		}
	})
}
