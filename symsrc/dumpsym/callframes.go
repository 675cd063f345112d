package dumpsym

import (
	"cmp"
	"fmt"
	"slices"

	"qss-filter/symsrc/codeprobe"
	"qss-filter/symsrc/object"
)

// callFrames writes how the stack is to be walked: STACK CFI INIT for each stretch of code, and STACK CFI where its rules change.
func (d *dumper) callFrames() error {
	src := object.NewSource(d.finder)
	defer src.Close()
	registers := registersOf[d.machine]
	if registers == nil {
		return nil // a walker could not name them
	}
	return src.Unwind(d.ctx, d.module, func(u *codeprobe.Unwinding) error {
		if u.Lo < d.base {
			return nil
		}
		w := rules{registers: registers, returns: u.Return}
		b := fmt.Appendf(d.line[:0], "STACK CFI INIT %x %x", u.Lo-d.base, u.Hi-u.Lo)
		if w.name(u.Return) != "" && !slices.ContainsFunc(u.Rows[0].Rules, func(r codeprobe.Rule) bool { return r.Register == u.Return }) {
			// On entry the return address is in its register, of which there need be no rule.
			u.Rows[0].Rules = append(u.Rows[0].Rules, codeprobe.Rule{Register: u.Return, Kind: codeprobe.RuleSame})
		}
		for i, row := range u.Rows {
			slices.SortFunc(row.Rules, func(a, b codeprobe.Rule) int { return cmp.Compare(a.Register, b.Register) })
			before := len(b)
			if i > 0 {
				b = fmt.Appendf(b, "STACK CFI %x", row.Addr-d.base)
			}
			head := len(b)
			for _, r := range row.Rules {
				b = w.append(b, r)
			}
			if i > 0 && (len(b) == head || row.Addr >= u.Hi) { // nothing that can be said, or of no code
				b = b[:before]
				continue
			}
			b = append(b, '\n')
		}
		d.line = b
		_, err := d.body.Write(b)
		return err
	})
}

// rules puts rules in Breakpad's words: postfix expressions.
type rules struct {
	registers []string
	returns   int
}

// name is what Breakpad calls a register; "" where it has no name for it.
func (w *rules) name(register int) string {
	switch {
	case register == codeprobe.CFA:
		return ".cfa"
	case register < len(w.registers):
		return w.registers[register]
	}
	return ""
}

// append appends a rule. Expressions of DWARF have no equal in it: what they tell counts as lost.
func (w *rules) append(b []byte, r codeprobe.Rule) []byte {
	name, base := w.name(r.Register), w.name(r.Base)
	if r.Register == w.returns {
		name = ".ra"
	}
	switch {
	case name == "":
		return b
	case r.Kind == codeprobe.RuleSame && w.name(r.Register) != "":
		return fmt.Appendf(b, " %s: %s", name, w.name(r.Register))
	case r.Kind == codeprobe.RuleSaved:
		return fmt.Appendf(b, " %s: %s %d + ^", name, base, r.Offset)
	case r.Kind == codeprobe.RuleValue && base != "" && r.Offset == 0 && r.Register != codeprobe.CFA:
		return fmt.Appendf(b, " %s: %s", name, base)
	case r.Kind == codeprobe.RuleValue && base != "":
		return fmt.Appendf(b, " %s: %s %d +", name, base, r.Offset)
	}
	return fmt.Appendf(b, " %s: .undef", name)
}

// registersOf are the names that Breakpad's stack walkers have for the registers of a machine, by their numbers in DWARF; of
// those that no caller relies on only the general ones.
var registersOf = map[string][]string{
	"x86": {"$eax", "$ecx", "$edx", "$ebx", "$esp", "$ebp", "$esi", "$edi", "$eip"},
	"x86_64": {"$rax", "$rdx", "$rcx", "$rbx", "$rsi", "$rdi", "$rbp", "$rsp", "$r8", "$r9", "$r10", "$r11", "$r12", "$r13", "$r14",
		"$r15", "$rip"},
	"arm":     {"r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"},
	"arm64":   append(numbered("x", 0, 31), "sp"),
	"mips":    mips,
	"mips64":  mips,
	"riscv":   riscv,
	"riscv64": riscv,
}

var mips = []string{"$zero", "$at", "$v0", "$v1", "$a0", "$a1", "$a2", "$a3", "$t0", "$t1", "$t2", "$t3", "$t4", "$t5", "$t6", "$t7",
	"$s0", "$s1", "$s2", "$s3", "$s4", "$s5", "$s6", "$s7", "$t8", "$t9", "$k0", "$k1", "$gp", "$sp", "$fp", "$ra"}

var riscv = []string{"zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
	"s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"}

// numbered returns the names from first up to, and without, end.
func numbered(prefix string, first, end int) (names []string) {
	for i := first; i < end; i++ {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}
