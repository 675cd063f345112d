package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readKernel reads a function of the Linux kernel as %pS, %pB and %pSb print it; `+` stands at line[plus]:
//
//	lkdtm_WARNING+0x28/0x30 [lkdtm 6c2215028606bda50de823490723dc4bc5bf46f9]
//	[<ffffffff81234567>] ? vfs_write+0xec/0x2e8
//	RIP: 0010:bch2_bkey_unpack+0x6/0xa0
//	pc : lkdtm_WARNING+0x28/0x30 [lkdtm]
//
// Functions of the same name are told apart by their size. The offset is that of the return address in the function that the call is in
// (%pB, sprint_backtrace in kernel/kallsyms.c); that of the program counter's register is the instruction's.
func readKernel(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != '/' {
		return false
	}
	size, end, ok := scan.Address(line, e+1)
	if !ok || size == 0 || off > size || end < len(line) && isSymbolByte(line[end]) {
		return false
	}
	start := plus
	for low := max(from, plus-maxSymbol); start > low && isSymbolByte(line[start-1]); {
		start--
	}
	if start == plus || scan.IsDigit(line[start]) || start > from && line[start-1] == '/' {
		return false
	}
	*f = Frame{Whole: span(start, end), Symbol: span(start, plus), Off: span(plus+1, e), Offset: off, Size: size,
		Base: FromSymbol, Convention: Raw}
	kernelAddress(line, from, f)
	before := line[max(from, f.Whole.Start-len("PSW : 0404c00180000000 000000000013f2a6 (")):start]
	for _, word := range exactRegisters {
		if bytes.Contains(before, word) && !bytes.HasSuffix(before, returnRegister) {
			f.Convention = Exact
		}
	}
	if f.answer(s, line, end); f.Done {
		return true
	}
	kernelModule(line, end, f)
	return true
}

// exactRegisters name the program counter of the architectures.
var exactRegisters = [][]byte{[]byte("IP: "), []byte("IP ["), []byte("pc : "), []byte("PC is at "), []byte("epc : "), []byte("epc   : "), []byte(" ERA: "),
	[]byte("PSW : "), []byte("RIP  ")}

// returnRegister stands on the same line on RISC-V, `epc : 0x0 ra : xas_store+0x44/0x56c`.
var returnRegister = []byte(" ra : ")

// maxSymbol is the kernel's bound of a name in bytes, KSYM_NAME_LEN.
const maxSymbol = 512

func isSymbolByte(c byte) bool {
	return scan.IsDigit(c) || scan.IsLetter(c) || c == '_' || c == '.' || c == '$'
}

// kernelAddress takes in the `[<ffffffff81234567>] ` of older kernels before a function, with the `? ` of an unsure one.
func kernelAddress(line []byte, from int, f *Frame) {
	p := scan.BackSpaces(line, from, f.Whole.Start)
	if scan.EndsWith(line, from, p, " ?") {
		p = scan.BackSpaces(line, from, p-1)
	}
	if !scan.EndsWith(line, from, p, ">]") {
		return
	}
	end := p - 2
	start := scan.BackHex(line, max(from, end-16), end)
	if start < end && scan.EndsWith(line, from, start, "[<") {
		f.Addr, f.Whole.Start = span(start, end), start-2
	}
}

// kernelModule reads ` [module]` or ` [module buildid]` at i. What this filter adds to a frame of a log without the kernel is ` [NOT_FOUND vmlinux]`.
func kernelModule(line []byte, i int, f *Frame) {
	if !scan.Has(line, i, " [") {
		return
	}
	start := i + 2
	end := start
	for end < len(line) && (isSymbolByte(line[end]) || line[end] == '-') {
		end++
	}
	if end == start || end >= len(line) {
		return
	}
	close := end
	var id Span
	if line[end] == ' ' {
		for close++; close < len(line) && line[close] > ' ' && line[close] != ']'; {
			close++
		}
		if id = span(end+1, close); !scan.IsHexField(id.Of(line)) && isStatus(line[start:end]) {
			return
		}
	}
	if string(line[start:end]) == "kernel" && id == (Span{}) { // SystemTap's word for what is no module
		return
	}
	if close < len(line) && line[close] == ']' && (id == Span{} || !id.Empty()) {
		f.Module, f.BuildID, f.Whole.End = span(start, end), id, close+1
	}
}

// isStatus reports whether a word is written as this filter's words for what is wrong with a file.
func isStatus(word []byte) bool {
	for _, c := range word {
		if c != '_' && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}
