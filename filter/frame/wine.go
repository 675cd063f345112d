package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readWine reads a frame of Wine's debugger in a library of Linux; `+` stands at line[plus]:
//
//	=>0 0xf75477ea in libc.so.6 (+0x1357ea) (0x00000003)
//	  1 0x7defde20 in libfreetype.so.6 (+0x62e1f) (0x00000003)
//
// The offset counts from where the module begins. Until Wine 7 it was 1 less than that of the address for callers, and now it is not
// (stack_print_addr_and_args in its programs/winedbg/stack.c): modules begin at pages. The first address is exact. Modules of Windows
// have no `.so`.
func readWine(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	mod := span(0, plus-len(" ("))
	if !ok || e >= len(line) || line[e] != ')' || !scan.EndsWith(line, from, plus, " (") {
		return false
	}
	mod.Start = scan.BackToken(line, max(from, plus-maxModule), mod.End)
	s.spend(plus - mod.Start)
	addrEnd := mod.Start - len(" in ")
	if addrEnd < from || !scan.Has(line, addrEnd, " in ") || mod.Empty() || line[mod.Start] == '[' {
		return false
	}
	start := scan.BackToken(line, max(from, addrEnd-len("0x0123456789abcdef")), addrEnd)
	addr, end, ok := scan.Address(line, start)
	if !ok || end != addrEnd || start == from {
		return false
	}
	num := span(scan.BackDigits(line, from, start-1), start-1)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || num.Empty() {
		return false
	}
	*f = Frame{Whole: span(num.Start, e+1), Num: num, Number: n, Addr: span(start, end), Module: mod, Off: span(plus+1, e), Offset: off,
		Space: symsrc.InImage, Convention: RawButFirst}
	f.Module.End = mod.Start + len(bytes.TrimSuffix(mod.Of(line), []byte("<elf>")))
	current := scan.EndsWith(line, from, num.Start, "=>")
	switch base := addr - off; {
	case !current && !scan.EndsWith(line, from, num.Start, "  ") || !bytes.Contains(f.Module.Of(line), []byte(".so")):
		return false
	case base&0xfff == 1:
		f.Convention, f.Addr = OneLess, Span{}
	case base&0xfff != 0:
		return false
	case current && n <= 1:
		f.Convention = Exact
	}
	if scan.Has(line, f.Whole.End, " (0x") {
		if _, e, ok := scan.Address(line, f.Whole.End+len(" (")); ok && e < len(line) && line[e] == ')' {
			f.Whole.End = e + 1
		}
	}
	f.answer(s, line, f.Whole.End)
	return true
}
