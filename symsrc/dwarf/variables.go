package dwarf

import (
	"cmp"
	"slices"
	"sync"

	"qss-filter/symsrc"
	"qss-filter/symsrc/bin"
)

// Operations of location expressions (DWARF 5 §7.7.1).
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opPlusUconst = 0x23
	opReg0       = 0x50
	opReg31      = 0x6f
	opBreg0      = 0x70
	opFbreg      = 0x91
	opAddrx      = 0xa1
)

// maxLocals bounds the variables of an answer. Functions with thousands of inlined calls have as many.
const maxLocals = 1 << 14

// Locals returns the variables and the parameters of the innermost function at an address, with those of the calls that were inlined
// into it, in file order.
func (u *Unit) Locals(addr uint64) (all []symsrc.Local) {
	body := u.body()
	fn, calls, _ := body.callsAt(addr)
	if fn == nil {
		return nil
	}
	die := fn.die
	if len(calls) > 0 {
		die = body.callEntries(fn)[calls[0]]
	}
	var functions []localScope // those around the entry, the innermost one last
	body.walkEntries(die, func(e *entry, depth int) bool {
		body.f.budget.Answer(1)
		if len(all) == maxLocals {
			return false
		}
		for n := len(functions); n > 0 && functions[n-1].depth >= depth; n-- {
			functions = functions[:n-1]
		}
		switch {
		case e.tag == tagVariable || e.tag == tagFormalParameter:
			all = append(all, functions[len(functions)-1].local(e))
			return false
		case e.tag == tagInlinedSubroutine:
			if origin, ok := e.referred(attrOrigin); ok {
				functions = append(functions, newLocalScope(&origin, depth))
				break
			}
			fallthrough
		case depth == 0:
			functions = append(functions, newLocalScope(e, depth))
		}
		return true
	})
	return all
}

// localScope is a function around a variable.
type localScope struct {
	depth int
	name  string
	frame int // the number of the register that is the frame base; −1 for another one
}

func newLocalScope(e *entry, depth int) localScope {
	s := localScope{depth: depth, frame: -1}
	w := originWalk{u: e.u, in: e.u.f, die: e.die}
	for s.name == "" && w.next() {
		s.name = string(w.u.text(&w.d, attrName))
	}
	if base, ok := e.u.block(&e.d, attrFrameBase); ok && len(base) > 0 && base[0] >= opReg0 && base[0] <= opReg31 {
		s.frame = int(base[0] - opReg0)
	}
	return s
}

// local returns what is known of a variable.
func (s *localScope) local(e *entry) (l symsrc.Local) {
	l.Func = s.name
	e.locations(func(x []byte) bool {
		offset, ok := s.offset(x)
		if ok {
			l.Offset = offset
			l.Known |= symsrc.LocalOffset
		}
		return !ok
	})
	if tag, ok := e.constant(attrTagOffset); ok {
		l.Tag = tag
		l.Known |= symsrc.LocalTag
	}
	if origin, ok := e.referred(attrOrigin); ok {
		e = &origin
	}
	l.Name = string(e.u.text(&e.d, attrName))
	if size, ok := e.sizeOfType(); ok {
		l.Size = size
		l.Known |= symsrc.LocalSize
	}
	if e.d.has(attrDeclFile) {
		l.File = e.u.sourceFile(e.d.v[attrDeclFile]).path
	}
	l.Line = int(uint32(e.d.number(attrDeclLine)))
	return l
}

// offset returns the distance from the frame base that a location expression has, if it has no other operations.
func (s *localScope) offset(x []byte) (int64, bool) {
	if len(x) == 0 || x[0] != opFbreg && (s.frame < 0 || int(x[0]) != opBreg0+s.frame) {
		return 0, false
	}
	v, p := bin.SLEB(x, 1)
	return v, p == len(x) || p+1 == len(x) && x[p] == opDeref
}

// locations calls each for the location expressions of a variable until it returns false.
func (e *entry) locations(each func([]byte) bool) {
	if x, ok := e.u.block(&e.d, attrLocation); ok {
		each(x)
		return
	}
	if !e.d.has(attrLocation) || e.u.f.split && e.u.version < 5 {
		return
	}
	off := e.d.v[attrLocation]
	switch e.d.form[attrLocation] {
	case formSecOffset, 0x06, 0x07: // data4 and data8 before version 4
		if e.u.version < 5 {
			e.u.locationList(off, each)
			return
		}
	case formLoclistx:
		var ok bool
		if off, ok = e.u.loclistAt(off); !ok {
			return
		}
	default:
		return
	}
	e.u.loclist(off, each)
}

// loclistAt returns the offset in .debug_loclists of list i of the unit (DWARF 5 §7.29).
func (u *Unit) loclistAt(i uint64) (off uint64, ok bool) {
	base := uint64(12) // after the header of the only contribution
	var root entry
	if root.read(u, u.declared(), u.die) && root.d.has(attrLoclistsBase) {
		base = root.d.v[attrLoclistsBase]
	} else if !u.f.split {
		return 0, false
	}
	if i >= 1<<32 || base >= 1<<40 {
		return 0, false
	}
	at, size := int(base+i*uint64(u.offSize)), int(u.offSize)
	v, p := bin.Uint(u.f.loclists.UpTo(at+size), at, size, u.big)
	return base + v, p != bin.Past
}

// locationList reads a list of .debug_loc (DWARF 4 §2.6.2).
func (u *Unit) locationList(off uint64, each func([]byte) bool) {
	b, size := u.f.locations.All(), int(u.addrSize)
	if off >= uint64(len(b)) {
		return
	}
	selector := ^uint64(0) >> (64 - 8*uint(size))
	for c := (bin.Cursor{B: b, P: int(off), Big: u.big}); ; {
		u.f.budget.Answer(1)
		lo, hi := c.Uint(size), c.Uint(size)
		if !c.OK() || lo == 0 && hi == 0 {
			return
		}
		if lo == selector {
			continue
		}
		if x := c.Bytes(uint64(c.U16())); !c.OK() || !each(x) {
			return
		}
	}
}

// loclist reads a list of .debug_loclists (DWARF 5 §7.7.3).
func (u *Unit) loclist(off uint64, each func([]byte) bool) {
	b := u.f.loclists.All()
	if off >= uint64(len(b)) {
		return
	}
	for c := (bin.Cursor{B: b, P: int(off), Big: u.big}); ; {
		u.f.budget.Answer(1)
		switch kind := c.U8(); kind {
		case 1: // DW_LLE_base_addressx
			c.ULEB()
			continue
		case 6: // DW_LLE_base_address
			c.Skip(uint64(u.addrSize))
			continue
		case 2, 3, 4: // DW_LLE_startx_endx, _startx_length, _offset_pair
			c.ULEB()
			c.ULEB()
		case 5: // DW_LLE_default_location
		case 7: // DW_LLE_start_end
			c.Skip(2 * uint64(u.addrSize))
		case 8: // DW_LLE_start_length
			c.Skip(uint64(u.addrSize))
			c.ULEB()
		default: // the end of the list, or an unknown entry
			return
		}
		if x := c.Bytes(c.ULEB()); !c.OK() || !each(x) {
			return
		}
	}
}

// globals are the variables of the program, by their addresses. All units are read once.
type globals struct {
	of    *Data
	once  sync.Once
	units [][]global // sorted; a table for each unit that has any
}

// global is a variable at a fixed address.
type global struct {
	lo, hi uint64
	u      *Unit
	die    int
}

// globalWeight is the memory of a global, in bytes.
const globalWeight = 48

// GlobalAt returns where the variable at an address is declared. line is 0 if that is not known.
func (d *Data) GlobalAt(addr uint64) (path string, line int) {
	g := &d.globals
	g.once.Do(g.read)
	for _, unit := range g.units {
		i, found := slices.BinarySearchFunc(unit, addr, func(v global, addr uint64) int { return cmp.Compare(v.lo, addr) })
		if !found {
			i--
		}
		if i >= 0 && addr < unit[i].hi {
			at := unit[i].u.knownDeclaration(unit[i].die)
			return at.file.path, at.line
		}
	}
	return "", 0
}

// read reads the variables of all units.
func (g *globals) read() {
	for _, off := range g.of.unitOffsets() {
		u := g.of.unitAt(off)
		if u == nil || u.tag == tagTypeUnit || u.tag == tagPartialUnit {
			continue
		}
		if all := u.body().globals(); len(all) > 0 {
			u.f.budget.Hold(len(all) * globalWeight)
			g.units = append(g.units, all)
		}
	}
}

// globals returns the variables of a unit, sorted. Of several at one address the last one in the order of llvm is returned.
func (u *Unit) globals() (all []global) {
	u.f.budget.Spend(u.end - u.off)
	u.walkEntries(u.die, func(e *entry, _ int) bool {
		if e.tag == tagVariable {
			if lo, ok := e.fixedAddress(); ok {
				size, ok := e.sizeOfType()
				if !ok {
					size = 1
				}
				all = append(all, global{lo, lo + size, u, e.die})
			}
		}
		return !isType(e.tag)
	})
	slices.SortStableFunc(all, func(a, b global) int { return cmp.Compare(a.lo, b.lo) })
	slices.Reverse(all)
	all = slices.CompactFunc(all, func(a, b global) bool { return a.lo == b.lo })
	slices.Reverse(all)
	return all
}

// fixedAddress returns the address of a variable whose location is an address and possibly an offset.
func (e *entry) fixedAddress() (addr uint64, ok bool) {
	x, ok := e.u.block(&e.d, attrLocation)
	if !ok || len(x) == 0 {
		return 0, false
	}
	c := bin.Cursor{B: x, P: 1, Big: e.u.big}
	switch x[0] {
	case opAddr:
		addr = c.Uint(int(e.u.addrSize))
	case opAddrx:
		addr, ok = e.u.addrx(c.ULEB())
	default:
		return 0, false
	}
	if ok && c.OK() && c.P < len(x) && x[c.P] == opPlusUconst {
		c.Skip(1)
		addr += c.ULEB()
	}
	return addr, ok && c.P == len(x)
}
