package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readFuchsia reads a frame that Fuchsia's symbolizer has not named; `#` stands at line[at]:
//
//	#23 0x01515046fe79 <VMO#351757>(5f6ac44089fc254a4911e3b55cdaa6d10c4f8174)+0x63e79
//
// It has taken 1 from some return addresses: the machine code decides.
func readFuchsia(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	start := scan.Spaces(line, numEnd)
	_, e, okAddr := scan.Address(line, start)
	if !ok || !okAddr || start == numEnd || !scan.Has(line, e, " <") {
		return false
	}
	mod := span(e+len(" <"), 0)
	shut := bytes.Index(line[mod.Start:min(len(line), mod.Start+maxModule)], []byte(">("))
	if s.spend(max(shut, 0)); shut <= 0 {
		return false
	}
	mod.End = mod.Start + shut
	id := span(mod.End+len(">("), scan.HexEnd(line, mod.End+len(">(")))
	const least = len("ce7229dde1121514")
	if id.End-id.Start < least || !scan.Has(line, id.End, ")+0x") {
		return false
	}
	off := span(id.End+len(")+"), 0)
	v, end, ok := scan.Address(line, off.Start)
	if off.End = end; !ok || !mayEnd(line, end) {
		return false
	}
	*f = Frame{Whole: span(at, end), Num: span(at+1, numEnd), Number: n, Addr: span(start, e), Module: mod, BuildID: id, Off: off, Offset: v}
	f.answer(s, line, end)
	return true
}

// readFuchsiaCrash reads a frame of a crash report that Fuchsia wrote before it had symbolizer markup; `#` stands at line[at]:
//
//	dso: id=1496e1863bc310a7322542c41969d8ca90d92878 base=0xd8af0615000 name=app:/tmp/syz-executor
//	bt#01: pc 0xd8af19736ef sp 0x6ef13e3cf6b8 (app:/tmp/syz-executor,0x135e6ef)
//
// `bt` stays before the frame. The number in parentheses is the distance from where the module begins, whose build ID the list above says. What
// is loaded first is `app:` and the program's name.
func readFuchsiaCrash(s *Search, line []byte, at, _ int, f *Frame) bool {
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.Has(line, numEnd, ": pc ") {
		return false
	}
	addr := span(numEnd+len(": pc "), 0)
	if _, addr.End, ok = scan.Address(line, addr.Start); !ok || !scan.Has(line, addr.End, " sp ") {
		return false
	}
	_, e, ok := scan.Address(line, addr.End+len(" sp "))
	if !ok || !scan.Has(line, e, " (") {
		return false
	}
	mod := span(e+len(" ("), 0)
	comma := bytes.Index(line[mod.Start:min(len(line), mod.Start+maxModule)], []byte(",0x"))
	if s.spend(max(comma, 0)); comma <= 0 {
		return false
	}
	mod.End = mod.Start + comma
	off := span(mod.End+1, 0)
	v, end, ok := scan.Address(line, off.Start)
	if off.End = end; !ok || !scan.Has(line, end, ")") {
		return false
	}
	if scan.Has(line, mod.Start, "app:") && comma > len("app:") {
		mod.Start += len("app:")
	}
	*f = Frame{Whole: span(at, end+1), Num: span(at+1, numEnd), Number: n, Addr: addr, Module: mod, Off: off, Offset: v, Space: symsrc.InImage}
	f.answer(s, line, end+1)
	return true
}
