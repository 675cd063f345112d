package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readTizen reads a line of the call stack of Tizen's sys-assert, or of the dump-stack that was made after it; `] + 0x` stands at
// line[at]:
//
//	0: strcat + 0x12d (0xb74d57ad) [/lib/libc.so.6] + 0x747ad
//	2: (0xb6be63cf) [/usr/lib/libcapi-appfw-application.so.0] + 0x13cf
//	6: (0xb77665b1) [/opt/usr/apps/basicui/bin/basicui] + 0xb77665b1
//	   0: f + 0x13 (0x00007f20b74d57ad) [/lib/libc.so.6] + 0x747ad             dump-stack
//
// sys-assert's offset counts from the start of the executable mapping: it keeps no others (get_addr_list_from_maps in its
// sys-assert.c, and `addr - start_addr` in trace_symbols). In the third form it found none, or the program is not
// position-independent: the offset is the address, and the module may be a guess. dump-stack's counts from the start of the module
// (`address - mapping_start` of dwfl_module_info in its dump-stack.c). It indents its numbers by two more spaces, and of programs with
// 64 bits it writes all digits of an address.
func readTizen(s *Search, line []byte, at, from int, f *Frame) bool {
	offStart := at + len("] + ")
	off, end, ok := scan.Address(line, offStart)
	if !ok {
		return false
	}
	from = max(from, at-2*maxModule)
	open := s.lastIndexByte(line[from:at], '[') + from
	if open < from+2 || open+1 == at || line[open-1] != ' ' || line[open-2] != ')' {
		return false
	}
	paren := s.lastIndexByte(line[from:open], '(') + from
	if paren < from {
		return false
	}
	addr, addrEnd, ok := scan.Address(line, paren+1)
	if !ok || addrEnd != open-2 {
		return false
	}
	colon := s.tizenNumber(line, from, paren)
	if colon < 0 {
		return false
	}
	num := span(scan.BackDigits(line, from, colon), colon)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(num.Start, end), Num: num, Number: n, Addr: span(paren+1, addrEnd), Module: span(open+1, at),
		Off: span(offStart, end), Offset: off, Space: symsrc.InText, Convention: RawButFirst}
	if num.End-scan.BackSpaces(line, from, num.Start) >= len("   0") || addrEnd-paren-1 == len("0x0123456789abcdef") {
		f.Space = symsrc.InImage
	}
	if off == addr {
		f.Space, f.Base = symsrc.Linked, Absolute
	}
	f.replace(s, line, colon+1, max(colon+1, scan.BackSpaces(line, from, paren)))
	return true
}

// tizenNumber finds the colon after the number that begins a frame whose address stands at end: `N: `, at the start of the
// text or after a space. A name may hold "::".
func (s *Search) tizenNumber(line []byte, from, end int) int {
	for i := end; i > from; {
		k := s.lastIndex(line[from:i], []byte(": "))
		if k <= 0 {
			return -1
		}
		colon := from + k
		if d := scan.BackDigits(line, from, colon); d < colon && scan.WordStart(line, from, d) {
			return colon
		}
		i = colon
	}
	return -1
}

// readTizenAddress reads a line of Tizen's newer crash-stack; `0x` stands at line[at]:
//
//	0x00007f8b2c3d4e5f: name() from /usr/lib/libx.so
//	0x00007f8b2c3d4e5f: unknown function
func readTizenAddress(s *Search, line []byte, at, from int, f *Frame) bool {
	addr, end, ok := scan.Address(line, at)
	if !ok || end-at != len("0x0123456789abcdef") || !scan.Has(line, end, ": ") || !scan.WordStart(line, from, at) {
		return false
	}
	*f = Frame{Whole: span(at, end+1), Addr: span(at, end), Off: span(at, end), Offset: addr, Base: Absolute,
		Convention: RawButFirst}
	textStart := end + 1
	limit := s.textEnd(line[:min(len(line), end+maxModule)], textStart)
	if k := s.lastIndex(line[textStart:limit], []byte(" from /")); k >= 0 {
		f.Module = span(textStart+k+len(" from "), limit)
		f.replace(s, line, textStart, textStart+k)
	} else if string(line[textStart:limit]) == " unknown function" {
		f.replace(s, line, textStart, limit)
	} else if bytes.HasPrefix(line[textStart:limit], inWord) {
		f.replace(s, line, textStart, limit)
	} else {
		return false
	}
	f.Whole.End = limit
	return true
}
