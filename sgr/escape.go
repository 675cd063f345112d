// Package sgr follows the colors of a log, takes escape sequences out of a line, and has our own colors.
package sgr

import "bytes"

const (
	esc = 0x1b
	bel = 0x07
)

// sequence returns the length of the escape sequence that b, which begins with ESC, starts with; 0 is none. An unfinished
// one is none, unless the next escape sequence cuts it short: then the terminal drops its start, and so do we.
//
// The forms are those of ECMA-48 §5.4, §5.6 and of ISO 2022: ESC [ parameters intermediates final; ESC ] … BEL, or ended by
// ESC \, as the strings of ESC P, X, ^ and _ are; ESC intermediates final; and ESC with one more byte.
func sequence(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch c := b[1]; {
	case c == '[':
		i := skip(b, 2, 0x30, 0x3f)
		return finish(b, skip(b, i, 0x20, 0x2f), 0x40)
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return stringSequence(b, c == ']')
	}
	return finish(b, skip(b, 1, 0x20, 0x2f), 0x30)
}

// skip returns the index of the first byte at or after i that is outside lo…hi.
func skip(b []byte, i int, lo, hi byte) int {
	for i < len(b) && lo <= b[i] && b[i] <= hi {
		i++
	}
	return i
}

// finish returns the sequence's length when its final byte, lo…0x7e, or another ESC is at i.
func finish(b []byte, i int, lo byte) int {
	switch {
	case i == len(b):
		return 0
	case b[i] == esc:
		return i
	case lo <= b[i] && b[i] <= 0x7e:
		return i + 1
	}
	return 0
}

func stringSequence(b []byte, belEnds bool) int {
	i := 2 + bytes.IndexByte(b[2:], esc)
	if i < 2 {
		i = len(b)
	}
	if belEnds {
		if end := bytes.IndexByte(b[2:i], bel); end >= 0 {
			return 2 + end + 1
		}
	}
	switch {
	case i+1 < len(b) && b[i+1] == '\\':
		return i + 2
	case i < len(b):
		return 2 // not a string after all: its text is text
	}
	return 0
}

// Strip appends line to dst without its escape sequences, and to pos, for each byte appended to dst, its offset in line;
// a last entry in pos is len(line). Sequences that are not finished stay, as text.
func Strip(dst []byte, pos []int32, line []byte) ([]byte, []int32) {
	for i := 0; i < len(line); {
		if line[i] == esc {
			if n := sequence(line[i:]); n > 0 {
				i += n
				continue
			}
		}
		end := i + 1 + bytes.IndexByte(line[i+1:], esc)
		if end == i {
			end = len(line)
		}
		dst = append(dst, line[i:end]...)
		for ; i < end; i++ {
			pos = append(pos, int32(i))
		}
	}
	return dst, append(pos, int32(len(line)))
}

// Escapes appends the escape sequences of line to dst, and nothing else of it.
func Escapes(dst, line []byte) []byte {
	for {
		i := bytes.IndexByte(line, esc)
		if i < 0 {
			return dst
		}
		line = line[i:]
		n := sequence(line)
		dst = append(dst, line[:n]...)
		line = line[max(n, 1):]
	}
}

// Uncolored appends line without its SGR sequences to dst. Other escape sequences stay.
func Uncolored(dst, line []byte) []byte {
	for {
		i := bytes.IndexByte(line, esc)
		if i < 0 {
			return append(dst, line...)
		}
		dst = append(dst, line[:i]...)
		line = line[i:]
		n := sequence(line)
		if !isSGR(line[:n]) {
			n = max(n, 1)
			dst = append(dst, line[:n]...)
		}
		line = line[n:]
	}
}

// isSGR reports whether an escape sequence is ESC[…m.
func isSGR(s []byte) bool { return len(s) > 2 && s[1] == '[' && s[len(s)-1] == 'm' }
