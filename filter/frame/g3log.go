package frame

import (
	"bytes"

	"qss-filter/filter/scan"
)

// readG3log reads a frame of g3log and g2log; `+` stands at line[plus], and stackDump begins at s.needed's place:
//
//	stack dump [3]  /usr/lib/libmbclient.so+0x12af7 [0x7f50a7bafaf7]
//	stack dump [4]  ./server : Pool::grow(int)+0x11 [0x401b2c]
//
// These are frames of backtrace_symbols, its parentheses left out and the function demangled (stackdump in its src/crashhandler_unix.cpp). Where
// a function has no mangled name it stands at the end of the path, and no file is found.
func readG3log(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	num := s.needed + len(stackDump)
	if !ok || s.needed < from {
		return false
	}
	n, numEnd, isNumber := scan.Decimal(line, num)
	addr, end, inBrackets := bracketed(line, e)
	const after = "]  "
	path := numEnd + len(after)
	if !isNumber || !inBrackets || !scan.Has(line, numEnd, after) || path >= plus {
		return false
	}
	*f = Frame{Whole: span(s.needed, end), Num: span(num, numEnd), Number: n, Addr: addr, Off: span(plus+1, e), Offset: off, Module: span(path, plus), Convention: Raw}
	const colon = " : "
	s.spend(plus - path)
	if i := bytes.Index(line[path:plus], []byte(colon)); i > 0 {
		f.Base, f.Module.End, f.Symbol = FromSymbol, path+i, span(path+i+len(colon), plus)
	}
	f.answer(s, line, end)
	return !f.Module.Empty()
}

const stackDump = "stack dump ["
