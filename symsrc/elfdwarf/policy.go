package elfdwarf

// policy is how a Source answers where readers of object files differ.
type policy struct {
	elf   rules
	dwarf dwarfRules
	// asTold takes addresses as they come: a pointer's tag is not taken out, and an address in a relocatable file is not placed.
	asTold bool
	// symbolsOnly names code outside of the debug information by the symbol tables alone.
	symbolsOnly bool
	// trusting uses a program and its debug file together, where the question names no build ID, whatever theirs are.
	trusting bool
	// literalPaths looks for the files that debug information names where it says, and nowhere else. The supplementary file is not read.
	literalPaths bool
}

// ourPolicy names no symbol that may be the wrong one.
var ourPolicy policy

// llvmPolicy is how llvm-symbolizer answers.
var llvmPolicy = policy{
	elf:          rules{zeroCode: true, unplaced: true, endless: true, noGNUPacked: true},
	dwarf:        dwarfRules{overlaps: true, entries: true, placedLines: true, packageOnly: true},
	asTold:       true,
	symbolsOnly:  true,
	trusting:     true,
	literalPaths: true,
}
