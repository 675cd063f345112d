package codeprobe

import (
	"encoding/binary"
	"maps"

	"qss-filter/symsrc/bin"
)

// CFA is the number of the canonical frame address among registers.
const CFA = -1

// RuleKind tells how the value is found that a register had in the caller.
type RuleKind uint8

const (
	RuleUndefined RuleKind = iota // it is lost
	RuleSame                      // it is the register's
	RuleSaved                     // it stands in memory at Base + Offset
	RuleValue                     // it is Base + Offset
	RuleUnknown                   // an expression tells, which is not read
)

// Rule is the rule of a register. Registers have the numbers of the machine's ABI.
type Rule struct {
	Register int
	Kind     RuleKind
	Base     int
	Offset   int64
}

// Unwinding is call frame information for some code (DWARF 5 §6.4).
type Unwinding struct {
	Lo, Hi uint64
	// Return is the register that stands for the return address.
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
	if common.bad || !ok || code.Lo >= code.Hi || x.f.elf.Dead(code.Lo) || x.seen[code.Lo] {
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
