package frame

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// readSystemTap reads a frame of a user's stack as SystemTap prints it; `+` stands at line[plus]:
//
//	0x7fa85c8b5b35 : __libc_start_main+0xf5/0x1c0 [/usr/lib64/libc-2.17.so]
//	0x40053b : fun+0xe/0x10 [...argin/systemtap/malloc_program]
//	0xffff9e126d78 [/usr/lib64/libpthread-2.17.so+0x6d78/0x40000]
//
// The numbers are the offset in the function and the function's size, or where no function is known, the distance from the start of the module's
// first mapping and the size of what is mapped (_stp_snprint_addr in SystemTap's runtime/sym.c, _stp_vma_mmap_cb in its vma.c). Of long paths only
// the end is there. The first frame of a stack is where the probe is, or where the function that has returned was called. Frames of the kernel look
// the same, but for the path.
func readSystemTap(s *Search, line []byte, plus, from int, f *Frame) bool {
	off, e, ok := scan.Address(line, plus+1)
	if !ok || e >= len(line) || line[e] != '/' {
		return false
	}
	size, end, ok := scan.Address(line, e+1)
	if !ok || off > size {
		return false
	}
	if end < len(line) && line[end] == ']' {
		low := max(from, plus-maxModule)
		open := low + s.lastIndexByte(line[low:plus], '[')
		if open < low || !systemTapPath(line, open+1) {
			return false
		}
		addr, ok := addressBefore(line, from, open)
		if !ok {
			return false
		}
		*f = Frame{Whole: span(addr.Start, end+1), Addr: addr, Module: systemTapModule(line, open+1, plus), Off: span(plus+1, e), Offset: off, Space: symsrc.InImage}
		f.answer(s, line, end+1)
		return true
	}
	path := end + len(" [")
	if !scan.Has(line, end, " [") || !systemTapPath(line, path) {
		return false
	}
	shut := bytes.IndexByte(line[path:min(len(line), path+maxModule)], ']')
	s.spend(max(shut, 0))
	if shut < 0 {
		return false
	}
	name := span(scan.BackToken(line, max(from, plus-maxSymbol), plus), plus)
	s.spend(plus - name.Start)
	if name.Empty() {
		return false
	}
	*f = Frame{Whole: span(name.Start, path+shut+1), Module: systemTapModule(line, path, path+shut), Symbol: name, Off: span(plus+1, e), Offset: off, Base: FromSymbol}
	if scan.EndsWith(line, from, name.Start, " : ") {
		if addr, ok := addressBefore(line, from, name.Start-len(": ")); ok {
			f.Addr, f.Whole.Start = addr, addr.Start
		}
	}
	f.answer(s, line, f.Whole.End)
	return true
}

// systemTapPath reports whether a path stands at i, whole or its end only. Modules of the kernel have names.
func systemTapPath(line []byte, i int) bool {
	return scan.Has(line, i, "/") || scan.Has(line, i, "...")
}

// systemTapModule returns a module's path, or of one without its beginning the base name.
func systemTapModule(line []byte, start, end int) Span {
	if line[start] == '.' {
		start += 1 + bytes.LastIndexByte(line[start:end], '/')
	}
	return span(start, end)
}

// addressBefore reads `0xHEX ` before line[end].
func addressBefore(line []byte, from, end int) (Span, bool) {
	if !scan.EndsWith(line, from, end, " ") {
		return Span{}, false
	}
	at := scan.BackToken(line, from, end-1)
	_, e, ok := scan.Address(line, at)
	return span(at, e), ok && e == end-1
}
