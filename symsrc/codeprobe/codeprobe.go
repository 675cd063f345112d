// Package codeprobe finds out what machine code and call frame information show: whether an address is one that a call returns to, the
// code that a signal handler returns to, or a stub of the procedure linkage table; and how a caller's registers are found.
//
//   - codeprobe.go: Code, for one file
//   - callsite.go: calls before an address, for each machine
//   - target.go: what such a call leads to, and what a function jumps to
//   - plt.go: stubs of the procedure linkage table, and the functions that they jump to
//   - callframe.go: .eh_frame, .eh_frame_hdr and .debug_frame, and signal trampolines
//   - unwind.go: the rules of call frame information, for each range of code
package codeprobe

import (
	"sync"

	"qss-filter/symsrc/elf"
)

// Code is what the machine code and the call frame information of one file show. Its methods may be called by several goroutines at
// once.
type Code struct {
	elf        *elf.File
	debugFrame *elf.Content            // .debug_frame
	dynsym     *elf.SymbolTable        // nil where there is none
	symtab     func() *elf.SymbolTable // the one with the mapping symbols; nil where there is none

	stubSections []*elf.Section
	stubs        stubTable
	eh           ehFrames
	slots        slotNames
	signal       trampolines
	modes        mappings
}

// slotNames are the symbols of the slots that were asked for, 0 for none.
type slotNames struct {
	sync.Mutex
	symbols map[uint64]uint32
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
