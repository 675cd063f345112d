package symsrc

import "debug/elf"

// Board is the only program of a board, an ELF file that is loaded where it is linked.
type Board struct {
	// Module has the path of the file, and its build ID if it has one.
	Module Module
	// Hosted is set for a program of an operating system that may be anywhere in memory: only Seastar prints addresses of its file.
	Hosted bool
	// Machine is what the program is for.
	Machine elf.Machine
	// Code are the addresses of the program's code, from Start to End.
	Code []struct{ Start, End uint64 }
	// Sum returns the SHA-256 of the file, in hexadecimal digits, or "" if it cannot be read.
	Sum func() string
}

// Covers reports whether the program has code at an address.
func (b *Board) Covers(addr uint64) bool {
	for _, c := range b.Code {
		if addr >= c.Start && addr < c.End {
			return true
		}
	}
	return false
}
