package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// firmwareWord stands before the address of an exception of firmware on x86.
const firmwareWord = "ased on IP(0x"

// readFirmware reads a frame of EDK2's firmware on ARM; `+` stands at line[plus]:
//
//	PC 0x0000BFAF3D04 (0x0000BFAE0000+0x00013D04) [ 1] DxeCore.dll
//
// (DefaultExceptionHandler in its ArmPkg/Library/DefaultExceptionHandlerLib.) The file is the ELF file that was linked, whose addresses the
// image has. The first address is that of the exception.
func readFirmware(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	base := scan.BackHex(line, from, plus)
	const before, number = " (0x", " [ 1] "
	if !ok || !scan.EndsWith(line, from, base, before) || !scan.Has(line, e, ") [") {
		return false
	}
	addr := span(scan.BackHex(line, from, base-len(before)), base-len(before))
	if addr.Start -= len("0x"); addr.Empty() || !scan.EndsWith(line, from, addr.Start+len("0x"), "PC 0x") {
		return false
	}
	begin, _, okBase := scan.Address(line, base-len("0x"))
	at, _, okAt := scan.Address(line, addr.Start)
	name := span(e+len(")")+len(number), s.textEnd(line, e))
	if in := bytes.Index(line[e:name.End], inWord); in >= 0 {
		name.End = e + in
	}
	if !okBase || !okAt || at-begin != off || at < begin || name.Empty() || line[name.Start-2] != ']' || bytes.ContainsAny(name.Of(line), " \t\"") {
		return false
	}
	*f = Frame{Whole: span(addr.Start-len("PC "), name.End), Addr: addr, Module: name, Off: span(plus+1, e), Offset: off}
	f.answer(s, line, name.End)
	return true
}

// readFirmwareFault reads the place of an exception of EDK2's firmware on x86; `0x` stands at line[num]:
//
//	!!!! Find image based on IP(0x7E5A1234) /b/Build/OvmfX64/DEBUG_GCC5/X64/x.dll (ImageBase=000000007E5A0000, EntryPoint=000000007E5A0560) !!!!
//
// (DumpModuleImageInfo in its UefiCpuPkg/Library/CpuExceptionHandlerLib.)
func readFirmwareFault(s *Search, line []byte, num, from int, f *Frame) bool {
	at, e, ok := scan.Address(line, num)
	const word, baseWord = "Find image based on IP(", " (ImageBase="
	if !ok || !scan.EndsWith(line, from, num, word) || !scan.Has(line, e, ") ") {
		return false
	}
	path := span(e+len(") "), 0)
	path.End = indexFrom(line[:min(len(line), path.Start+maxModule)], []byte(baseWord), path.Start)
	s.spend(max(path.End, e) - e)
	if path.Empty() {
		return false
	}
	base, _, ok := scan.Hex(line, path.End+len(baseWord))
	if !ok || base > at {
		return false
	}
	if reason := bytes.Index(path.Of(line), []byte(" [")); reason > 0 && line[path.End-1] == ']' { // of a log that was filtered before
		path.End = path.Start + reason
	}
	*f = Frame{Whole: span(num-len(word), path.End), Addr: span(num, e), Module: path, Off: span(num, e), Offset: at - base, Gap: span(path.End, path.End), Convention: Exact}
	if in := bytes.Index(path.Of(line), inWord); in >= 0 {
		f.Module.End = path.Start + in
		f.Gap.Start, f.Done = f.Module.End, true
	}
	return true
}
