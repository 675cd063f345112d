package frame

import "qss-filter/filter/scan"

// readRust reads a frame of RUST_BACKTRACE=full, `   0:     0x55ad5b264e0a - <unknown>`; `0x` stands at line[at]. The short
// form has no addresses. Where the runtime knows the place it stands on the next line, `at file:line:column`. The address is what
// _Unwind_GetIP returns (frame.ip() in the backtrace crate): a return address. TestLiveRust runs it.
func readRust(s *Search, line []byte, at, from int, f *Frame) bool {
	colon := scan.BackSpaces(line, from, at) - 1
	if colon < from || colon+1 == at || line[colon] != ':' {
		return false
	}
	num := span(scan.BackDigits(line, from, colon), colon)
	if num.Empty() || !scan.WordStart(line, from, num.Start) {
		return false
	}
	addr, e, ok := scan.Address(line, at)
	if !ok || !scan.Has(line, e, " - ") && !scan.Has(line, e, " in ") {
		return false
	}
	if width := e - colon; width < rustWidth && width != rustWidth32 {
		return false
	}
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok {
		return false
	}
	*f = Frame{Whole: span(num.Start, e), Num: num, Number: n, Addr: span(at, e), Off: span(at, e), Offset: addr,
		Base: Absolute, Convention: Raw, Lists: true}
	if f.answer(s, line, e); !f.Done {
		end := s.textEnd(line, e)
		if end < e+len(" - x") {
			return false
		}
		f.Gap.End, f.Whole.End = end, end
	}
	return true
}

// rustWidth is the number of bytes from the colon to the end of the address: it is padded to 16 digits, or to 8.
const (
	rustWidth   = len(": 0x0123456789abcdef")
	rustWidth32 = len(": 0x01234567")
)
