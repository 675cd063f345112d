package frame

import "qss-filter/filter/scan"

// readGNAT reads an address of the stack of an exception of Ada, all of which stand on one line; `0x` stands at line[at]:
//
//	Call stack traceback locations:
//	0x5576bbbd6893 0x5576bbbd68c0 0x7f1b5f645248 0x5576bbbd62af 0xfffffffffffffffe
//
// GNAT adds PC_ADJUST to all that the unwinder returns, also to what a signal interrupted and to the 0 at the end of the stack: −2 on x86, −4
// elsewhere (gcc/ada/tracebak.c in GCC). So the last word says how much was taken. A stack that was cut does not have it.
func readGNAT(s *Search, line []byte, at, _ int, f *Frame) bool {
	addr, e, ok := scan.Address(line, at)
	if !ok {
		return false
	}
	switch {
	case scan.BackSpaces(line, 0, at) <= s.begin:
		s.traceback.taken = taken(line[:s.textEnd(line, e)])
	case at != s.traceback.next:
		return false
	}
	s.traceback.next = e + 1
	if s.traceback.taken == 0 || addr < darwinPage || addr+s.traceback.taken < addr || !scan.Has(line, e, " 0x") && !scan.Has(line, e, " in ") {
		return false
	}
	*f = Frame{Whole: span(at, e), Addr: span(at, e), Off: span(at, e), Offset: addr + s.traceback.taken, Base: Absolute, Convention: Raw}
	f.answer(s, line, e)
	return true
}

// taken returns how much was taken from the addresses of a stack whose last word is the end of it, 0 where it is not.
func taken(line []byte) uint64 {
	end := scan.BackToken(line, 0, len(line))
	v, _, ok := scan.Address(line, end)
	switch wide, narrow := len(line)-end == len("0xfffffffffffffffe"), len(line)-end == len("0xfffffffe"); {
	case !ok || !wide && !narrow:
		return 0
	case wide:
		v = -v
	default:
		v = 1<<32 - v
	}
	if v == 2 || v == 4 {
		return v
	}
	return 0
}
