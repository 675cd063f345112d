package codeprobe

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"

	"qss-filter/symsrc"
	"qss-filter/symsrc/elf"
)

// Bounds of what is looked at for a function's jumps.
const (
	maxJumpCode = 64 << 10
	maxJumps    = 32
)

// jumps are what the code of a function jumps to outside of it, as it does in place of a last call.
type jumps struct {
	f    *Code
	code elf.Span
	to   []symsrc.Target
	// open is set if control may leave the function by other ways: by a jump by way of a pointer, or off the end of its code.
	open bool
}

// jumpsOut returns the functions that the code of a function jumps to. sealed is set if these are all.
func (f *Code) jumpsOut(code elf.Span) (to []symsrc.Target, sealed bool) {
	text, ok := f.elf.Text(code.Lo, int(min(code.Hi-code.Lo, maxJumpCode)))
	j := jumps{f: f, code: code, open: !ok || code.Hi-code.Lo > maxJumpCode || uint64(len(text)) < code.Hi-code.Lo}
	switch f.elf.Machine {
	case stdelf.EM_X86_64:
		if j.x86(text); j.open { // not all of what was found need be instructions
			j.to = nil
			j.anyX86(text)
		}
	case stdelf.EM_386:
		j.open = true
		j.anyX86(text)
	case stdelf.EM_AARCH64:
		j.aarch64(text)
		j.open = true // frames of leaf functions are left out by who walks along frame pointers, and nothing in the code shows it
	default:
		j.open = true
	}
	return j.to, !j.open
}

// add adds a jump to an address.
func (j *jumps) add(to uint64) {
	to = j.f.elf.Truncate(to)
	if j.code.Covers(to) {
		return
	}
	if j.f.InStubs(to) {
		t := j.f.targetAt(to)
		j.open = j.open || t.Symbol == "" // an indirect function
		j.append(t)
	} else if fn, ok := j.f.Function(to); ok {
		j.append(symsrc.Target{Addr: fn.Lo})
	} else {
		j.open = true
	}
}

// append appends a target.
func (j *jumps) append(t symsrc.Target) {
	for _, known := range j.to {
		if known == t {
			return
		}
	}
	if len(j.to) == maxJumps {
		j.open = true
		return
	}
	j.to = append(j.to, t)
}

// call notes a call of an address. That of a place in the function is how code gets an address onto the stack, to return to another one.
func (j *jumps) call(to uint64) { j.open = j.open || j.code.Covers(to) && to != j.code.Lo }

// anyX86 adds what each byte may begin of the jumps of x86: a function that is compared with these begins there by chance once in billions.
func (j *jumps) anyX86(code []byte) {
	for i := 0; i+5 <= len(code); i++ {
		if code[i] != 0xe9 && (i == 0 || code[i-1] != 0x0f || code[i]&0xf0 != 0x80) { // jmp rel32, jcc rel32
			continue
		}
		to := j.f.elf.Truncate(j.code.Lo + uint64(i) + 5 + uint64(int64(int32(binary.LittleEndian.Uint32(code[i+1:])))))
		if fn, ok := j.f.Function(to); ok && fn.Lo == to || j.f.elf.IsText(to) && j.f.InStubs(to) {
			j.add(to)
		}
	}
}

// x86 walks over the instructions of x86-64.
func (j *jumps) x86(code []byte) {
	ends := false // the last instruction goes on to no other one
	for at := 0; at < len(code) && !j.open; {
		in, ok := decodeX86(code[at:])
		if !ok {
			j.open = true
			return
		}
		next := at + in.size
		after := j.code.Lo + uint64(next)
		to, direct := in.leadsTo(code[at:], j.code.Lo+uint64(at))
		switch op := in.opcode; {
		case op == 0x90 || op == 0x0f1f || op == 0xcc: // nop, int3
			at = next
			continue
		case direct && op == 0xe8:
			j.call(to)
		case direct:
			j.add(to)
		case op == 0xff && in.reg == 4 && !in.notrack: // that of a switch is notrack where it is known to be one
			name := ""
			if in.modRM == 0x25 { // jmp *slot(%rip)
				name = j.f.slotName(after + uint64(int64(int32(binary.LittleEndian.Uint32(code[next-4:])))))
			}
			if j.open = name == ""; !j.open {
				j.append(symsrc.Target{Symbol: name})
			}
		case op == 0xff && in.reg == 5: // far
			j.open = true
		}
		switch op := in.opcode; op {
		case 0xc2, 0xc3, 0xe8, 0xe9, 0xeb, 0xf4, 0x0f0b: // ret, call of what does not return, jmp, hlt, ud2
			ends = true
		default:
			ends = op == 0xff && (in.reg == 2 || in.reg == 4)
		}
		at = next
	}
	j.open = j.open || !ends
}

// aarch64 walks over the instructions of AArch64.
func (j *jumps) aarch64(code []byte) {
	ends := false
	signed := func(insn uint32, low, bits int) uint64 { // a field of words
		return uint64(int64(int32(insn<<(32-low-bits)))>>(32-bits)) << 2
	}
	for i := 0; i+4 <= len(code) && !j.open; i += 4 {
		insn, at := j.f.elf.CodeOrder().Uint32(code[i:]), j.code.Lo+uint64(i)
		switch {
		case insn == 0xd503201f: // nop
			continue
		case insn>>26 == 5: // b
			j.add(at + signed(insn, 0, 26))
		case insn>>26 == 0x25: // bl
			j.call(at + signed(insn, 0, 26))
		case insn>>24 == 0x54, insn>>25&0x3f == 0x1a: // b.cond, cbz, cbnz
			j.add(at + signed(insn, 5, 19))
		case insn>>25&0x3f == 0x1b: // tbz, tbnz
			j.add(at + signed(insn, 5, 14))
		case insn>>25 == 0x6b && insn>>21&7 == 0: // br, braa
			j.open = true
		}
		ends = insn>>26 == 5 || insn>>26 == 0x25 || insn>>25 == 0x6b || insn>>16 == 0 || insn>>21 == 0x6a1 // jumps, calls, ret; udf, brk
	}
	j.open = j.open || !ends
}

// framed reports whether an address is behind the beginning of a function that sets its frame pointer up there.
func (f *Code) framed(begin, addr uint64) bool {
	code, _ := f.elf.Text(begin, 32)
	code = code[:min(uint64(len(code)), max(addr, begin)-begin)]
	switch f.elf.Machine {
	case stdelf.EM_X86_64:
		code = bytes.TrimPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}) // endbr64
		return bytes.HasPrefix(code, []byte{0x55, 0x48, 0x89, 0xe5}) || bytes.HasPrefix(code, []byte{0x55, 0x48, 0x8b, 0xec})
	case stdelf.EM_AARCH64:
		for i := 0; i+4 <= len(code); i += 4 {
			if f.elf.CodeOrder().Uint32(code[i:])&0xffc003ff == 0x910003fd { // add x29, sp, #n
				return true
			}
		}
	}
	return false
}
