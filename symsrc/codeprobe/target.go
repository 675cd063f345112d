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
	}
	if code, ok := f.Function(addr); ok && code.Lo == addr {
		c.Jumps = f.jumpsOut(code.Lo, code.Hi)
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

// Bounds of what is looked at for a function's jumps, and of what is remembered of slots.
const (
	maxJumpCode = 64 << 10
	maxJumps    = 16
	maxSlots    = 1 << 12
)

// jumpsOut returns where the code of a function jumps to outside of it, as it does in place of a last call. Each byte may begin a
// jump of x86-64: a place that is compared with these is among them by chance once in billions.
func (f *Code) jumpsOut(lo, hi uint64) (jumps []symsrc.Target) {
	code, _ := f.elf.Text(lo, int(min(hi-lo, maxJumpCode)))
	add := func(to uint64) {
		if (to < lo || to >= hi) && len(jumps) < maxJumps && f.elf.IsText(to) {
			if fn, ok := f.Function(to); ok && fn.Lo == to || f.InStubs(to) {
				jumps = append(jumps, f.targetAt(to))
			}
		}
	}
	switch f.elf.Machine {
	case stdelf.EM_X86_64, stdelf.EM_386:
		for i := 0; i+5 <= len(code); i++ {
			switch {
			case code[i] == 0xe9, i > 0 && code[i-1] == 0x0f && code[i]&0xf0 == 0x80: // jmp rel32, jcc rel32
				add(f.elf.Truncate(lo + uint64(i) + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:]))))))
			}
		}
	case stdelf.EM_AARCH64:
		for i := 0; i+4 <= len(code); i += 4 {
			if insn := f.elf.CodeOrder().Uint32(code[i:]); insn>>26 == 5 { // b
				add(lo + uint64(i) + uint64(int64(int32(insn<<6))>>4))
			}
		}
	}
	return jumps
}
