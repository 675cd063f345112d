package stream

import "bytes"

// IsBinary reports whether the beginning of a file is not text: more than one byte in 32 is a control character that is unusual in
// logs. A few are allowed, since logs have some where a machine lost power or a program wrote garbage.
func IsBinary(begin []byte) bool {
	if IsUTF16(begin) {
		return false
	}
	if bytes.HasPrefix(begin, []byte("\x7fELF")) {
		return true
	}
	odd := 0
	for _, c := range begin {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' && c != '\f' && c != '\b' && c != '\a' && c != '\v' && c != 0x1b {
			odd++
		}
	}
	return odd*32 > len(begin)
}
