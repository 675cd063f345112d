package elfdwarf

import (
	"debug/elf"
	"qss-filter/symsrc/bin"
)

// Words of the runtime's description of a program (runtime.moduledata), which begins with the address of the table's
// header.
const (
	moduleMinPC     = 20
	moduleMaxPC     = 21
	moduleText      = 22
	moduleInline118 = 38 // gofunc of Go 1.18 and 1.19
	moduleInline    = 40 // gofunc since Go 1.20
	moduleWords     = 41
)

// maxGoModules bounds the places that are taken for the description; all but one are not.
const maxGoModules = 16

// relativeRelocations tell that a word is the address that they hold.
var relativeRelocations = map[elf.Machine]uint32{
	elf.EM_X86_64:  uint32(elf.R_X86_64_RELATIVE),
	elf.EM_AARCH64: uint32(elf.R_AARCH64_RELATIVE),
	elf.EM_PPC64:   uint32(elf.R_PPC64_RELATIVE),
	elf.EM_S390:    uint32(elf.R_390_RELATIVE),
	elf.EM_RISCV:   3, // R_RISCV_RELATIVE
}

// readModule finds where code and inline trees begin. The header of a position-independent program does not tell, nor does
// any since Go 1.26; the runtime's description does. It is false where the code's begin stays unknown.
func (t *goTable) readModule() bool {
	if t.layout == go12 || t.layout == go116 {
		return true // addresses are whole
	}
	first, _ := bin.Uint(t.functions, 0, 4, t.f.big)
	last, _ := bin.Uint(t.functions, 8*t.n, 4, t.f.big)
	for _, at := range t.modules() {
		m := t.module(at)
		if text := m[moduleText]; m[0] == t.addr && text != 0 && m[moduleMinPC] == text+first && m[moduleMaxPC] == text+last {
			t.text = text
			if t.inline = m[moduleInline]; t.layout == go118 {
				t.inline = m[moduleInline118]
			}
			return true
		}
	}
	return t.text != 0
}

// modules are the addresses of data that point at the table.
func (t *goTable) modules() (found []uint64) {
	f, read := t.f, 0
	const written = elf.SHF_ALLOC | elf.SHF_WRITE
	for i := range f.sections {
		s := &f.sections[i]
		b, ok := f.contents(s)
		if read += len(b); !ok || read > 2*len(f.data) {
			continue
		}
		if s.typ == elf.SHT_PROGBITS && s.flags&written == written {
			for p := 0; p+t.ptr <= len(b) && len(found) < maxGoModules; p += t.ptr {
				if v, _ := bin.Uint(b, p, t.ptr, f.big); v == t.addr {
					found = append(found, s.addr+uint64(p))
				}
			}
		}
		t.relative(s, b, func(at, v uint64) {
			if v == t.addr && len(found) < maxGoModules {
				found = append(found, at)
			}
		})
	}
	return found
}

// module reads the description at an address.
func (t *goTable) module(at uint64) (words [moduleWords]uint64) {
	t.f.budget.Spend(len(t.f.data) / 8)
	b := t.loaded(at)
	for i := range words {
		words[i], _ = bin.Uint(b, i*t.ptr, t.ptr, t.f.big)
	}
	read := 0
	for i := range t.f.sections {
		s := &t.f.sections[i]
		b, ok := t.f.contents(s)
		if read += len(b); !ok || read > 2*len(t.f.data) {
			continue
		}
		t.relative(s, b, func(where, v uint64) {
			if i := (where - at) / uint64(t.ptr); where >= at && i < moduleWords {
				words[i] = v
			}
		})
	}
	return words
}

// relative calls found with the place and the address of all relocations in a section that make a word an address.
func (t *goTable) relative(s *sectionHeader, b []byte, found func(at, v uint64)) {
	f := t.f
	typ := relativeRelocations[f.machine]
	if s.typ != elf.SHT_RELA || s.flags&elf.SHF_ALLOC == 0 || !f.is64 || typ == 0 {
		return
	}
	for ; len(b) >= 24; b = b[24:] {
		if info, _ := bin.Uint(b, 8, 8, f.big); uint32(info) == typ {
			at, _ := bin.Uint(b, 0, 8, f.big)
			v, _ := bin.Uint(b, 16, 8, f.big)
			found(at, v)
		}
	}
}

// loaded are the bytes from an address on to the end of its section.
func (t *goTable) loaded(addr uint64) []byte {
	f := t.f
	for i := range f.sections {
		s := &f.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.typ == elf.SHT_NOBITS || addr < s.addr || addr-s.addr >= s.size {
			continue
		}
		f.budget.Answer(i)
		if b, ok := f.contents(s); ok {
			return b[addr-s.addr:]
		}
	}
	return nil
}
