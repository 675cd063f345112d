package macho

import (
	"bytes"
	"strconv"
	"strings"

	"qss-filter/symsrc/bin"
)

// arMagic begins a static library (ar(5)).
const arMagic = "!<arch>\n"

// Member returns the object of a name and a time in a static library, with extended names as BSD and GNU write them. It returns false if
// there is none, or if there are several. A time of 0 fits any object.
func Member(b []byte, name string, modified int64) (data []byte, ok bool) {
	if !bytes.HasPrefix(b, []byte(arMagic)) {
		return nil, false
	}
	const header = 60
	var long []byte // names of GNU's ar
	for p := uint64(len(arMagic)); p+header <= uint64(len(b)); {
		h := b[p : p+header]
		size, err := strconv.ParseUint(field(h[48:58]), 10, 40)
		content, whole := bin.Slice(b, p+header, size)
		if err != nil || !whole {
			return nil, false
		}
		date, _ := strconv.ParseInt(field(h[16:28]), 10, 64)
		is := field(h[:16])
		p += header + size + size&1
		var n uint64
		switch {
		case is == "//":
			long = content
			continue
		case strings.HasPrefix(is, "#1/"):
			if n, err = strconv.ParseUint(is[len("#1/"):], 10, 32); err != nil || n > size {
				return nil, false
			}
			is, content = strings.TrimRight(string(content[:n]), "\x00"), content[n:]
		case len(is) > 1 && is[0] == '/':
			if n, err = strconv.ParseUint(is[1:], 10, 32); err != nil || n > uint64(len(long)) {
				continue
			}
			line, _, _ := bytes.Cut(long[n:], []byte("\n"))
			is = strings.TrimSuffix(string(line), "/")
		default:
			is = strings.TrimSuffix(is, "/")
		}
		if is != name || modified != 0 && date != modified {
			continue
		}
		if data != nil {
			return nil, false
		}
		data = content
	}
	return data, data != nil
}

// field returns the text of a field that is filled up with spaces.
func field(b []byte) string { return strings.TrimRight(string(b), " ") }
