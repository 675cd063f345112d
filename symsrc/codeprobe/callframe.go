package codeprobe

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"slices"
	"sync"

	"qss-filter/symsrc/bin"
	"qss-filter/symsrc/elf"
)

// frameSection is call frame information: .eh_frame (LSB, "Exception Frames") or .debug_frame (DWARF 5 §6.4.1).
type frameSection struct {
	elf.Format
	data []byte
	addr uint64 // of .eh_frame
	eh   bool
}

// cie is what is needed of a common information entry.
type cie struct {
	signal   bool
	encoding uint8 // of the addresses in its FDEs; 0xff in .debug_frame
	addrSize int
}

// frameSection returns the file's .eh_frame.
func (f *Code) frameSection() (frameSection, bool) {
	f.eh.once.Do(func() { f.eh.frameSection, f.eh.ok = f.findFrames() })
	return f.eh.frameSection, f.eh.ok
}

// debugFrames returns the file's .debug_frame.
func (f *Code) debugFrames() (frameSection, bool) {
	b := f.debugFrame.All()
	return frameSection{Format: f.elf.Format, data: b}, b != nil
}

// ehFrames is that section, looked for when it is first asked for.
type ehFrames struct {
	once sync.Once
	frameSection
	ok bool
}

func (f *Code) findFrames() (frameSection, bool) {
	for i := range f.elf.Sections {
		s := &f.elf.Sections[i]
		if s.Name == ".eh_frame" && s.Flags&stdelf.SHF_ALLOC != 0 && s.Type != stdelf.SHT_NOBITS {
			b, ok := f.elf.Contents(s)
			return frameSection{f.elf.Format, b, s.Addr, true}, ok && len(b) > 0
		}
	}
	// Without section headers the table leads to it; it ends somewhere in the table's segment.
	table, at := f.frameTable()
	if len(table) < 8 {
		return frameSection{}, false
	}
	c := &bin.Cursor{B: table, P: 4, Big: f.elf.Big}
	start, ok := encoded(&f.elf.Format, c, table[1], at+4, at)
	for i := range f.elf.Segments {
		s := &f.elf.Segments[i]
		if ok && s.Type == stdelf.PT_LOAD && start >= s.Addr && start-s.Addr < s.FileSize {
			b, ok := bin.Slice(f.elf.Data, s.Offset+(start-s.Addr), s.FileSize-(start-s.Addr))
			return frameSection{f.elf.Format, b, start, true}, ok
		}
	}
	return frameSection{}, false
}

// frameTable returns the section .eh_frame_hdr, which has a segment of its own, and its address.
func (f *Code) frameTable() ([]byte, uint64) {
	for i := range f.elf.Segments {
		if s := &f.elf.Segments[i]; s.Type == stdelf.PT_GNU_EH_FRAME {
			b, _ := bin.Slice(f.elf.Data, s.Offset, s.FileSize)
			return b, s.Addr
		}
	}
	return nil, 0
}

// Pointer encodings (LSB, "DWARF Extensions").
const (
	ehOmit, ehAbsolute, ehULEB, ehSLEB, ehForm = 0xff, 0x00, 0x01, 0x09, 0x0f
	ehRelative, ehPCRel, ehDataRel, ehIndirect = 0x70, 0x10, 0x30, 0x80
	ehSigned4DataRel                           = 0x3b
)

// encoded reads a pointer: at is the address of where it is, data that of the table. Those relative to anything else
// do not occur in what is read here.
func encoded(f *elf.Format, c *bin.Cursor, encoding uint8, at, data uint64) (v uint64, ok bool) {
	size := f.WordSize()
	switch encoding & ehForm {
	case ehULEB:
		v, size = c.ULEB(), 0
	case ehSLEB:
		var s int64
		s, c.P = bin.SLEB(c.B, c.P)
		v, size = uint64(s), 0
	case 2, 0xa:
		size = 2
	case 3, 0xb:
		size = 4
	case 4, 0xc:
		size = 8
	case ehAbsolute:
	default:
		return 0, false
	}
	if size > 0 {
		v = c.Uint(size)
		if encoding&8 != 0 {
			shift := 64 - 8*size
			v = uint64(int64(v<<shift) >> shift)
		}
	}
	switch encoding & (ehRelative | ehIndirect) {
	case 0:
	case ehPCRel:
		v += at
	case ehDataRel:
		v += data
	default:
		return 0, false
	}
	if !f.Is64 {
		v = uint64(uint32(v))
	}
	return v, c.OK() && encoding != ehOmit
}

// sortedTable returns the binary search table of .eh_frame_hdr in the one form that linkers write: pairs of four bytes, the
// start of a function and the place of its FDE, both as distances from the table.
func (f *Code) sortedTable() (table []byte, rows int, base uint64) {
	b, at := f.frameTable()
	if len(b) < 12 || b[0] != 1 || b[3] != ehSigned4DataRel || b[2]&ehForm != 3 {
		return nil, 0, 0
	}
	c := &bin.Cursor{B: b, P: 4, Big: f.elf.Big}
	if _, ok := encoded(&f.elf.Format, c, b[1], at+4, at); !ok {
		return nil, 0, 0
	}
	n := uint64(c.U32())
	if !c.OK() || n > uint64(len(b)-c.P)/8 {
		return nil, 0, 0
	}
	return b[c.P:], int(n), at
}

// hasFrameTable reports whether the table is of use.
func (f *Code) hasFrameTable() bool {
	_, n, _ := f.sortedTable()
	return n > 0
}

// lookupFrame finds the FDE of an address by the table. It returns what code that is for, and whether it is a signal frame's.
func (f *Code) lookupFrame(eh *frameSection, addr uint64) (code elf.Span, signal, found bool) {
	table, n, base := f.sortedTable()
	row := func(i int) uint64 {
		v, _ := bin.Uint(table, 8*i, 4, f.elf.Big)
		return f.elf.Truncate(base + uint64(int64(int32(v))))
	}
	i, j := 0, n
	for i < j {
		if h := int(uint(i+j) >> 1); row(h) <= addr {
			i = h + 1
		} else {
			j = h
		}
	}
	if i == 0 {
		return code, false, false
	}
	v, _ := bin.Uint(table, 8*(i-1)+4, 4, f.elf.Big)
	at := f.elf.Truncate(base+uint64(int64(int32(v)))) - eh.addr
	if at >= uint64(len(eh.data)) {
		return code, false, false
	}
	e, ok := eh.entry(int(at))
	if !ok || e.isCIE {
		return code, false, false
	}
	common, ok := eh.readCIE(e.cie)
	if !ok {
		return code, false, false
	}
	code, ok = eh.readFDE(&e, &common)
	return code, common.signal && code.Covers(addr), ok && code.Covers(addr)
}

// Function returns where the function of an address begins and ends, as call frame information has it: that of a part which the
// compiler has moved away is another one's.
func (f *Code) Function(addr uint64) (code elf.Span, ok bool) {
	if eh, has := f.frameSection(); has {
		code, _, ok = f.lookupFrame(&eh, addr)
	}
	return code, ok
}

// frameEntry is a CIE or an FDE.
type frameEntry struct {
	isCIE     bool
	cie       int // where the CIE of an FDE is
	body, end int
	offSize   int
}

// entry reads the head of the entry at off. The one that ends a section has no length and is no good one.
func (s *frameSection) entry(off int) (e frameEntry, ok bool) {
	c := &bin.Cursor{B: s.data, P: off, Big: s.Big}
	n, offSize := c.Length()
	if !c.OK() || n < uint64(offSize) || n > uint64(len(s.data)-c.P) {
		return e, false
	}
	e.end, e.offSize = c.P+int(n), offSize
	at := c.P
	if s.eh {
		offSize = 4 // of the ID, whatever the length has
	}
	id := c.Uint(offSize)
	e.body = c.P
	switch {
	case s.eh:
		e.isCIE, e.cie = id == 0, at-int(min(id, uint64(at)))
	default:
		e.isCIE, e.cie = id == 1<<(8*offSize)-1, int(min(id, bin.Past))
	}
	return e, c.OK()
}

// maxAugmentation bounds the letters that say what a CIE has, of which six are in use, with their NUL.
const maxAugmentation = 32

// readCIE reads the CIE at off.
func (s *frameSection) readCIE(off int) (x cie, ok bool) {
	e, ok := s.entry(off)
	if !ok || !e.isCIE {
		return x, false
	}
	c := &bin.Cursor{B: s.data[:e.end], P: e.body, Big: s.Big}
	version := c.U8()
	c.B = s.data[:min(e.end, c.P+maxAugmentation)]
	augmentation := c.CString()
	x.addrSize = s.WordSize()
	if !c.OK() || version < 1 || version > 4 {
		return x, false
	}
	c.B = s.data[:e.end]
	x.signal = bytes.IndexByte(augmentation, 'S') >= 0
	if version == 4 {
		x.addrSize = int(c.U8())
		c.Skip(1)
	}
	if !s.eh || len(augmentation) == 0 || augmentation[0] != 'z' {
		return x, c.OK() && (x.addrSize == 4 || x.addrSize == 8)
	}
	c.ULEB() // the code's alignment
	c.ULEB() // the data's alignment
	if version == 1 {
		c.Skip(1) // the register of the return address
	} else {
		c.ULEB()
	}
	c.ULEB() // the length of what follows
	for _, letter := range augmentation[1:] {
		switch letter {
		case 'R':
			x.encoding = c.U8()
		case 'P':
			encoded(&s.Format, c, c.U8()&^ehIndirect, 0, 0)
		case 'L':
			c.U8()
		case 'S', 'B', 'G':
		default:
			return x, false
		}
	}
	return x, c.OK()
}

// readFDE reads which addresses the FDE is for.
func (s *frameSection) readFDE(e *frameEntry, x *cie) (elf.Span, bool) {
	c := &bin.Cursor{B: s.data[:e.end], P: e.body, Big: s.Big}
	if !s.eh {
		lo := c.Uint(x.addrSize)
		n := c.Uint(x.addrSize)
		return elf.Span{Lo: lo, Hi: lo + n}, c.OK() && lo+n >= lo
	}
	lo, ok := encoded(&s.Format, c, x.encoding, s.addr+uint64(c.P), 0)
	n, ok2 := encoded(&s.Format, c, x.encoding&ehForm&^8, 0, 0)
	return elf.Span{Lo: lo, Hi: lo + n}, ok && ok2 && lo+n >= lo
}

// Ranges calls each for the code of every FDE in an .eh_frame that begins at addr.
func Ranges(format elf.Format, data []byte, addr uint64, each func(elf.Span)) {
	s := frameSection{format, data, addr, true}
	var common cie
	last, isKnown := -1, false
	for off := 0; ; {
		e, ok := s.entry(off)
		if !ok {
			return
		}
		if off = e.end; e.isCIE {
			continue
		}
		if e.cie != last { // those of one object file follow each other
			common, isKnown = s.readCIE(e.cie)
			last = e.cie
		}
		if code, ok := s.readFDE(&e, &common); ok && isKnown {
			each(code)
		}
	}
}

// scan lists the ranges of signal frames, of which even the C library has only a few.
func (s *frameSection) scan() (spans []elf.Span) {
	const maxSignal = 1 << 8
	common := make(map[int]*cie) // those of signal frames
	if bytes.IndexByte(s.data, 'S') < 0 {
		return nil
	}
	for off := 0; off+4 <= len(s.data) && len(spans) < maxSignal && len(common) < maxSignal; {
		if n := binary.LittleEndian.Uint32(s.data[off:]); n == 0 {
			off += 4 // ends what one object file brought along
			continue
		}
		e, ok := s.entry(off)
		if !ok {
			break
		}
		if e.isCIE {
			if x, ok := s.readCIE(off); ok && x.signal {
				common[off] = &x
			}
		} else if x := common[e.cie]; x != nil {
			if r, ok := s.readFDE(&e, x); ok {
				spans = append(spans, r)
			}
		}
		off = e.end
	}
	return spans
}

// trampolines are the addresses of the code that a signal handler returns to, as the call frame information without a
// table marks them; read when first asked for.
type trampolines struct {
	once  sync.Once
	spans []elf.Span // sorted
}

// SignalFrame looks the address up in the table of .eh_frame_hdr, or where there is none in all of .eh_frame, and in
// .debug_frame.
func (f *Code) SignalFrame(addr uint64) bool {
	eh, ok := f.frameSection()
	if ok {
		if _, signal, found := f.lookupFrame(&eh, addr); found {
			return signal
		}
	}
	f.signal.once.Do(func() {
		if ok && !f.hasFrameTable() {
			f.signal.spans = eh.scan()
		}
		if s, ok := f.debugFrames(); ok {
			f.signal.spans = append(f.signal.spans, s.scan()...)
		}
	})
	return slices.ContainsFunc(f.signal.spans, func(s elf.Span) bool { return s.Covers(addr) })
}

// sigreturn is code that calls the kernel for the end of a signal handler: rt_sigreturn or sigreturn.
var sigreturn = map[stdelf.Machine][][]byte{
	stdelf.EM_X86_64: {
		{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, // mov $15, %rax; syscall
		{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05},             // mov $15, %eax; syscall
	},
	stdelf.EM_386: {
		{0xb8, 0xad, 0, 0, 0, 0xcd, 0x80},       // mov $173, %eax; int $0x80
		{0x58, 0xb8, 0x77, 0, 0, 0, 0xcd, 0x80}, // pop %eax; mov $119, %eax; int $0x80
	},
	stdelf.EM_AARCH64: {{0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4}}, // mov x8, #139; svc #0
	stdelf.EM_RISCV:   {{0x93, 0x08, 0xb0, 0x08, 0x73, 0, 0, 0}},    // li a7, 139; ecall
	stdelf.EM_ARM: {{0xad, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, {0x77, 0x70, 0xa0, 0xe3, 0, 0, 0, 0xef}, // mov r7, #…; svc 0
		{0xad, 0x27, 0, 0xdf}, {0x77, 0x27, 0, 0xdf}}, // the same in Thumb
}

// IsSigreturn reports whether such code begins at the address.
func (f *Code) IsSigreturn(addr uint64) bool {
	b, _ := f.elf.Text(addr, 16)
	return slices.ContainsFunc(sigreturn[f.elf.Machine], func(code []byte) bool { return bytes.HasPrefix(b, code) })
}
