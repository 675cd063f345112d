package object

import (
	"context"
	"debug/elf"

	"qss-filter/symsrc"
)

var _ symsrc.Prober = (*Source)(nil)

// Probe returns what the machine code around an address shows, as File.Probe does.
func (s *Source) Probe(ctx context.Context, q symsrc.Addr) symsrc.Probe {
	p, _, _ := inTime(ctx, s, q, nil, func(m *module, q symsrc.Addr, _ *symsrc.Files) (p symsrc.Probe) {
		if m.file != nil {
			if addr, ok := m.file.Address(q); ok {
				p = m.file.Probe(addr, symsrc.Linked)
			}
		}
		return p
	})
	return p
}

// Probe returns what the machine code around an address shows: whether an address in a log is a return address, an address inside of a
// call instruction, or neither. Without machine code only Linked, CallDistance and Thumb are set. The result is zero if the offset cannot be
// converted to an address.
func (f *File) Probe(off uint64, from symsrc.Space) (p symsrc.Probe) {
	addr, ok := f.Linked(off, from)
	if !ok {
		return p
	}
	thumb := addr&1 != 0
	f.guard(func() {
		p.Linked, p.CallDistance, p.Thumb = addr, f.elf.CallDistance(), thumb && f.elf.Machine == elf.EM_ARM
		if addr = f.codeAddr(addr); f.elf.Type != elf.ET_REL {
			p.Linked = addr
		}
	})
	isText := false
	f.withRuntime(func(r *File) {
		isText = r.code.Calls(addr, thumb, &p)
	})
	p.Trampoline = isText && f.SignalTrampoline(addr)
	return p
}

// SignalTrampoline reports whether an address is in a signal trampoline, the code that a signal handler returns to: the next frame did
// not call it but was interrupted. The call frame information marks it with the letter S in the augmentation of its CIE (GCC,
// unwind-dw2.c), in glibc for a range that begins one byte early. Without it, the few instructions are recognized, which are always
// the same.
func (f *File) SignalTrampoline(addr uint64) (found bool) {
	f.withRuntime(func(r *File) {
		addr := f.codeAddr(addr)
		found = r.code.SignalFrame(addr) || r.code.IsSigreturn(addr)
	})
	if !found { // a debug file may have .debug_frame
		f.guard(func() { found = f.code.SignalFrame(f.codeAddr(addr)) })
	}
	return found
}

// Call returns the answer to a query of kind symsrc.CallSite, or nil if there is no machine code.
func (f *File) Call(q symsrc.Addr) (c *symsrc.Call) {
	addr, ok := f.Address(q)
	if !ok {
		return nil
	}
	f.elf.Budget.CountQuery()
	thumb, at := addr&1 != 0, addr
	f.withRuntime(func(r *File) {
		addr = f.codeAddr(addr)
		c, at = r.code.CallAt(addr, thumb)
	})
	if c == nil || f.fault.Load() != nil {
		return nil
	}
	if c.Addr = addr; !c.Text {
		return c
	}
	c.Trampoline = f.SignalTrampoline(addr)
	if c.Start == 0 {
		f.guard(func() {
			if sym := f.symbols.at(at); sym != nil && sym.Sized {
				c.Start = sym.Start
			} else if t := f.goTab.of(f); t != nil {
				c.Start, _ = t.Start(at)
			}
		})
	}
	return c
}
