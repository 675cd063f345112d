package object

import (
	"qss-filter/symsrc/dwarf"
	"qss-filter/symsrc/elf"
)

// policy is how a Source answers where readers of object files differ. It is set once, by the function that makes the Source.
type policy struct {
	elf   elf.Rules
	dwarf dwarf.Rules
	// asTold takes addresses as they come: a pointer's tag is not taken out, and an address in a relocatable file is not placed.
	asTold bool
	// symbolsOnly names code outside of the debug information by the symbol tables alone.
	symbolsOnly bool
	// trusting uses a program and its debug file together, where the question names no build ID, even if theirs differ.
	trusting bool
	// literalPaths looks for the files that debug information names where it says, and nowhere else. The supplementary file is not read.
	literalPaths bool
}

// ourPolicy names no symbol that may be the wrong one.
var ourPolicy policy

// llvmPolicy is how llvm-symbolizer answers.
var llvmPolicy = policy{
	elf:          elf.Rules{ZeroCode: true, Unplaced: true, Endless: true, NoGNUPacked: true},
	dwarf:        dwarf.Rules{Overlaps: true, Entries: true, PlacedLines: true, PackageOnly: true},
	asTold:       true,
	symbolsOnly:  true,
	trusting:     true,
	literalPaths: true,
}
