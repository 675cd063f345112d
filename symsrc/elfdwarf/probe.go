package elfdwarf

import (
	"context"
	"debug/elf"

	"qss-filter/symsrc"
)

var _ symsrc.Prober = (*Source)(nil)

// Probe tells what the machine code around an address shows; see File.Probe.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	p, _, _ := inTime(ctx, s, q.Module, nil, func(m *module, _ *symsrc.Files) (p symsrc.Probe) {
		if m.file != nil {
			if addr, ok := m.file.Address(q); ok {
				p = m.file.Probe(addr, symsrc.Linked)
			}
		}
		return p
	})
	return p
}

// Probe tells what the machine code around an address shows: whether a number from a log is a return address, one that
// was moved back into the call, or neither. Without machine code only Linked and Back are set; nothing is where the space
// cannot be turned into addresses.
func (f *File) Probe(off uint64, from symsrc.Space) (p symsrc.Probe) {
	addr, ok := f.Linked(off, from)
	if !ok {
		return p
	}
	thumb := addr&1 != 0
	f.guard(func() {
		p.Linked, p.Back = addr, f.back()
		if addr = f.codeAddr(addr); f.typ != elf.ET_REL {
			p.Linked = addr
		}
	})
	isText := false
	f.askRuntime(func(r *File) {
		isText = r.code.calls(addr, thumb, &p)
	})
	p.Trampoline = isText && f.SignalTrampoline(addr)
	return p
}
