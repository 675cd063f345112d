package frame

import (
	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// Frames of Inspektor Gadget and of bpftrace's ustack(build_id) are a build ID and an offset in the file, as the kernel's BPF helpers have them
// (stack_map_get_build_id_offset in its kernel/bpf/stackmap.c):
//
//	[0]8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4 +1130; [1]529039c4d5e3a5e6d1b2c3d48fe381949ea8c764 +2a3b8;
//	8fe381949ea8c7644d1ff4a0d5e3a5e6d1b2c3d4 0x1130
//
// The first address of a stack is where the program was, the others are return addresses. A build ID has 20 bytes there, of a shorter one the
// rest is 0.

// maxIDDigits bounds the digits of a build ID, and leastIDDigits those of one that no word says to be one: SHA-1 and MD5 have 40 and 32.
const maxIDDigits, leastIDDigits = 64, 32

// bareID returns the build ID that ends before line[end] and has a byte before it.
func bareID(line []byte, from, end int, before byte) (id Span, ok bool) {
	id = span(scan.BackHex(line, max(from, end-maxIDDigits-1), end), end)
	n := id.End - id.Start
	return id, n >= leastIDDigits && n <= maxIDDigits && n%2 == 0 && id.Start > from && line[id.Start-1] == before
}

// kernelID returns a build ID of the kernel without what fills it up.
func kernelID(line []byte, id Span) Span {
	for _, bytes := range [...]int{8, 16} {
		end := id.Start + 2*bytes
		rest := end
		for rest < id.End && line[rest] == '0' {
			rest++
		}
		if rest == id.End {
			return span(id.Start, end)
		}
	}
	return id
}

// beforeID reports whether digits as those of a build ID follow `[0]` at the place.
func beforeID(line []byte, at int) bool {
	id := line[at+len("[0]"):]
	return len(id) >= leastIDDigits && scan.IsHexField(id[:leastIDDigits])
}

// readGadget reads a frame of Inspektor Gadget; ` +` stands at line[at].
func readGadget(s *Search, line []byte, at, from int, f *Frame) bool {
	id, ok := bareID(line, from, at, ']')
	off, e, isHex := scan.Hex(line, at+len(" +"))
	if !ok || !isHex || e < len(line) && line[e] != ';' && !scan.LineEnd(line, e) && !scan.Has(line, e, " in ") {
		return false
	}
	num := span(scan.BackDigits(line, from, id.Start-1), id.Start-1)
	n, _, ok := scan.Decimal(line, num.Start)
	if !ok || num.Start == from || line[num.Start-1] != '[' {
		return false
	}
	*f = Frame{Whole: span(num.Start-1, e), Num: num, Number: n, BuildID: kernelID(line, id), Off: span(at+len(" +"), e), Offset: off, Space: symsrc.InFile,
		Convention: RawButFirst}
	f.Gap = span(e, e)
	if scan.Has(line, e, " in ") {
		f.answer(s, line, e)
	}
	return true
}
