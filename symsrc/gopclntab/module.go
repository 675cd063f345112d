package gopclntab

import (
	stdelf "debug/elf"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/elf"
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

// relativeRelocations make a word the address that they hold.
var relativeRelocations = map[stdelf.Machine]uint32{
	stdelf.EM_X86_64:  uint32(stdelf.R_X86_64_RELATIVE),
	stdelf.EM_AARCH64: uint32(stdelf.R_AARCH64_RELATIVE),
	stdelf.EM_PPC64:   uint32(stdelf.R_PPC64_RELATIVE),
	stdelf.EM_S390:    uint32(stdelf.R_390_RELATIVE),
	stdelf.EM_RISCV:   3, // R_RISCV_RELATIVE
}

// readModule finds where code and inline trees begin. The header of a position-independent program does not say, nor does
// any since Go 1.26; the runtime's description has it. It is false where the code's begin stays unknown.
func (t *Table) readModule() bool {
	if t.layout == go12 || t.layout == go116 {
		return true // addresses are whole
	}
	first, _ := bin.Uint(t.functions, 0, 4, t.f.Big)
	last, _ := bin.Uint(t.functions, 8*t.n, 4, t.f.Big)
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

// modules returns the addresses of data that point at the table.
func (t *Table) modules() (found []uint64) {
	f, read := t.f, 0
	const written = stdelf.SHF_ALLOC | stdelf.SHF_WRITE
	for i := range f.Sections {
		s := &f.Sections[i]
		b, ok := f.Contents(s)
		if read += len(b); !ok || read > 2*len(f.Data) {
			continue
		}
		if s.Type == stdelf.SHT_PROGBITS && s.Flags&written == written {
			for p := 0; p+t.ptr <= len(b) && len(found) < maxGoModules; p += t.ptr {
				if v, _ := bin.Uint(b, p, t.ptr, f.Big); v == t.addr {
					found = append(found, s.Addr+uint64(p))
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
func (t *Table) module(at uint64) (words [moduleWords]uint64) {
	t.f.Budget.Spend(len(t.f.Data) / 8)
	b := t.loaded(at)
	for i := range words {
		words[i], _ = bin.Uint(b, i*t.ptr, t.ptr, t.f.Big)
	}
	read := 0
	for i := range t.f.Sections {
		s := &t.f.Sections[i]
		b, ok := t.f.Contents(s)
		if read += len(b); !ok || read > 2*len(t.f.Data) {
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
func (t *Table) relative(s *elf.Section, b []byte, found func(at, v uint64)) {
	f := t.f
	typ := relativeRelocations[f.Machine]
	if s.Type != stdelf.SHT_RELA || s.Flags&stdelf.SHF_ALLOC == 0 || !f.Is64 || typ == 0 {
		return
	}
	for ; len(b) >= 24; b = b[24:] {
		if info, _ := bin.Uint(b, 8, 8, f.Big); uint32(info) == typ {
			at, _ := bin.Uint(b, 0, 8, f.Big)
			v, _ := bin.Uint(b, 16, 8, f.Big)
			found(at, v)
		}
	}
}

// loaded returns the bytes from an address on to the end of its section.
func (t *Table) loaded(addr uint64) []byte {
	f := t.f
	for i := range f.Sections {
		s := &f.Sections[i]
		if s.Flags&stdelf.SHF_ALLOC == 0 || s.Type == stdelf.SHT_NOBITS || addr < s.Addr || addr-s.Addr >= s.Size {
			continue
		}
		f.Budget.Answer(i)
		if b, ok := f.Contents(s); ok {
			return b[addr-s.Addr:]
		}
	}
	return nil
}
