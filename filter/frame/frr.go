package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readFRR reads a frame of the daemons of FRRouting that are built with libunwind; mappedAt stands at line[at:]:
//
//	BGP: zlog_signal+0xf5               7f48751a5255     7ffd12a12720 /lib/libfrr.so.0 (mapped at 0x7f4875106000)
//	?                                   55d0a1b2c3d4     7ffd12a12870 /usr/lib/frr/bgpd (mapped at 0x55d0a1a00000)
//
// The numbers are the instruction and the stack pointers that unw_get_reg returns, and where dladdr says that the image begins. The function is
// that of the last symbol before the instruction (zlog_backtrace_sigsafe in its lib/log.c, since 7.3).
func readFRR(s *Search, line []byte, at, from int, f *Frame) bool {
	base, e, ok := scan.Address(line, at+len(mappedAt)-len("0x"))
	if !ok || e >= len(line) || line[e] != ')' {
		return false
	}
	path := at
	for low := max(from, at-maxModule); path > low && line[path-1] > ' ' && s.spend(1); {
		path--
	}
	sp, ok := hexBefore(line, from, path)
	if !ok || path == at {
		return false
	}
	ip, ok := hexBefore(line, from, sp.Start)
	if !ok {
		return false
	}
	addr, _, ok := scan.Hex(line, ip.Start)
	name := span(ip.Start, ip.Start)
	for name.End > from && line[name.End-1] == ' ' {
		name.End--
	}
	for name.Start = name.End; name.Start > from && line[name.Start-1] > ' ' && s.spend(1); {
		name.Start--
	}
	if !ok || addr < base || name.End == ip.Start || name.Empty() {
		return false
	}
	*f = Frame{Whole: span(name.Start, e+1), Addr: ip, Off: ip, Offset: addr - base, Module: span(path, at), Space: symsrc.InImage, Convention: Raw}
	if plus := bytes.LastIndex(name.Of(line), plus0x); plus > 0 {
		f.Hint = name
	} else if !bytes.Equal(name.Of(line), []byte("?")) {
		return false
	}
	f.answer(s, line, e+1)
	return true
}

// mappedAt is before the place of an image.
const mappedAt = " (mapped at 0x"

// hexBefore returns the number of hexadecimal digits, without a prefix, that ends at the spaces before line[end].
func hexBefore(line []byte, from, end int) (num Span, ok bool) {
	at := end
	for at > from && line[at-1] == ' ' {
		at--
	}
	start := scan.BackHex(line, from, at)
	return span(start, at), at < end && start < at && start > from && line[start-1] == ' '
}
