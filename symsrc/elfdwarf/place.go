package elfdwarf

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"

	"qss-filter/symsrc"
)

// Place returns the address that a question is about, in the address space of the module's file, and where that file is loaded by
// its own account: the address of its first segment, from which Breakpad's symbol files count. ok is false where there is no
// file to tell.
func (s *Source) Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	type place struct {
		addr, base uint64
		ok         bool
	}
	at, _, _ := inTime(ctx, s, q.Module, nil, func(m *module, _ *symsrc.Files) (at place) {
		if m.file == nil {
			return at
		}
		if at.addr, at.ok = m.file.Address(q); at.ok {
			m.file.guard(func() { at.addr = m.file.codeAddr(at.addr) })
			at.base, at.ok = m.file.loadAddress()
		}
		return at
	})
	return at.addr, at.base, at.ok
}

// loadAddress is the address of the first segment. Segments stand in the order of their addresses (gABI, "Program Header").
func (h *header) loadAddress() (addr uint64, ok bool) {
	for i := range h.segments {
		if s := &h.segments[i]; s.typ == elf.PT_LOAD {
			return s.addr, true
		}
	}
	return 0, false
}

// Describe tells what a module's file is: its build ID, its machine in Breakpad's words, and the address of its first segment.
func (s *Source) Describe(ctx context.Context, key symsrc.Module) (id symsrc.BuildID, machine string, base uint64, err error) {
	err = errNoFile
	files, _ := s.with(ctx, key, func(m *module, _ *symsrc.Files) {
		if m.file == nil {
			return
		}
		var ok bool
		if base, ok = m.file.loadAddress(); !ok {
			err = errNotLoaded
			return
		}
		id, machine, err = m.file.id, m.file.machineName(), nil
	})
	if err != nil && files != nil && files.Note != "" {
		err = fmt.Errorf("%w: %s", err, files.Note)
	}
	return id, machine, base, err
}

var (
	errNoFile    = errors.New("no such file can be read")
	errNotLoaded = errors.New("it is not linked")
)

// machineName is what Breakpad's dump_syms calls the machine.
func (h *format) machineName() string {
	switch h.machine {
	case elf.EM_386:
		return "x86"
	case elf.EM_X86_64:
		return "x86_64"
	case elf.EM_ARM:
		return "arm"
	case elf.EM_AARCH64:
		return "arm64"
	case elf.EM_MIPS:
		if h.is64 {
			return "mips64"
		}
		return "mips"
	case elf.EM_PPC:
		return "ppc"
	case elf.EM_PPC64:
		return "ppc64"
	case elf.EM_RISCV:
		if h.is64 {
			return "riscv64"
		}
		return "riscv"
	case elf.EM_S390:
		return "s390"
	case elf.EM_SPARC:
		return "sparc"
	case elf.EM_SPARCV9:
		return "sparcv9"
	}
	return "unknown"
}
