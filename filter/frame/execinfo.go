package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readExecinfo reads a frame of backtrace_symbols of the BSDs; `> at ` stands at line[at]:
//
//	0x800cdd3f6 <_swapcontext+0x146> at /lib/libthr.so.3
//	    #01 0x82307f45a <_pthread_sigmask> at /lib/libthr.so.3
//	0x438da9 <???> at /usr/local/bin/redis-server
//
// The addresses are those of _Unwind_GetIP, and the function is the nearest one that the file exports, with its distance if that is not 0
// (contrib/libexecinfo in FreeBSD, from NetBSD). Without a function, the address is the file's own in a program that is not
// position-independent.
func readExecinfo(s *Search, line []byte, at, from int, f *Frame) bool {
	low := max(from, at-maxModule)
	open := low + s.lastIndexByte(line[low:at], '<')
	if open <= low || line[open-1] != ' ' {
		return false
	}
	addr := span(scan.BackHex(line, from, open-1)-len("0x"), open-1)
	v, e, ok := scan.Address(line, max(from, addr.Start))
	path := at + len(execinfoWord)
	end := path
	for limit := min(len(line), path+maxModule); end < limit && line[end] > ' ' && line[end] != '\'' && line[end] != '"' && line[end] != '\\'; {
		end++
	}
	s.spend(end - path)
	if !ok || addr.Start < from || e != addr.End || end == path || scan.Has(line, path, unknownName) {
		return false
	}
	*f = Frame{Whole: span(addr.Start, end), Addr: addr, Module: span(path, end), Off: addr, Convention: Raw}
	switch plus := open + s.lastIndex(line[open:at], plus0x); {
	case scan.Has(line, open+1, unknownName):
		f.Base, f.Space, f.Offset = Absolute, symsrc.Fixed, v
	case plus > open+1:
		if f.Offset, e, ok = scan.Address(line, plus+1); !ok || e != at {
			return false
		}
		f.Base, f.Symbol, f.Off = FromSymbol, span(open+1, plus), span(plus+1, e)
	case open+1 == at:
		return false
	default:
		f.Base, f.Symbol = FromSymbol, span(open+1, at)
	}
	glibcNumber(line, from, f)
	f.answer(s, line, end)
	return true
}

const execinfoWord, unknownName = "> at ", "???"

// afterFunction reports whether a function, and an address before it, stand before the place.
func afterFunction(line []byte, at int) bool {
	i := bytes.LastIndexByte(line[:at], '<')
	return i > 1 && line[i-1] == ' ' && scan.IsHex(line[i-2])
}
