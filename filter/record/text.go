package record

import (
	"encoding/base64"
	"strconv"
)

// key begins a field of the object that is open.
func key(dst []byte, name string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), name...), '"', ':')
}

// appendString writes a field that is a string, and one with its bytes if they are not UTF-8.
func appendString[S []byte | string](dst []byte, name string, text S) []byte {
	dst, valid := AppendEscaped(append(key(dst, name), '"'), text)
	dst = append(dst, '"')
	if valid {
		return dst
	}
	dst = append(key(dst, name+"_base64"), '"')
	return append(base64.StdEncoding.AppendEncode(dst, []byte(text)), '"')
}

// appendFilled is appendString unless text is empty.
func appendFilled[S []byte | string](dst []byte, name string, text S) []byte {
	if len(text) == 0 {
		return dst
	}
	return appendString(dst, name, text)
}

// appendHex writes a field that is a number as `"0x1150"`.
func appendHex(dst []byte, name string, v uint64) []byte {
	return append(strconv.AppendUint(append(key(dst, name), `"0x`...), v, 16), '"')
}

// appendInt writes a field that is a small number.
func appendInt(dst []byte, name string, v int) []byte {
	return strconv.AppendInt(key(dst, name), int64(v), 10)
}

// appendTrue writes a field that is true, if is is set.
func appendTrue(dst []byte, name string, is bool) []byte {
	if !is {
		return dst
	}
	return append(key(dst, name), "true"...)
}

// appendEnd writes the end of a line, unless it is a line feed alone.
func appendEnd(dst, end []byte) []byte {
	if len(end) == 1 {
		return dst
	}
	return appendString(dst, "end", end)
}
