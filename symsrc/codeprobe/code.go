package codeprobe

import "qss-filter/symsrc/elf"

// Code is what the machine code and the call frame information of one file show. It may be asked by several goroutines at once.
type Code struct {
	elf        *elf.File
	debugFrame *elf.Content            // .debug_frame
	dynsym     *elf.SymbolTable        // nil where there is none
	symtab     func() *elf.SymbolTable // the one with the mapping symbols; nil where there is none

	stubSections []*elf.Section
	stubs        stubTable
	eh           ehFrames
	signal       trampolines
	modes        mappings
}

// New returns the code of a file.
func New(f *elf.File, debugFrame *elf.Content, dynsym *elf.SymbolTable, symtab func() *elf.SymbolTable) *Code {
	c := &Code{elf: f, debugFrame: debugFrame, dynsym: dynsym, symtab: symtab}
	for i := range f.Sections {
		if s := &f.Sections[i]; isStubs(s) {
			c.stubSections = append(c.stubSections, s)
		}
	}
	return c
}
