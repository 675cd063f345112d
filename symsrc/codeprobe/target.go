package codeprobe

import (
	stdelf "debug/elf"
	"encoding/binary"
	"slices"

	"qss-filter/symsrc"
)

// CallAt says what the code shows of an address as a place in a stack, and where the instruction is that the place is about. It returns
// nil if the machine's calls are not known.
func (f *Code) CallAt(addr uint64, thumb bool) (c *symsrc.Call, at uint64) {
	if callDecoders[f.elf.Machine] == nil {
		return nil, 0
	}
	c, at = &symsrc.Call{}, addr
	// The code may end with the call of a function that does not return.
	if c.Text = f.elf.HoldsCode(addr) || f.elf.HoldsCode(addr-1); !c.Text {
		return c, at
	}
	ends := []uint64{addr, addr + f.elf.CallDistance()} // as it is, and moved into the call
	if addr&1 != 0 {
		ends = append(ends, addr+1)
	}
	if f.elf.Machine == stdelf.EM_ARM {
		ends = append(ends, addr+4)
	}
	for i, end := range slices.Compact(ends) {
		site := callSite{f: f, addr: end, thumb: thumb && i == 0}
		if site.decode() {
			c.Ends = true
			at = min(at, end-1)
			f.addTargets(c, &site)
		}
	}
	if code, ok := f.Function(at); ok {
		c.Start = code.Lo
		c.Framed = f.framed(code.Lo, at)
	}
	if code, ok := f.Function(addr); ok && code.Lo == addr {
		c.Jumps, c.Sealed = f.jumpsOut(code)
	}
	return c, at
}

// addTargets adds what a call leads to.
func (f *Code) addTargets(c *symsrc.Call, site *callSite) {
	if site.target != 0 {
		c.Targets = append(c.Targets, f.targetAt(site.target))
	}
	if slot, ok := site.slot(); ok {
		if name := f.slotName(slot); name != "" {
			c.Targets = append(c.Targets, symsrc.Target{Symbol: name})
		}
	}
}

// targetAt returns the target at an address: that of the stub if there is one.
func (f *Code) targetAt(addr uint64) symsrc.Target {
	if f.InStubs(addr) {
		if s := f.stub(addr); s != nil {
			return symsrc.Target{Symbol: f.nameOf(s)}
		}
	}
	return symsrc.Target{Addr: addr}
}

// slot returns the address of the pointer that the call goes by, of `call *slot(%rip)`: what -fno-plt makes of the call of a
// library, and what every program starts with.
func (c *callSite) slot() (addr uint64, ok bool) {
	n := len(c.text)
	if c.f.elf.Machine != stdelf.EM_X86_64 || n < 6 || c.text[n-6] != 0xff || c.text[n-5] != 0x15 {
		return 0, false
	}
	return c.addr + uint64(int64(int32(binary.LittleEndian.Uint32(c.text[n-4:])))), true
}

// slotName returns the function whose address the dynamic linker puts into a slot, or "".
func (f *Code) slotName(slot uint64) string {
	if f.dynsym == nil {
		return ""
	}
	f.slots.Lock()
	defer f.slots.Unlock()
	symbol, known := f.slots.symbols[slot]
	if !known {
		one := map[uint64]uint32{slot: 0}
		f.bind(one)
		if f.slots.symbols == nil || len(f.slots.symbols) >= maxSlots {
			f.slots.symbols = map[uint64]uint32{}
		}
		symbol = one[slot]
		f.slots.symbols[slot] = symbol
	}
	if symbol == 0 {
		return ""
	}
	return string(f.dynsym.NameAt(symbol))
}

// maxSlots bounds what is remembered of slots.
const maxSlots = 1 << 12
