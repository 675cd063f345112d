package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// mapAddr is before the address in a module that QNX's kernel prints.
const mapAddr = " mapaddr="

// readQNX reads the place of a fault of a program as QNX's process manager prints it; mapAddr stands at line[at]:
//
//	Process 7 (main) terminated SIGSEGV code=1 fltno=11 ip=0102cda8(/usr/lib/ldqnx.so.2@_band_get_aligned+0x000002b8) mapaddr=0002cda8. ref=00000000
//
// The address is that of the instruction. QNX's manual passes mapaddr to addr2line, and does not say whether it counts in the file or is the ELF's own.
func readQNX(s *Search, line []byte, at, from int, f *Frame) bool {
	if !scan.EndsWith(line, from, at, ")") {
		return false
	}
	off := span(at+len(mapAddr), scan.HexEnd(line, at+len(mapAddr)))
	v, end, ok := scan.Hex(line, off.Start)
	if !ok || end != off.End {
		return false
	}
	low := max(from, at-2*maxModule)
	sign := low + s.lastIndexByte(line[low:at], '@')
	open := low + s.lastIndexByte(line[low:max(low, sign)], '(')
	if sign < low || open < low || open+1 == sign {
		return false
	}
	addr := span(scan.BackHex(line, low, open), open)
	if addr.Empty() || !scan.EndsWith(line, low, addr.Start, "ip=") || !scan.WordStart(line, low, addr.Start-len("ip=")) {
		return false
	}
	*f = Frame{Whole: span(addr.Start-len("ip="), end), Addr: addr, Module: span(open+1, sign), Hint: span(sign+1, at-1), Off: off, Offset: v,
		Space: symsrc.InFileOrLinked, Convention: Exact}
	f.answer(s, line, end)
	return true
}
