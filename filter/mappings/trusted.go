package mappings

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// loader is the name of OP-TEE's loader of trusted applications in its lines, after the letter of their level.
var loader = []byte("/LD:")

// maxTrusted is how much memory is taken for that of an application: the line does not say how much it has.
const maxTrusted = 16 << 20

// coreWord is in the line that says where OP-TEE's core is, whose file is coreFile.
var coreWord, coreFile = []byte("TEE load address @ "), []byte("tee.elf")

// core reads where OP-TEE's core is, above its call stack (print_kernel_stack in its core/arch/arm/kernel/unwind_arm64.c):
//
//	E/TC:0 0 TEE load address @ 0xe100000
func core(text []byte) (m Mapping, ok bool) {
	i := bytes.Index(text, coreWord)
	if i < 0 || len(bytes.Trim(text[:i], "EITC/: ?0123456789")) > 0 {
		return m, false
	}
	addr, end, ok := scan.Address(text, i+len(coreWord))
	if !ok || end != len(text) {
		return m, false
	}
	m = Mapping{Format: TrustedImages, Start: addr, Space: symsrc.InImage, Mode: "rx", Path: coreFile}
	return m.until(addr + maxTrusted)
}

// trusted reads a file of a trusted application of OP-TEE (ta_elf_print_mappings in its ldelf/ta_elf.c), and where its address 0 is:
//
//	E/LD:   [0] 8aaaf201-2450-11e4-abe2-0002a5d5c57b @ 0x40010000
//
// What stands before it may have been cut off as a logger's.
func trusted(text []byte) (m Mapping, ok bool) {
	if len(text) > len("E/LD:") && bytes.HasPrefix(text[1:], loader) {
		text = text[len("E/LD:"):]
	}
	text = bytes.TrimLeft(text, " ")
	if len(text) == 0 || text[0] != '[' {
		return m, false
	}
	_, end, ok := scan.Decimal(text, 1)
	const between, word = "] ", " @ "
	start := end + len(between)
	id := start + len("8aaaf201-2450-11e4-abe2-0002a5d5c57b")
	if !ok || !scan.Has(text, end, between) || !scan.Has(text, min(id, len(text)), word) {
		return m, false
	}
	for i, c := range text[start:id] {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (c == '-') || !dash && !scan.IsHex(c) {
			return m, false
		}
	}
	addr, end, ok := scan.Address(text, id+len(word))
	if !ok || end != len(text) {
		return m, false
	}
	m = Mapping{Format: TrustedImages, Start: addr, Space: symsrc.InImage, Mode: "rx", Path: text[start:id]}
	return m.until(addr + maxTrusted)
}
