package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readStrongSwan reads a frame of a strongSwan daemon that knows the function; `+` stands at line[plus]:
//
//	/usr/lib/libvlibapi.so.23.10.0 @ 0x7fa234299000 (vl_msg_api_free+0x18) [0x7fa2342a4658]
//
// After the path is where the module begins, dladdr's dli_fbase (backtrace.c in its libstrongswan/utils). The addresses are what backtrace()
// returns.
func readStrongSwan(s *Search, line []byte, plus, from int, f *Frame) bool {
	_, e, ok := scan.Address(line, plus+1)
	if !ok || !scan.Has(line, e, ") [") {
		return false
	}
	low := max(from, plus-maxName)
	open := low + s.lastIndexByte(line[low:plus], '(')
	if open < low || open+1 == plus {
		return false
	}
	if !s.strongSwan(line, open, e+len(") "), from, f) {
		return false
	}
	f.Hint = span(open+1, e)
	return true
}

// readStrongSwanPlain reads one without a function; `0x` stands at line[at]:
//
//	/usr/lib64/ipsec/plugins/libstrongswan-vici.so @ 0x7fa25e7bd000 [0x7fa25e7c3fb9]
func readStrongSwanPlain(s *Search, line []byte, at, from int, f *Frame) bool {
	return line[at-1] == '[' && s.strongSwan(line, at-1, at-1, from, f)
}

// strongSwan reads ` @ BASE ` and the path before line[end], and the address at line[bracket].
func (s *Search) strongSwan(line []byte, end, bracket, from int, f *Frame) bool {
	addr, whole, ok := bracketed(line, bracket)
	if !ok {
		return false
	}
	base, ok := addressBefore(line, from, end)
	if !ok || !scan.EndsWith(line, from, base.Start, " @ ") {
		return false
	}
	mod := span(0, base.Start-len(" @ "))
	mod.Start = scan.BackToken(line, max(from, mod.End-maxModule), mod.End)
	s.spend(mod.End - mod.Start)
	if mod.Empty() || line[mod.Start] != '/' {
		return false
	}
	at, _, _ := scan.Address(line, addr.Start)
	start, _, _ := scan.Address(line, base.Start)
	if at < start {
		return false
	}
	*f = Frame{Whole: span(mod.Start, whole), Addr: addr, Module: mod, Off: addr, Offset: at - start, Space: symsrc.InImage, Convention: Raw}
	f.answer(s, line, whole)
	return true
}
