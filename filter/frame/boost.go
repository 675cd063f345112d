package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readBoost reads a frame of Boost.Stacktrace without a name, ` 0# 0x000055DDD336E66D in ./prog`; `#` stands at line[at]. The address
// has all its digits, in upper case (to_hex_array in its detail/to_hex_array.hpp), and is what _Unwind_GetIP returns
// (detail/collect_unwind.ipp): a return address, also in the first frame. Since 1.88 it counts in the file: from where the file would be mapped
// whose mapping the address is in (get_own_proc_addr_base in its detail/addr_base.hpp), or from the image on Windows. No position-independent
// program or library lies as low in a process. Frames with a name have no address. TestRealEmitters runs it.
func readBoost(s *Search, line []byte, at, from int, f *Frame) bool {
	num := span(scan.BackDigits(line, from, at), at)
	if num.Empty() || !scan.WordStart(line, from, num.Start) || !scan.Has(line, at, "# 0x") {
		return false
	}
	start := at + len("# ")
	addr, e, ok := scan.Address(line, start)
	if !ok || e-start != len("0x0123456789ABCDEF") && e-start != len("0x01234567") {
		return false
	}
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(start, e), Off: span(start, e), Offset: addr, Base: Absolute,
		Gap: span(e, e), Convention: Raw}
	limit := s.textEnd(line[:min(len(line), e+2*maxModule)], e)
	k := e + s.lastIndex(line[e:limit], inWord)
	if k < e {
		return false
	}
	f.Module, f.Whole.End = span(k+len(inWord), limit), limit
	if addr < 1<<32 {
		f.Space = symsrc.InFileOrFixed
	}
	if k > e { // this filter's answer stands between them
		f.Gap.End, f.Done = k, true
		return scan.Has(line, e, " in ")
	}
	return true
}
