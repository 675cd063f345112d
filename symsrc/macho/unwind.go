package macho

import (
	stdelf "debug/elf"
	"slices"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/codeprobe"
	"qss-filter/symsrc/elf"
)

// unwinding is what the unwinder's tables say of functions. They are in files that have no list of the starts of functions, too.
type unwinding struct {
	// starts are addresses at which functions begin, or code that belongs to none. Others may begin between these: an entry of
	// __unwind_info is for all functions in a row that are unwound in one way.
	starts []uint64
	// ends are where functions end whose entries are for one function only, by their starts.
	ends map[uint64]uint64
}

// unwinding reads __unwind_info and __eh_frame.
func (f *File) unwinding(limits *budget.File) (u unwinding) {
	u.ends = map[uint64]uint64{}
	if f.DebugOnly || f.typ == typeObject {
		return u
	}
	for i := range f.sections {
		x := &f.sections[i]
		if x.segment != "__TEXT" || x.name != "__unwind_info" && x.name != "__eh_frame" {
			continue
		}
		b, ok := bin.Slice(f.data, x.offset, x.size)
		if !ok {
			continue
		}
		limits.Spend(len(b))
		if x.name == "__eh_frame" {
			codeprobe.Ranges(elf.Format{Is64: f.is64, Big: f.big, Machine: f.machine, Type: stdelf.ET_DYN}, b, x.addr, func(code elf.Span) {
				u.add(code.Lo, limits)
				u.ends[code.Lo] = code.Hi
			})
			continue
		}
		u.compact(b, f.big, f.textStart(), limits)
	}
	slices.Sort(u.starts)
	u.starts = slices.Compact(u.starts)
	return u
}

// add adds the start of a function.
func (u *unwinding) add(addr uint64, limits *budget.File) {
	const weight = 80 // also of its end
	limits.Hold(weight)
	u.starts = append(u.starts, addr)
}

// Kinds of pages of __unwind_info (<mach-o/compact_unwind_encoding.h>), and the flag of entries that have tables of exceptions: each of these
// is for one function.
const (
	regularPage    = 2
	compressedPage = 3
	hasLSDA        = 0x40000000
)

// compact reads an __unwind_info: pages of entries, each of which has the distance of a function from the start of __TEXT, and how it is
// unwound. An entry goes to the next one.
func (u *unwinding) compact(b []byte, big bool, base uint64, limits *budget.File) {
	c := &bin.Cursor{B: b, Big: big}
	version, common, commonCount := c.U32(), c.U32(), c.U32()
	c.Skip(8) // personality functions
	index, count := c.U32(), c.U32()
	if !c.OK() || version != 1 {
		return
	}
	encodingAt := func(at uint64) uint32 {
		v, _ := bin.Uint(b, int(min(at, bin.Past)), 4, big)
		return uint32(v)
	}
	open := uint64(0) // the start of the last function, if its entry is for one only
	entry := func(addr uint64, encoding uint32) {
		if open != 0 && addr > open {
			u.ends[open] = addr
		}
		u.add(addr, limits)
		open = 0
		if encoding&hasLSDA != 0 {
			open = addr
		}
	}
	for c.P = int(index); count > 0; count-- {
		first, page := c.U32(), uint64(c.U32())
		c.Skip(4)
		if !c.OK() {
			return
		}
		if page == 0 { // the last one says where the code ends
			entry(base+uint64(first), 0)
			continue
		}
		p := &bin.Cursor{B: b, P: int(page), Big: big}
		kind, entries, n := p.U32(), uint64(p.U16()), p.U16()
		encodings := page + uint64(p.U16())
		limits.Spend(8 * int(n))
		for p.P = int(page + entries); n > 0; n-- {
			switch kind {
			case regularPage:
				addr, encoding := p.U32(), p.U32()
				if !p.OK() {
					return
				}
				entry(base+uint64(addr), encoding)
			case compressedPage:
				v := p.U32()
				if !p.OK() {
					return
				}
				k := uint64(v >> 24)
				at := uint64(common) + 4*k
				if k >= uint64(commonCount) {
					at = encodings + 4*(k-uint64(commonCount))
				}
				entry(base+uint64(first)+uint64(v&0xffffff), encodingAt(at))
			default:
				return
			}
		}
	}
}

// textStart returns the address of __TEXT, 0 if there is none.
func (f *File) textStart() uint64 {
	for i := range f.segments {
		if s := &f.segments[i]; s.name == "__TEXT" {
			return s.addr
		}
	}
	return 0
}
