package symsrc

import "context"

// Space tells what Addr.Offset counts from.
type Space uint8

const (
	// Linked is an address of the ELF file's own address space, comparable with p_vaddr.
	Linked Space = iota
	// InFile is a byte offset in the ELF file, as in the third column of /proc/PID/maps plus the distance into the mapping.
	InFile
	// InImage counts from the start of the module's lowest mapping: pc minus that start.
	InImage
	// InText counts from the start of the module's executable mapping.
	InText
)

// Probe says what the machine code around an address shows. Its zero value shows nothing: there is no text to look at.
type Probe struct {
	// Known is set where there was text to look at, of a machine whose calls are known.
	Known bool
	// Linked is the address as one of the ELF file's own address space.
	Linked uint64
	// Returns is set where a call instruction ends at the address: it is a return address.
	Returns bool
	// Calls is set where the address lies in a call instruction, in the way a return address does that has been moved back
	// into its call: at its start where instructions have one width, before its end otherwise.
	Calls bool
	// Trampoline is set where the address is that of a signal trampoline: the frame after it was interrupted.
	Trampoline bool
	// Back is the distance from a return address to a byte of the call before it: 1, or the width of an instruction where
	// that is fixed.
	Back uint64
}

// Prober looks at the machine code of a module.
type Prober interface {
	Probe(ctx context.Context, q Addr) Probe
}
