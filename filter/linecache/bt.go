package linecache

import (
	"bytes"

	"qss-filter/filter/scan"
)

// The beginnings of the lines that may be known.
var (
	MMapStart   = []byte("{{{mmap:0x")
	ModuleStart = []byte("{{{module:")
	ResetStart  = []byte("{{{reset")
	BTStart     = []byte("{{{bt:")
	Closing     = []byte("}}}")
)

// ReadBT reads a line that is a bt element and nothing else, such as `{{{bt:0:0x7f52731c130:pc}}}`. typ is what follows
// the address, with its colon.
func ReadBT(line []byte) (number, addr uint64, typ, end []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, BTStart)
	colon := bytes.IndexByte(rest, ':')
	if !ok || colon < 0 {
		return 0, 0, nil, nil, false
	}
	number, digits, ok := scan.Decimal(rest[:colon], 0)
	ok = ok && digits == colon
	rest, prefixed := bytes.CutPrefix(rest[colon+1:], []byte("0x"))
	addr, n, fits := scan.Hex(rest, 0)
	if !ok || !prefixed || !fits {
		return 0, 0, nil, nil, false
	}
	if rest = rest[n:]; len(rest) > 3 && rest[0] == ':' {
		typ, rest = rest[:3], rest[3:]
	}
	end, ok = bytes.CutPrefix(rest, Closing)
	return number, addr, typ, end, ok && (string(end) == "\n" || string(end) == "\r\n")
}
