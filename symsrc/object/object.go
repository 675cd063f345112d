// Package object turns addresses of ELF files into functions, source files and lines: a symsrc.Source over packages elf, dwarf, codeprobe
// and gopclntab. It opens files, keeps them open while they are asked about, notices that they change, and bounds what they cost.
//
//   - source.go: Source, and how a question finds the module that it is about; registry.go: the modules of a Source, by their names
//   - module.go: the files of a module: opened, checked, closed, and refused where they cost too much
//   - deadline.go: questions do not wait for a file that takes long
//   - file.go: File, one ELF file with all that is read with it; disk.go: where its bytes are from; runtime.go: the file that is loaded at
//     run time, where another one has the debug information
//   - dependencies.go: the files that debug information names
//   - answer.go: what is at an address; address.go: which address a question means; symbols.go: the names of symbol tables
//   - probe.go: what the code around an address shows; describe.go: what a file is
//   - walk.go: all code of a file, and all of its call frame information
//   - policy.go: what llvm-symbolizer does differently
//   - prefetch.go: sections that are unpacked before they are asked for; unpacked.go: unpacked copies of them on disk, for the next process
//
// A file that goes beyond its budget is CORRUPTED from then on. Files may also be overwritten while they are mapped. Only File, which owns
// the mapped bytes, recovers from panics and memory faults.
package object
