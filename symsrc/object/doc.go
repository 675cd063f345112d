// Package object turns addresses of an ELF file into functions, source files and lines, reading ELF and DWARF itself.
//
// The way of an address: aranges.go finds the compile unit, function.go the subprogram in it, inline.go the calls that
// were inlined there, name.go their names, line.go the row of the line program, symtab.go the symbol that names the
// physical function; opd.go where symbols lead to descriptors. In stripped files minidebug.go, plt.go and gopclntab.go know
// of other names. Everything is read when it is first asked for: the first address of a file or of a unit is answered by one
// pass that stores nothing, the second one builds a sorted table. Both say the same, for damaged files too: an answer must not
// depend on the questions before.
//
// What the debug information leaves to other files is read from there: supplement.go for what dwz moved, split.go and
// package.go for split units. relocate.go makes files readable that are not linked.
//
// What a number from a log means is told by the runtime object: space.go turns offsets into addresses, machine.go takes out
// what a pointer holds beside one, and probe.go asks callsite.go and trampoline.go what the code around it shows.
//
// What is read of files is kept by memory, source.go, and what a file may cost is counted in one place, budget.go: beyond it the
// file is CORRUPTED, and refusal.go remembers that. deadline.go keeps a log from waiting for a file that takes long.
//
// The input is hostile. A position that has left its bytes becomes the constant past, every later read from it fails,
// and the loops end; only File, which owns the mapped bytes, recovers from panics and memory faults.
package object
