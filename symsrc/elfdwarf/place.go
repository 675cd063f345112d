package elfdwarf

import (
	"context"
	"debug/elf"

	"qss-filter/symsrc"
)

// Place gives the address that a question is about, in the address space of the module's file, and where that file is loaded by
// its own account: the address of its first segment, from which Breakpad's symbol files count. ok is false where there is no
// file to tell.
func (s *Source) Place(ctx context.Context, q symsrc.Addr) (addr, base uint64, ok bool) {
	s.with(ctx, q.Module, func(m *module) {
		if m.file == nil {
			return
		}
		if addr, ok = m.file.Address(q); ok {
			m.file.guard(func() { addr = m.file.codeAddr(addr) })
			base, ok = m.file.loadAddress()
		}
	})
	return addr, base, ok
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
