package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// unnamedWord begins the name that lldb makes up for a function without a symbol. From version 21 on, the address of the function in its file
// is behind it (Symbol::SynthesizeNameIfNeeded in its source/Symbol/Symbol.cpp), before that a number that says nothing.
const unnamedWord = "___lldb_unnamed_symbol_"

// readLLDB reads a frame of lldb whose function has no symbol, or no line; `#` stands at line[at]:
//
//   - frame #3: 0x0000555555555069 a.out`___lldb_unnamed_symbol_1060 + 9
//   - frame #4: 0x00007ffff7c27249 libc.so.6`__libc_start_call_main + 89
//
// The first address is that of an instruction, and the others are return addresses. TestLiveLLDB runs it.
func readLLDB(s *Search, line []byte, at, from int, f *Frame) bool {
	const before = "frame "
	n, numEnd, ok := scan.Decimal(line, at+1)
	if !ok || !scan.EndsWith(line, from, at, before) || !scan.Has(line, numEnd, ": 0x") {
		return false
	}
	start := numEnd + len(": ")
	_, e, ok := scan.Address(line, start)
	if !ok || !scan.Has(line, e, " ") {
		return false
	}
	const maxFileName = 255
	addr, mod := span(start, e), span(e+1, min(len(line), e+1+maxFileName))
	tick := bytes.IndexByte(mod.Of(line), '`')
	if tick <= 0 {
		return false
	}
	mod.End = mod.Start + tick
	name := mod.End + 1
	if !scan.Has(line, name, unnamedWord) {
		*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Addr: addr, Module: mod, Base: FromSymbol, Convention: RawButFirst}
		return s.lldbSymbol(line, name, f)
	}
	function, e, ok := scan.Hex(line, name+len(unnamedWord))
	if !ok {
		return false
	}
	off := span(name+len(unnamedWord), e)
	if scan.Has(line, e, " + ") {
		distance, end, ok := scan.Decimal(line, e+len(" + "))
		if !ok || function+distance < function {
			return false
		}
		function, e = function+distance, end
	}
	if !mayEnd(line, e) {
		return false
	}
	*f = Frame{Whole: span(at, e), Num: span(at+1, numEnd), Number: n, Addr: addr,
		Module: mod, Off: off, Offset: function, Convention: RawButFirst}
	f.answer(s, line, e)
	return true
}

// lldbSymbol reads the function at line[name:] and the distance from it, which end the frame.
func (s *Search) lldbSymbol(line []byte, name int, f *Frame) bool {
	end := s.textEnd(line[:min(len(line), name+maxModule)], name)
	if in := bytes.Index(line[name:end], inWord); in >= 0 {
		end = name + in
	}
	distance := scan.BackDigits(line, name, end)
	v, _, ok := scan.Decimal(line, distance)
	f.Symbol, f.Off, f.Offset = span(name, distance-len(plusWord)), span(distance, end), v
	if !ok || distance == end || !scan.EndsWith(line, name, distance, " + ") || !s.isName(f.Symbol.Of(line)) || bytes.HasPrefix(f.Symbol.Of(line), []byte("___lldb_")) {
		return false
	}
	addr, _, _ := scan.Address(line, f.Addr.Start)
	if addr >= darwinStart && addr < darwinEnd || bytes.HasSuffix(f.Module.Of(line), dylibSuffix) {
		f.Arch = symsrc.AnyArch
	}
	f.Whole.End = end
	f.answer(s, line, end)
	return true
}

// afterTick reports whether the name that lldb makes up stands behind a module.
func afterTick(line []byte, at int) bool { return at > 0 && line[at-1] == '`' }
