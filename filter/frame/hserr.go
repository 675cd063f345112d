package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readHsErr reads the native frames of Java's hs_err reports; `+` stands at line[plus]:
//
//	C  [libhs.so+0x10f9]  inner+0x0
//	V  [libjvm.so+0x8282d2]  JavaCalls::call_helper(JavaValue*)+0x302  (javaCalls.cpp:333)
//	# C  [libhs.so+0x10f9]  inner+0x0                  the problematic frame
//
// The other kinds of frames are the virtual machine's own, and any number of them may be between these. The stack begins with what
// the signal interrupted; that of an internal error, which has no signal, with a return address (os::current_frame
// in HotSpot's vmError.cpp). The offsets are addresses of the file: os::dll_address_to_library_name takes the module's base from the
// address. TestLiveHsErr runs it.
func readHsErr(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != ']' {
		return false
	}
	open := plus
	for low := max(from, plus-256); open > low && line[open-1] != '[' && line[open-1] >= ' '; {
		open--
	}
	letter := open - len("C  [")
	if open == plus || letter < from || line[open-1] != '[' || line[letter] != 'C' && line[letter] != 'V' ||
		!scan.Has(line, letter+1, "  [") || !scan.WordStart(line, from, letter) {
		return false
	}
	end := e + 1
	*f = Frame{Whole: span(letter, end), Module: span(open, plus), Off: span(plus+1, e), Offset: off,
		Convention: RawButFirst, Run: Announced}
	if scan.EndsWith(line, from, letter, "# ") {
		f.Convention = Exact
	}
	if f.answer(s, line, end); f.Done {
		return true
	}
	if limit := s.textEnd(line, end); scan.Has(line, end, "  ") && limit > end+2 {
		f.replace(s, line, end, limit)
		f.Whole.End = limit
	}
	return true
}

// offsetStart begins the place of a value in a library, whose function is not known to the dynamic linker.
const offsetStart = "<offset 0x"

// readHsErrPlace reads what hs_err says of a register or a slot of the stack that holds an address of a library; offsetStart stands at line[at]:
//
//	RBP=0x00007fa55fd582d2: <offset 0x952d2> in /usr/lib/libGL.so.1 at 0x00007fa55fcc3000
//	stack at sp + 1 slots: 0x00007f13f7ad58b1: <offset 0x0000000000ed58b1> in /usr/lib/jvm/lib/server/libjvm.so at 0x00007f13f6c00000
//
// (os::find in HotSpot's os_linux.cpp.) The offset counts from where the library begins. Most are return addresses: the machine code decides.
func readHsErrPlace(s *Search, line []byte, at, from int, f *Frame) bool {
	num := at + len(offsetStart) - len("0x")
	off, e, ok := scan.Address(line, num)
	if !ok || !placesHsErr(line, e) {
		return false
	}
	module := e + len("> in ")
	end := module + bytes.Index(line[module:min(len(line), module+maxModule)], atHexWord)
	if end <= module || !s.spend(end-module) {
		return false
	}
	base, baseEnd, ok := scan.Address(line, end+len(atHexWord)-len("0x"))
	low := max(from, at-len("0x00007fa55fd582d2: "))
	addr := low + s.lastIndex(line[low:at], hexPrefix)
	if !ok || addr < low {
		return false
	}
	v, addrEnd, ok := scan.Address(line, addr)
	if !ok || !scan.Has(line, addrEnd, ": ") || addrEnd+len(": ") != at || v-base != off {
		return false
	}
	*f = Frame{Whole: span(addr, baseEnd), Addr: span(addr, addrEnd), Module: span(module, end), Off: span(num, e), Offset: off, Space: symsrc.InImage}
	f.answer(s, line, baseEnd)
	return f.Done || scan.LineEnd(line, baseEnd)
}

// atHexWord stands before the address at which a library begins.
var atHexWord = []byte(" at 0x")

// placesHsErr reports whether the path of a library follows the end of an offset.
func placesHsErr(line []byte, end int) bool { return scan.Has(line, end, "> in /") }

// statesPlace reports whether an offset is followed by the path of a library.
func statesPlace(line []byte, at int) bool {
	return placesHsErr(line, scan.HexEnd(line, at+len(offsetStart)))
}
