package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readBCC reads a frame of the tools of bcc that name the module; `+` stands at line[plus]:
//
//	0 [<00007f05944c098c>] _Znwm+0x1c [/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30]
//			foo(int)+0x12 [libfoo.so.1]
//
// (print_stack_frames_by_syms_cache in its libbpf-tools/memleak.c, and BPF.sym with show_module and show_offset in
// src/python/bcc/__init__.py.) The addresses are what the kernel found: return addresses, but for what a probe interrupted. Frames without an offset
// name no place, nor do those of the kernel, `__kmalloc+0x220 [kernel]`: without the function's size nothing would show that a file is of another
// build.
func readBCC(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || !scan.Has(line, e, " [") {
		return false
	}
	limit := s.textEnd(line[:min(len(line), e+maxModule)], e)
	shut := bytes.IndexByte(line[e:limit], ']')
	mod := span(e+len(" ["), e+shut)
	if _, hex, ok := scan.Address(line, mod.Start); ok && hex == mod.End { // an address, in the formats of others
		return false
	}
	if shut < 0 || mod.Empty() || string(mod.Of(line)) == "kernel" || bytes.IndexByte(mod.Of(line), ' ') >= 0 || mod.End+1 != limit && !scan.Has(line, mod.End+1, inAnswer) {
		return false
	}
	start := s.wordsBegin()
	num, number := span(start, start), uint64(0)
	if n, end, ok := scan.Decimal(line, start); ok && scan.Has(line, end, " [<") {
		digits := end + len(" [<")
		hex := scan.HexEnd(line, digits)
		if hex == digits || !scan.Has(line, hex, ">] ") {
			return false
		}
		num, number, start = span(start, end), n, hex+len(">] ")
	} else if start == s.begin {
		return false
	}
	name := span(start, plus)
	if name.Empty() || start < from || !s.isName(name.Of(line)) {
		return false
	}
	*f = Frame{Whole: span(min(num.Start, start), mod.End+1), Symbol: name, Off: span(plus+1, e), Offset: off, Module: mod, Base: FromSymbol, Convention: Raw, Run: Adjacent}
	if !num.Empty() {
		f.Num, f.Number = num, number
	}
	f.answer(s, line, mod.End+1)
	return true
}

// inAnswer is before this filter's answer.
const inAnswer = " in "
