package elfdwarf

import (
	"context"

	"qss-filter/symsrc"
)

// Probe tells what the machine code around an address shows; see File.Probe.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) (p symsrc.Probe) {
	s.with(ctx, q.Module, func(m *module) {
		if m.file != nil {
			p = m.file.Probe(q.Offset, q.Space)
		}
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
	f.guard(func() {
		thumb := addr&1 != 0
		addr = f.codeAddr(addr)
		p.Linked, p.Back = addr, f.back()
		r := f.runtime()
		if r == nil {
			return
		}
		if _, p.Known = r.text(addr, 1); !p.Known {
			// The code may end with the call of a function that does not return.
			_, p.Known = r.text(addr-1, 1)
		}
		if p.Known {
			p.Returns, p.Calls = r.callEndsAt(addr, thumb), r.callMovedTo(addr, thumb)
		}
	})
	p.Trampoline = p.Known && f.SignalTrampoline(addr)
	return p
}
