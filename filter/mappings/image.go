package mappings

import (
	"bytes"

	"qss-filter/filter/scan"
	"qss-filter/symsrc"
)

// RangeDashes stand between the addresses of an image, with what the next address begins with: an en dash in swift-backtrace, and a hyphen
// in a Backtrace that a program prints.
var RangeDashes = [...][]byte{[]byte("–0x"), []byte("-0x")}

// RangeDash returns where the dash of an image stands in a line, −1 if there is none, and where what follows it begins.
func RangeDash(line []byte) (at, end int) {
	for _, dash := range RangeDashes {
		if at = bytes.Index(line, dash); at >= 0 {
			return at, at + len(dash)
		}
	}
	return -1, -1
}

// noBuildID stands for the build ID of an image that has none.
var noBuildID = []byte("<no build ID>")

// What stands in the first line of a report of swift-backtrace, and at the start of its last one, and at that of the first line of a
// Backtrace that a program prints.
var (
	reportStart      = []byte(": Backtracing")
	reportEnd        = []byte("Backtrace took ")
	descriptionStart = []byte("Architecture: ")
)

// Image reads an image of the list that follows the stacks of swift-backtrace (formatColumns in Swift's BacktraceFormatter.swift), which
// are in the order of their addresses:
//
//	0x000055e8f7e2b000–0x000055e8f7e2d1f4 37c68c927d6af77a5751c8c80eed873474fd7339 crash     /src/.build/debug/crash
//
// or below a Backtrace that a program prints (Image.description in its Backtrace.swift), there with a number and a tab before it. The range is
// from where the file is mapped to the end of its code.
func Image(text []byte) (m Mapping, ok bool) {
	text = bytes.Trim(text, " \t\r")
	dash, rest := RangeDash(text)
	if dash < 0 || len(text) > 2*maxLine {
		return m, false
	}
	start, end, ok := scan.Address(text, 0)
	if !ok || end != dash {
		return m, false
	}
	s := &fields{text[rest:]}
	last, prefixed, ok := s.address()
	if !ok || prefixed {
		return m, false
	}
	m = Mapping{Format: Images, Start: start, Space: symsrc.InImage, Mode: "rx"}
	if after, none := bytes.CutPrefix(s.rest, noBuildID); none {
		s.rest = bytes.TrimLeft(after, " ")
	} else {
		id, valid := symsrc.ParseBuildID(s.word())
		if m.BuildID = string(id); !valid {
			return m, false
		}
	}
	m.Path = imagePath(s.rest)
	if m.Path == nil {
		return m, false
	}
	return m.until(last)
}

// imagePath returns the path of `NAME  PATH`, where the name is the path's last part. It is nil for any other text.
func imagePath(text []byte) []byte {
	for i := 0; ; i++ {
		k := bytes.Index(text[i:], []byte(" /"))
		if k < 0 {
			return nil
		}
		i += k
		path := text[i+1:]
		if bytes.Equal(bytes.TrimRight(text[:i], " "), path[bytes.LastIndexByte(path, '/')+1:]) {
			return path
		}
	}
}

// BoundsImages reports whether text is the first line of a report of swift-backtrace or of a printed Backtrace, or the last one of the former.
func BoundsImages(text []byte) bool {
	return bytes.HasPrefix(text, reportEnd) || bytes.HasPrefix(text, descriptionStart) || bytes.Contains(text, reportStart)
}
