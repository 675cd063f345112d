package elfdwarf

// code is what the machine code and the call frame information of one file show. It may be asked by several goroutines at once.
type code struct {
	*image
	debugFrame *section            // .debug_frame
	dynsym     *symbolTable        // nil where there is none
	symtab     func() *symbolTable // the one with the mapping symbols; nil where there is none

	stubSections []*sectionHeader
	stubs        stubTable
	eh           ehFrames
	signal       trampolines
	modes        mappings
}

// newCode returns the code of a file.
func newCode(f *image, debugFrame *section, dynsym *symbolTable, symtab func() *symbolTable) *code {
	c := &code{image: f, debugFrame: debugFrame, dynsym: dynsym, symtab: symtab}
	for i := range f.sections {
		if s := &f.sections[i]; isStubs(s) {
			c.stubSections = append(c.stubSections, s)
		}
	}
	return c
}
