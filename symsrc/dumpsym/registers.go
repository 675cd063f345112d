package dumpsym

import "fmt"

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

// numbered are the names from first up to, and without, end.
func numbered(prefix string, first, end int) (names []string) {
	for i := first; i < end; i++ {
		names = append(names, fmt.Sprint(prefix, i))
	}
	return names
}
