package gsym

import (
	"encoding/binary"
	"math"
	"slices"

	"qss-filter/symsrc"
	"qss-filter/symsrc/budget"
	"qss-filter/symsrc/demangle"
)

// function is a FunctionInfo: size and name, and chunks with a kind and a length (LLVM, DebugInfo/GSYM/FunctionInfo.h).
type function struct {
	f           *File
	start, size uint64
	name        uint64 // offset in the string table
	c           cursor // positioned at the chunks
}

// Kinds of chunks that are read. The chunk of merged functions is ignored, so that the first one of them is the answer.
const (
	endOfChunks = iota
	lineTable
	inlineInfo
)

// stepsPerByte is the number of steps to read a byte of a table.
const stepsPerByte = 8

// maxChunk bounds the size of a chunk, in bytes. The largest chunks of real files are a hundred times smaller.
const maxChunk = 16 << 20

// function returns function i, whose address is start.
func (f *File) function(i int, start uint64) function {
	off := f.entry(f.infos, f.infoSize, i)
	fn := function{f: f, start: start, c: cursor{b: f.functions, p: int(min(off, math.MaxInt32)), order: f.order}}
	fn.size, fn.name = fn.c.uint(4), fn.c.uint(f.nameSize)
	return fn
}

// frames returns the frames of an address in the function.
func (fn *function) frames(addr uint64, q *budget.Query) ([]symsrc.Frame, error) {
	f := fn.f
	var lines, inlined cursor
	const maxChunks = 64 // there are five kinds
	for range maxChunks {
		kind, n := fn.c.uint(4), fn.c.uint(4)
		b := fn.c.bytes(n)
		if kind == endOfChunks || fn.c.bad {
			break
		}
		chunk := cursor{b: b, order: f.order, bad: len(b) > maxChunk}
		switch kind {
		case lineTable:
			lines = chunk
		case inlineInfo:
			inlined = chunk
		}
	}
	frame := named(f.str(fn.name))
	if frame.Func == "" {
		return nil, nil
	}
	if err := q.Spend(0); err != nil { // fails if earlier lookups have exceeded the budget
		return nil, err
	}
	file, line, ok := fn.row(&lines, addr)
	if err := q.Spend(stepsPerByte * lines.p); err != nil {
		return nil, err
	}
	if !ok || f.file(file) == "" {
		if len(lines.b) == 0 {
			frame.Origin = symsrc.SymbolOnly
		}
		return []symsrc.Frame{frame}, q.AddBytes(len(frame.Func))
	}
	calls := fn.calls(&inlined, addr)
	if err := q.Spend(stepsPerByte * inlined.p); err != nil {
		return nil, err
	}
	frames := make([]symsrc.Frame, 0, len(calls)+1)
	for _, c := range calls {
		inner := withPosition(named(f.str(c.name)), f.file(file), line)
		if err := q.AddBytes(len(inner.Func) + len(inner.File)); err != nil {
			return nil, err
		}
		frames = append(frames, inner)
		file, line = c.file, c.line
	}
	frame = withPosition(frame, f.file(file), line)
	return append(frames, frame), q.AddBytes(len(frame.Func) + len(frame.File))
}

// named returns the frame of a function.
func named(name string) symsrc.Frame {
	return symsrc.Frame{Func: demangle.Demangle(name), Linkage: name}
}

// withPosition returns frame with a source position.
func withPosition(frame symsrc.Frame, file string, line uint64) symsrc.Frame {
	if frame.File = file; file != "" && line <= math.MaxInt32 {
		frame.Line = int(line)
	}
	return frame
}

// Opcodes of a line table; the special ones from firstSpecial on advance both address and line (LLVM, DebugInfo/GSYM/LineTable.h).
const (
	endSequence = iota
	setFile
	advancePC
	advanceLine
	firstSpecial
)

// row returns the file and the line of the last row at or below an address. It returns false if there is none.
func (fn *function) row(c *cursor, addr uint64) (file, line uint64, ok bool) {
	if c.bad || len(c.b) == 0 {
		return 0, 0, false
	}
	low, high := c.sleb(), c.sleb()
	width := high - low + 1
	at, nextFile, nextLine := fn.start, uint64(1), uint32(c.uleb())
	if width <= 0 {
		return 0, 0, false
	}
	for {
		op := c.uint(1)
		switch {
		case c.bad || op == endSequence:
			return file, line, ok
		case op == setFile:
			nextFile = c.uleb()
			continue
		case op == advanceLine:
			nextLine += uint32(c.sleb())
			continue
		case op == advancePC:
			at += c.uleb()
		default:
			op -= firstSpecial
			nextLine += uint32(low + int64(op)%width)
			at += op / uint64(width)
		}
		if c.bad || at > addr {
			return file, line, ok
		}
		file, line, ok = nextFile, uint64(nextLine), true
	}
}

// call is an inlined call.
type call struct{ name, file, line uint64 }

// maxNested bounds the depth of inlined calls, as in symsrc/object.
const maxNested = 1000

// calls returns the inlined calls at an address, the innermost one first. An entry of the tree of calls is its ranges, whether it has
// children, the name, and the file and line of the call; an entry without ranges ends a list of children. The root is the function
// itself (LLVM, DebugInfo/GSYM/InlineInfo.h).
func (fn *function) calls(c *cursor, addr uint64) (calls []call) {
	bases := []uint64{fn.start} // base address of the ranges at each depth
	covered := 0                // number of open entries, from the root on, that cover the address
	for len(bases) > 0 && len(bases) < maxNested && !c.bad {
		depth := len(bases) - 1
		base, covers, any := ranges(c, bases[depth], addr)
		if !any {
			if bases = bases[:depth]; covered >= depth || depth <= 1 {
				break // no further entry can cover the address
			}
			continue
		}
		children := c.uint(1) != 0
		x := call{name: c.uint(fn.f.nameSize), file: c.uleb(), line: c.uleb()}
		if c.bad {
			break
		}
		if covers && covered == depth {
			covered++
			if depth > 0 && x.file != 0 {
				calls = append(calls, x)
			}
			if !children {
				break
			}
		}
		switch {
		case children:
			bases = append(bases, base)
		case depth == 0:
			bases = nil
		}
	}
	slices.Reverse(calls)
	return calls
}

// ranges reads the ranges of an entry. It returns their lowest address, whether they cover addr, and whether there are any.
func ranges(c *cursor, base, addr uint64) (start uint64, covers, any bool) {
	n := c.uleb()
	for i := uint64(0); i < n && !c.bad; i++ {
		lo, size := base+c.uleb(), c.uleb()
		if i == 0 || lo < start {
			start = lo
		}
		covers = covers || addr-lo < size
	}
	return start, covers, n > 0 && !c.bad
}

// cursor reads consecutive numbers. Reading beyond the end sets bad, and all numbers read afterwards are 0.
type cursor struct {
	b     []byte
	p     int
	order binary.ByteOrder
	bad   bool
}

// bytes reads n bytes.
func (c *cursor) bytes(n uint64) []byte {
	if c.bad || c.p > len(c.b) || n > uint64(len(c.b)-c.p) {
		c.bad = true
		return nil
	}
	b := c.b[c.p : c.p+int(n)]
	c.p += int(n)
	return b
}

// align skips to the next multiple of size.
func (c *cursor) align(size int) { c.p = (c.p + size - 1) / size * size }

// uint reads a number of 1, 2, 4 or 8 bytes.
func (c *cursor) uint(size int) uint64 {
	b := c.bytes(uint64(size))
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(c.order.Uint16(b))
	case 4:
		return uint64(c.order.Uint32(b))
	case 8:
		return c.order.Uint64(b)
	}
	return 0
}

// uleb reads an unsigned LEB128 number.
func (c *cursor) uleb() (v uint64) {
	for shift := uint(0); ; shift += 7 {
		b := c.bytes(1)
		if c.bad || shift > 63 {
			c.bad = true
			return 0
		}
		v |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() (v int64) {
	for shift := uint(0); ; {
		b := c.bytes(1)
		if c.bad || shift > 63 {
			c.bad = true
			return 0
		}
		v |= int64(b[0]&0x7f) << shift
		shift += 7
		if b[0] < 0x80 {
			if b[0]&0x40 != 0 && shift < 64 {
				v |= -1 << shift
			}
			return v
		}
	}
}
