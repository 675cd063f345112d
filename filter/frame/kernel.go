package frame

import "bytes"

// readKernel reads a function of the Linux kernel as %pS, %pB and %pSb print it; `+` stands at line[plus]:
//
//	lkdtm_WARNING+0x28/0x30 [lkdtm 6c2215028606bda50de823490723dc4bc5bf46f9]
//	[<ffffffff81234567>] ? vfs_write+0xec/0x2e8
//	RIP: 0010:bch2_bkey_unpack+0x6/0xa0
//	pc : lkdtm_WARNING+0x28/0x30 [lkdtm]
//
// Functions of the same name are told apart by their size.
func readKernel(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := hexNumber(line, plus+1)
	if !ok || e >= len(line) || line[e] != '/' {
		return false
	}
	size, end, ok := hexNumber(line, e+1)
	if !ok || size == 0 || off > size || end < len(line) && isSymbolByte(line[end]) {
		return false
	}
	start := plus
	for low := max(from, plus-maxSymbol); start > low && isSymbolByte(line[start-1]); {
		start--
	}
	if start == plus || line[start]-'0' <= 9 || start > from && line[start-1] == '/' {
		return false
	}
	*f = Frame{Whole: Span{start, end}, Symbol: Span{start, plus}, Off: Span{plus + 1, e}, Offset: off, Size: size,
		Space: FromSymbol, Convention: Raw}
	kernelAddress(line, from, f)
	before := line[max(from, f.Whole.Start-len("RIP: 0010:[<ffffffff81234567>]  ")):start]
	for _, word := range exactRegisters {
		if bytes.Contains(before, word) {
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
var exactRegisters = [][]byte{[]byte("IP: "), []byte("IP ["), []byte("pc : "), []byte("PC is at "), []byte("epc : "), []byte("RIP  ")}

// maxSymbol is the kernel's bound of a name in bytes, KSYM_NAME_LEN.
const maxSymbol = 512

func isSymbolByte(c byte) bool {
	return c-'0' <= 9 || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == '.' || c == '$'
}

// kernelAddress takes in the `[<ffffffff81234567>] ` of older kernels before a function, with the `? ` of an unsure one.
func kernelAddress(line []byte, from int, f *Frame) {
	p := backBlanks(line, from, f.Whole.Start)
	if endsWith(line, from, p, " ?") {
		p = backBlanks(line, from, p-1)
	}
	if !endsWith(line, from, p, ">]") {
		return
	}
	end := p - 2
	start := end
	for low := max(from, end-16); start > low; start-- {
		if _, ok := hexDigit(line[start-1]); !ok {
			break
		}
	}
	if start < end && endsWith(line, from, start, "[<") {
		f.Addr, f.Whole.Start = Span{start, end}, start-2
	}
}

// kernelModule reads ` [module]` or ` [module buildid]` at i.
func kernelModule(line []byte, i int, f *Frame) {
	if !has(line, i, " [") {
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
		for close = end + 1; close < len(line); close++ {
			if _, ok := hexDigit(line[close]); !ok {
				break
			}
		}
		id = Span{end + 1, close}
	}
	if close < len(line) && line[close] == ']' && (id == Span{} || !id.Empty()) {
		f.Module, f.BuildID, f.Whole.End = Span{start, end}, id, close+1
	}
}
