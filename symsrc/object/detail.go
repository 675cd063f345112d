package object

import (
	"qss-filter/symsrc"
)

// Detailed is Code with the details of each frame. They are nil if nothing is known.
func (f *File) Detailed(addr uint64) (frames []symsrc.Frame, details []symsrc.Detail) {
	if f.index.isUsed() {
		at := addr
		f.guard(func() { at = f.codeAddr(addr) })
		if frames, details, ok := f.index.frames(at, true); ok {
			f.elf.Budget.CountQuery()
			return frames, details
		}
	}
	if frames = f.Code(addr); len(frames) == 0 {
		return nil, nil
	}
	f.guard(func() { details = f.details(addr, frames) })
	if f.fault.Load() != nil {
		return nil, nil
	}
	return frames, details
}

// details returns the details of the frames at an address.
func (f *File) details(addr uint64, frames []symsrc.Frame) (all []symsrc.Detail) {
	if len(frames) == 0 {
		return nil
	}
	addr = f.codeAddr(addr)
	all = make([]symsrc.Detail, len(frames))
	if u, at := f.unitFor(addr); u != nil {
		copy(all, u.Details(at))
		for i := range all {
			all[i].Start += addr - at
		}
	}
	if outer := len(frames) - 1; frames[outer].Origin != symsrc.DebugOnly {
		if sym := f.symbols.at(addr); sym != nil {
			all[outer].Start, all[outer].Started = sym.Start, true
		}
	}
	return all
}

// Global is Data with the declaration of the variable, and its size. A variable without a symbol has no name, and Frame.Offset is addr.
func (f *File) Global(addr uint64) (frame symsrc.Frame, ok bool) {
	frame, ok = f.Data(addr)
	f.guard(func() {
		addr := f.dataAddr(addr)
		if sym := f.symbols.at(addr); sym != nil {
			frame.Size = sym.Size
		}
		if path, line := f.dwarf.GlobalAt(addr); line > 0 {
			frame.File, frame.Line = path, line
		}
	})
	if !ok && frame.Line > 0 {
		frame.Offset, ok = addr, true
	}
	return frame, ok && f.fault.Load() == nil
}

// Locals returns the variables of the function at an address.
func (f *File) Locals(addr uint64) (all []symsrc.Local) {
	f.elf.Budget.CountQuery()
	f.guard(func() {
		addr := f.codeAddr(addr)
		if u := f.dwarf.UnitFor(addr); u != nil {
			all = u.Locals(addr)
		}
	})
	if f.fault.Load() != nil {
		return nil
	}
	return all
}
