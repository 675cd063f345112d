package codeprobe

import (
	"encoding/binary"
	"maps"

	"qss-filter/symsrc/bin"
)

// CFA is the number of the canonical frame address among registers.
const CFA = -1

// RuleKind is how the value is found that a register had in the caller.
type RuleKind uint8

const (
	RuleUndefined RuleKind = iota // it is lost
	RuleSame                      // it is the register's
	RuleSaved                     // it is in memory at Base + Offset
	RuleValue                     // it is Base + Offset
	RuleUnknown                   // it is an expression, which is not read
)

// Rule is the rule of a register. Registers have the numbers of the machine's ABI.
type Rule struct {
	Register int // or CFA
	Kind     RuleKind
	Base     int   // a register, or CFA
	Offset   int64 // in bytes
}

// Unwinding is call frame information for some code (DWARF 5 §6.4).
type Unwinding struct {
	// Lo and Hi are where the code begins and ends.
	Lo, Hi uint64
	// Return is the register that is used for the return address.
	Return int
	// Rows are where rules change: the first one at Lo.
	Rows []UnwindRow
}

// UnwindRow has the rules that are other ones from an address on.
type UnwindRow struct {
	Addr  uint64
	Rules []Rule
}

// unwinder reads call frame information.
type unwinder struct {
	f    *Code
	s    frameSection
	each func(*Unwinding) error
	seen map[uint64]bool // where code begins that has some already
	cies map[int]*fullCIE

	out   Unwinding
	now   map[int]Rule
	start map[int]Rule   // of the CIE
	stack []map[int]Rule // remembered
	left  int            // what may still be read of the section: hostile ones repeat what is long
}

// Unwind calls each with the call frame information of several files of one program: that of .debug_frame, and for what is not there
// that of .eh_frame.
func Unwind(files []*Code, each func(*Unwinding) error) error {
	x := unwinder{each: each, seen: make(map[uint64]bool)}
	for _, find := range [...]func(*Code) (frameSection, bool){(*Code).debugFrames, (*Code).frameSection} {
		for _, f := range files {
			if s, ok := find(f); ok {
				if err := x.section(f, s); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (x *unwinder) section(f *Code, s frameSection) error {
	const times, more = 64, 1 << 20
	x.f, x.s, x.cies, x.left = f, s, make(map[int]*fullCIE), times*len(s.data)+more
	for off := 0; off+4 <= len(s.data) && x.left > 0; {
		if binary.LittleEndian.Uint32(s.data[off:]) == 0 {
			off += 4 // ends what one object file brought along
			continue
		}
		e, ok := s.entry(off)
		if !ok {
			return nil
		}
		if !e.isCIE {
			if err := x.entry(&e); err != nil {
				return err
			}
		}
		off = e.end
	}
	return nil
}

// entry reads the rules of an FDE.
func (x *unwinder) entry(e *frameEntry) error {
	common := x.cies[e.cie]
	if common == nil {
		c, ok := x.s.readFullCIE(e.cie)
		common = &c
		common.bad = !ok
		x.cies[e.cie] = common
	}
	code, ok := x.s.readFDE(e, &common.cie)
	if common.bad || !ok || code.Lo >= code.Hi || x.f.elf.IsTombstone(code.Lo) || x.seen[code.Lo] {
		return nil
	}
	c := &bin.Cursor{B: x.s.data[:e.end], P: e.body, Big: x.f.elf.Big}
	if x.s.eh {
		encoded(&x.f.elf.Format, c, common.encoding, 0, 0)
		encoded(&x.f.elf.Format, c, common.encoding&ehForm&^8, 0, 0)
	} else {
		c.Skip(2 * uint64(common.addrSize))
	}
	if common.augmented {
		c.Skip(c.ULEB())
	}
	if !c.OK() {
		return nil
	}
	x.out = Unwinding{Lo: code.Lo, Hi: code.Hi, Return: common.returns, Rows: append(x.out.Rows[:0], UnwindRow{Addr: code.Lo})}
	x.now, x.start, x.stack = make(map[int]Rule), nil, x.stack[:0]
	x.run(common, &bin.Cursor{B: common.program, Big: x.f.elf.Big})
	x.start = maps.Clone(x.now)
	x.run(common, c)
	x.left -= len(common.program) + len(x.start)
	x.seen[code.Lo] = true
	return x.each(&x.out)
}

// fullCIE is a CIE with its program.
type fullCIE struct {
	cie
	bad, augmented bool
	codeAlign      uint64
	dataAlign      int64
	returns        int
	program        []byte
}

// readFullCIE reads the CIE at off (DWARF 5 §6.4.1).
func (s *frameSection) readFullCIE(off int) (x fullCIE, ok bool) {
	if x.cie, ok = s.readCIE(off); !ok {
		return x, false
	}
	e, _ := s.entry(off)
	c := &bin.Cursor{B: s.data[:e.end], P: e.body, Big: s.Big}
	version := c.U8()
	augmentation := c.CString()
	if version == 4 {
		c.Skip(2)
	}
	x.codeAlign = c.ULEB()
	x.dataAlign, c.P = bin.SLEB(c.B, c.P)
	if version == 1 {
		x.returns = int(c.U8())
	} else {
		x.returns = int(min(c.ULEB(), maxRegister+1))
	}
	if len(augmentation) > 0 {
		if augmentation[0] != 'z' {
			return x, false
		}
		x.augmented = true
		c.Skip(c.ULEB())
	}
	if !c.OK() || x.returns > maxRegister {
		return x, false
	}
	x.program = c.B[c.P:]
	return x, true
}

// maxRegister bounds the numbers of registers.
const maxRegister = 1 << 12

// Call frame instructions (DWARF 5 §7.24); the first three have an operand in their low bits.
const (
	cfaAdvance, cfaOffset, cfaRestore = 0x40, 0x80, 0xc0

	cfaSetLoc, cfaAdvance1, cfaAdvance2, cfaAdvance4                  = 0x01, 0x02, 0x03, 0x04
	cfaOffsetExtended, cfaRestoreExtended, cfaUndefined, cfaSameValue = 0x05, 0x06, 0x07, 0x08
	cfaRegister, cfaRememberState, cfaRestoreState                    = 0x09, 0x0a, 0x0b
	cfaDefCFA, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAExpr      = 0x0c, 0x0d, 0x0e, 0x0f
	cfaExpression, cfaOffsetExtendedSF, cfaDefCFASF, cfaDefCFAOffsSF  = 0x10, 0x11, 0x12, 0x13
	cfaValOffset, cfaValOffsetSF, cfaValExpression                    = 0x14, 0x15, 0x16
	cfaAdvance8, cfaNegateRAState, cfaArgsSize, cfaNegativeOffset     = 0x1d, 0x2d, 0x2e, 0x2f
)

// maxUnwindRows bounds the rows of one function, and maxRemembered its remembered states.
const (
	maxUnwindRows = 1 << 16
	maxRemembered = 1 << 8
)

// run performs a program. What is not known ends it.
func (x *unwinder) run(common *fullCIE, c *bin.Cursor) {
	for c.OK() && c.P < len(c.B) && len(x.out.Rows) < maxUnwindRows && x.left > 0 {
		op := c.U8()
		low := int(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvance:
			x.advance(uint64(low) * common.codeAlign)
			continue
		case cfaOffset:
			x.saved(low, int64(c.ULEB())*common.dataAlign, c)
			continue
		case cfaRestore:
			x.restore(low)
			continue
		}
		if !x.step(op, common, c) {
			return
		}
	}
}

// step performs the instructions that have no operand in them.
func (x *unwinder) step(op uint8, common *fullCIE, c *bin.Cursor) bool {
	register := func() int { return int(min(c.ULEB(), maxRegister+1)) }
	signed := func() (v int64) {
		v, c.P = bin.SLEB(c.B, c.P)
		return v * common.dataAlign
	}
	switch op {
	case 0:
	case cfaSetLoc:
		addr, ok := uint64(0), true
		if x.s.eh {
			addr, ok = encoded(&x.f.elf.Format, c, common.encoding, x.s.addr+uint64(c.P), 0)
		} else {
			addr = c.Uint(common.addrSize)
		}
		if !ok || addr < x.at() {
			return false
		}
		x.advance(addr - x.at())
	case cfaAdvance1, cfaAdvance2, cfaAdvance4:
		x.advance(c.Uint(1<<(op-cfaAdvance1)) * common.codeAlign)
	case cfaAdvance8:
		x.advance(c.Uint(8) * common.codeAlign)
	case cfaOffsetExtended:
		reg := register()
		x.saved(reg, int64(c.ULEB())*common.dataAlign, c)
	case cfaOffsetExtendedSF:
		reg := register()
		x.saved(reg, signed(), c)
	case cfaNegativeOffset:
		reg := register()
		x.saved(reg, -int64(c.ULEB())*common.dataAlign, c)
	case cfaRestoreExtended:
		x.restore(register())
	case cfaUndefined:
		x.set(Rule{Register: register(), Kind: RuleUndefined})
	case cfaSameValue:
		x.set(Rule{Register: register(), Kind: RuleSame})
	case cfaRegister:
		reg := register()
		x.set(Rule{Register: reg, Kind: RuleValue, Base: register()})
	case cfaValOffset:
		reg := register()
		x.set(Rule{Register: reg, Kind: RuleValue, Base: CFA, Offset: int64(c.ULEB()) * common.dataAlign})
	case cfaValOffsetSF:
		reg := register()
		x.set(Rule{Register: reg, Kind: RuleValue, Base: CFA, Offset: signed()})
	case cfaExpression, cfaValExpression:
		x.set(Rule{Register: register(), Kind: RuleUnknown})
		c.Skip(c.ULEB())
	case cfaArgsSize:
		c.ULEB()
	case cfaNegateRAState: // the return address is signed from here on, or no longer
	case cfaRememberState:
		if x.left -= len(x.now); len(x.stack) < maxRemembered && x.left > 0 {
			x.stack = append(x.stack, maps.Clone(x.now))
		}
	case cfaRestoreState:
		x.left -= len(x.now)
		if n := len(x.stack) - 1; n >= 0 && x.left > 0 {
			x.replace(x.stack[n])
			x.stack = x.stack[:n]
		}
	default:
		return x.defineCFA(op, c, register, signed)
	}
	return c.OK()
}

// defineCFA performs the instructions that say where the frame is.
func (x *unwinder) defineCFA(op uint8, c *bin.Cursor, register func() int, signed func() int64) bool {
	r := x.now[CFA]
	r.Register, r.Kind = CFA, RuleValue
	switch op {
	case cfaDefCFA:
		r.Base, r.Offset = register(), int64(c.ULEB())
	case cfaDefCFASF:
		r.Base, r.Offset = register(), signed()
	case cfaDefCFARegister:
		r.Base = register()
	case cfaDefCFAOffset:
		r.Offset = int64(c.ULEB())
	case cfaDefCFAOffsSF:
		r.Offset = signed()
	case cfaDefCFAExpr:
		r = Rule{Register: CFA, Kind: RuleUnknown}
		c.Skip(c.ULEB())
	default:
		return false
	}
	if !c.OK() {
		return false
	}
	x.set(r)
	return true
}

// at returns where the last row begins.
func (x *unwinder) at() uint64 { return x.out.Rows[len(x.out.Rows)-1].Addr }

// advance begins a row where it has something to say.
func (x *unwinder) advance(by uint64) {
	last := &x.out.Rows[len(x.out.Rows)-1]
	addr := last.Addr + by
	if by == 0 || x.start == nil {
		return
	}
	if len(last.Rules) == 0 && len(x.out.Rows) > 1 {
		last.Addr = addr
		return
	}
	x.out.Rows = append(x.out.Rows, UnwindRow{Addr: addr})
}

func (x *unwinder) saved(reg int, off int64, c *bin.Cursor) {
	if c.OK() {
		x.set(Rule{Register: reg, Kind: RuleSaved, Base: CFA, Offset: off})
	}
}

// restore sets the rule of a register to that of the CIE.
func (x *unwinder) restore(reg int) {
	r, ok := x.start[reg]
	if !ok {
		r = Rule{Register: reg, Kind: RuleSame}
	}
	x.set(r)
}

// set notes a rule, in the row at hand.
func (x *unwinder) set(r Rule) {
	if r.Register > maxRegister || r.Base > maxRegister || x.now[r.Register] == r && r != (Rule{}) {
		return
	}
	x.now[r.Register] = r
	row := &x.out.Rows[len(x.out.Rows)-1]
	for i := range row.Rules {
		if row.Rules[i].Register == r.Register {
			row.Rules[i] = r
			return
		}
	}
	row.Rules = append(row.Rules, r)
}

// replace takes a remembered state.
func (x *unwinder) replace(state map[int]Rule) {
	for reg := range x.now {
		if _, ok := state[reg]; !ok {
			x.restore(reg)
		}
	}
	for _, r := range state {
		x.set(r)
	}
	x.now = maps.Clone(state)
}
